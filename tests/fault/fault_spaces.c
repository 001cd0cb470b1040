/*
 * tests/fault/fault_spaces.c - the namespaces that the ranks of a cell live in
 *
 * The first process of a PID namespace ignores signals that it sends itself, as a
 * fault does, so a rank is the second. Between it and the bench stands a keeper,
 * which is in the bench's PID namespace and does what the rank does.
 */

#include "fault_spaces.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void
check(bool is_well, const char *what)
{
    if (is_well)
        return;
    perror(what);
    _exit(99);
}

static void
network_enter(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "/run/netns/%s", name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    check(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, path);
    close(fd);
}

/* The first process of the namespace, without which it ends: it only waits. */
static void
first_process(int ready_fd)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    check(mount("proc", "/proc", "proc", 0, NULL) == 0, "mount /proc");
    check(write(ready_fd, "", 1) == 1, "ready");
    close(ready_fd);
    for (;;)
        pause();
}

/* Until it has ended. */
static void
mirror(pid_t rank_pid)
{
    int how = 0;

    while (waitpid(rank_pid, &how, WUNTRACED) == rank_pid) {
        if (!WIFSTOPPED(how))
            break;
        raise(SIGSTOP);
    }
    if (WIFSIGNALED(how))
        raise(WTERMSIG(how) == SIGKILL ? SIGKILL : SIGTERM);
    _exit(WEXITSTATUS(how));
}

/* Returns in the rank alone. */
static void
keep(void)
{
    int ready[2];
    char byte;

    check(unshare(CLONE_NEWPID | CLONE_NEWNS) == 0, "unshare");
    check(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount /");
    check(pipe2(ready, O_CLOEXEC) == 0, "pipe");
    pid_t pid = fork();
    if (pid == 0)
        first_process(ready[1]);
    close(ready[1]);
    check(pid > 0 && read(ready[0], &byte, 1) == 1, "PID namespace");
    close(ready[0]);
    pid = fork();
    check(pid >= 0, "fork");
    if (pid > 0)
        mirror(pid);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
}

pid_t
fault_spaces_fork(const struct fault_spaces *spaces, uint32_t rank)
{
    const pid_t pid = fork();

    if (pid != 0)
        return pid;
    if (spaces->networks[rank])
        network_enter(spaces->networks[rank]);
    if (spaces->has_own_pids)
        keep();
    return 0;
}
