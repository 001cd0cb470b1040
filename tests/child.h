/*
 * tests/child.h - a child of a test, which never goes on with the tests
 *
 * The test library catches the signals of a crash and jumps back to its loop. In
 * a child that would run all tests that are left, and their children the same.
 */

#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* As fork(2), but a crash of the child ends it. */
static inline pid_t
child_fork(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
    const pid_t pid = fork();

    for (size_t i = 0; pid == 0 && i < sizeof(crashes) / sizeof(*crashes); i++)
        signal(crashes[i], SIG_DFL);
    return pid;
}

#endif
