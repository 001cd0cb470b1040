/*
 * tests/child.h - forks a child that never continues with the tests
 *
 * The test library catches the signals of a crash and jumps back to its loop.
 * In a child this would run all remaining tests again, and in its children,
 * too.
 */

#ifndef TESTS_CHILD_H
#define TESTS_CHILD_H

#include <signal.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

/* Does the same as fork(2), but a crash of the child ends it. */
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
