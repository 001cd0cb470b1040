/*
 * tests/proc_state.h - reads the state and the descriptors of a process
 *
 * The state is the letter that ps(1) shows: R, S, T or Z. It works for threads,
 * too.
 */

#ifndef TESTS_PROC_STATE_H
#define TESTS_PROC_STATE_H

#include <dirent.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "base/clock.h"

enum {
    PROC_STATE_MS = 30000, /* limit for a change that is sure to happen */
};

/* Returns '\0' if there is no such process. */
static inline char
proc_state_of(pid_t pid)
{
    char path[32];
    char text[256] = "";

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return '\0';
    /* The line is "pid (name) state", and the name may contain anything. */
    const char *state =
        fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
    fclose(file);
    return state ? state[2] : '\0';
}

/* Waits until the process has this state. Returns false if it does not in
 * time. */
static inline bool
proc_state_await(pid_t pid, char letter)
{
    const uint64_t deadline_ns = clock_deadline_ns(PROC_STATE_MS);

    while (proc_state_of(pid) != letter) {
        if (clock_is_past(deadline_ns))
            return false;
        sched_yield();
    }
    return true;
}

/* Returns the number of open descriptors of a process, plus two for the entries
 * "." and "..". */
static inline size_t
descriptors_count(pid_t pid)
{
    char path[64];
    size_t n = 0;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    while (directory && readdir(directory))
        n++;
    if (directory)
        closedir(directory);
    return n;
}

#endif
