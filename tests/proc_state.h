/*
 * tests/proc_state.h - what /proc says of a process: its state, its descriptors
 *
 * The state is the letter that ps(1) shows: R, S, T, Z; also of a thread.
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
    PROC_STATE_MS = 30000, /* for a change that is sure to come */
};

/* '\0': there is none. */
static inline char
proc_state_of(pid_t pid)
{
    char path[32];
    char text[256] = "";

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return '\0';
    /* "pid (name) state": the name may hold anything. */
    const char *state =
        fgets(text, sizeof(text), file) ? strrchr(text, ')') : NULL;
    fclose(file);
    return state ? state[2] : '\0';
}

/* False: it did not come to that. */
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

/* Open descriptors of a process, and two more for the folder's own entries. */
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
