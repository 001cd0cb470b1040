/* hooprun/agent.c - the process between hooprun and its workers */

#include "hooprun/agent.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Return the first child other than spare; 0: there is none. */
static pid_t
child_find(pid_t spare)
{
    int found = 0;
    int pid;

    FILE *file = fopen("/proc/thread-self/children", "re");
    if (!file)
        return 0;
    while (found == 0 && fscanf(file, "%d", &pid) == 1)
        found = pid == spare ? 0 : pid;
    fclose(file);
    return found;
}

void
agent_kill_descendants(pid_t spare)
{
    pid_t child;

    while ((child = child_find(spare)) > 0) {
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
}

/* Return whether the agent has ended; only then is the exit code known. */
static bool
agent_has_ended(pid_t agent, int *out_code)
{
    int status = 0;

    if (waitpid(agent, &status, WNOHANG) != agent)
        return false;
    if (WIFEXITED(status)) {
        *out_code = WEXITSTATUS(status);
        return true;
    }
    agent_kill_descendants(0);
    /* With SIGPIPE the reader of the output has gone, which its user knows. */
    if (WTERMSIG(status) != SIGPIPE)
        warnx("its agent (pid %d) was killed by signal %d; the workers were "
              "ended",
              (int)agent, WTERMSIG(status));
    *out_code = 128 + WTERMSIG(status);
    return true;
}

/* Return whether a shell can continue a process that is stopped here. The
 * kernel never stops a process that no shell could continue, but it takes the
 * agent for a shell, so this is checked here. */
static bool
front_has_shell(void)
{
    const pid_t parent = getppid();

    return parent > 0 && getsid(parent) == getsid(0) &&
           getpgid(parent) != getpgrp();
}

/* Stop as the signal does by default. Returns when the process continues. */
static void
front_stop(int number)
{
    sigset_t mask;

    sigemptyset(&mask);
    sigaddset(&mask, number);
    raise(number);
    sigprocmask(SIG_UNBLOCK, &mask, NULL);
    sigprocmask(SIG_BLOCK, &mask, NULL);
}

static void
front_pass_on(pid_t agent, const siginfo_t *received)
{
    const int number = received->si_signo;
    /* Whether the terminal sent the signal to its whole foreground group. */
    const union sigval origin = {.sival_int = received->si_code == SI_KERNEL};

    if (number != SIGTSTP && number != SIGTTIN && number != SIGTTOU) {
        sigqueue(agent, number, origin);
        return;
    }
    /* The terminal has also stopped rank 0 and what that has started. */
    if (!front_has_shell()) {
        kill(0, SIGCONT);
        return;
    }
    sigqueue(agent, SIGTSTP, origin);
    front_stop(number);
    sigqueue(agent, SIGCONT, origin);
}

static int
front_run(pid_t agent, const sigset_t *mask)
{
    siginfo_t received;
    int code = EXIT_FAILURE;

    for (;;) {
        if (sigwaitinfo(mask, &received) < 0)
            continue;
        if (received.si_signo != SIGCHLD)
            front_pass_on(agent, &received);
        else if (agent_has_ended(agent, &code))
            return code;
    }
}

int
agent_run(agent_fn *run, void *owner, const sigset_t *mask)
{
    const pid_t group = getpgrp();
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        warn("no pipe for the agent");
        return EXIT_FAILURE;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    const pid_t agent = fork();
    if (agent < 0) {
        warn("cannot fork the agent; raise ulimit -u");
        return EXIT_FAILURE;
    }
    if (agent > 0) {
        close(ends[0]);
        return front_run(agent, mask);
    }
    close(ends[1]);
    setpgid(0, 0);
    prctl(PR_SET_NAME, "hooprun agent");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    /* If it is stopped when hooprun is killed, it must be continued. */
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    return run(owner, &(struct agent_front){ends[0], group});
}
