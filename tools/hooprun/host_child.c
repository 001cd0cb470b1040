/*
 * hooprun/host_child.c - the processes through which hooprun reaches its agents
 */

#include "hooprun/host_child.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock_ms.h"
#include "hooprun/host_text.h"
#include "hooprun/outcome.h"

/* Runs in the child. Does not return. */
static void
child_become(const struct worker_setup *setup,
             const char *host,
             const int fds[static 3])
{
    char *words[HOST_COMMAND_MAX];
    char name[] = "hooprun";
    char flag[] = "--agent";
    char *own[] = {name, flag, NULL};

    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i < 3; i++)
        dup2(fds[i], i);
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    sigprocmask(SIG_SETMASK, setup->old_mask, NULL);
    if (host_is_this(host)) {
        execv("/proc/self/exe", own);
        err(OUTCOME_EXIT_NOT_FOUND, "cannot run 'hooprun'");
    }
    host_command(setup->options, host, words);
    execvp(words[0], words);
    err(OUTCOME_EXIT_NOT_FOUND, "cannot run '%s'", words[0]);
}

bool
host_child_start(const struct worker_setup *setup,
                 const char *host,
                 struct host_child *out_child)
{
    int in[2];
    int out[2];
    int error[2];

    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 ||
        pipe2(error, O_CLOEXEC) != 0) {
        warn("no pipes for host %s; raise ulimit -n", host);
        return false;
    }
    const pid_t pid = fork();
    if (pid < 0) {
        warn("cannot fork for host %s; raise ulimit -u", host);
        return false;
    }
    if (pid == 0)
        child_become(setup, host, (const int[]){in[0], out[1], error[1]});
    close(in[0]);
    close(out[1]);
    close(error[1]);
    fcntl(in[1], F_SETFL, O_NONBLOCK);
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(error[0], F_SETFL, O_NONBLOCK);
    *out_child = (struct host_child){pid, in[1], out[0], error[0]};
    return true;
}

/* Does not return. */
static void
input_pass_on(pid_t group)
{
    char bytes[4096];
    ssize_t n;

    for (;;) {
        /* In the background, reading would stop hooprun. */
        if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != group) {
            poll(NULL, 0, 200);
            continue;
        }
        n = read(STDIN_FILENO, bytes, sizeof(bytes));
        if (n < 0 && (errno == EINTR || errno == EAGAIN || errno == EIO)) {
            poll(&(struct pollfd){STDIN_FILENO, POLLIN, 0}, 1, 200);
            continue;
        }
        if (n <= 0 || write(STDOUT_FILENO, bytes, (size_t)n) != n)
            _exit(EXIT_SUCCESS);
    }
}

int
host_input_start(const struct worker_setup *setup, pid_t *out_pid)
{
    const pid_t group = setup->front->group;
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC) != 0) {
        warn("no pipe to read standard input, which rank 0 does not get; raise "
             "ulimit -n");
        return -1;
    }
    const pid_t pid = fork();
    if (pid < 0) {
        warn("cannot fork to read standard input, which rank 0 does not get; "
             "raise ulimit -u");
        close(pipes[0]);
        close(pipes[1]);
        return -1;
    }
    if (pid == 0) {
        setpgid(0, group);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGTTIN, SIG_IGN);
        /* The terminal's signals are for the workers, which may continue. */
        signal(SIGINT, SIG_IGN);
        signal(SIGQUIT, SIG_IGN);
        sigprocmask(SIG_SETMASK, setup->old_mask, NULL);
        /* A process that waits until hooprun's files are closed must not wait
         * for this one. */
        dup2(pipes[1], STDOUT_FILENO);
        close_range(STDERR_FILENO, ~0U, 0);
        input_pass_on(group);
    }
    close(pipes[1]);
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    *out_pid = pid;
    return pipes[0];
}

void
host_child_end(pid_t *pid, int *out_wait_status, int most_ms)
{
    const int64_t end_ms = now_ms() + most_ms;

    while (*pid > 0) {
        const pid_t found = waitpid(*pid, out_wait_status, WNOHANG);

        if (found == *pid || (found < 0 && errno != EINTR))
            *pid = 0;
        else if (now_ms() >= end_ms)
            kill(*pid, SIGKILL);
        if (*pid > 0)
            poll(NULL, 0, 5);
    }
}
