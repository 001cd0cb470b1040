/*
 * tests/fence.h - how far somebody reads: to a page that cannot be read
 *
 * What compares two secrets must not stop where they differ, since the time that
 * it took would tell where. Who reads on runs into the fence.
 */

#ifndef TESTS_FENCE_H
#define TESTS_FENCE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum {
    FENCE_HIT = 42,
};

/* n_bytes that can be written, right before the fence; never freed. */
static inline void *
fence_before(size_t n_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(pages != MAP_FAILED && n_bytes <= page);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    return pages + page - n_bytes;
}

static inline void
fence_on_hit(int number)
{
    _exit(FENCE_HIT);
}

/* Whether compare(left, right) runs into it. */
static inline bool
fence_stops(bool (*compare)(const void *left, const void *right),
            const void *left,
            const void *right)
{
    int how = 0;
    const pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, fence_on_hit);
        _exit(compare(left, right));
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    return WEXITSTATUS(how) == FENCE_HIT;
}

#endif
