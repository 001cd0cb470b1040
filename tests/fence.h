/*
 * tests/fence.h - shows how far a function reads, with an unreadable page
 *
 * A comparison of two secrets must not stop at the first difference, since its
 * duration would show where that is. One that continues runs into the page,
 * which is called the fence.
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

/* Returns n_bytes of writable memory that end at the fence. They are never
 * freed. */
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

/* Returns whether compare(left, right) reads beyond the fence. */
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
