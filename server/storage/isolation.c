/*
 * storage/isolation.c - run code that may crash in a child process
 *
 * The child sends its result through a pipe; if none arrives, its exit status
 * tells what happened. A program that ignores SIGCHLD gets no exit status and
 * does without.
 */

#include "storage/isolation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"

struct isolated_child_result {
    uint32_t status;
    char text[LIMIT_ERROR_TEXT];
};

/* A crash of the child must leave neither log lines nor a core file. */
static void
child_silence_crash_output(void)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    const struct rlimit none = {0, 0};
    const int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
        signal(crashes[i], SIG_DFL);
    setrlimit(RLIMIT_CORE, &none);
    if (nowhere >= 0)
        dup2(nowhere, STDERR_FILENO);
}

static void
isolated_child_run(isolation_fn *fn, void *owner, int out)
{
    struct isolated_child_result isolated_child_result = {0};

    child_silence_crash_output();
    isolated_child_result.status = (uint32_t)fn(owner);
    if (isolated_child_result.status != HOOP_OK)
        snprintf(isolated_child_result.text, sizeof(isolated_child_result.text),
                 "%s", error_text());
    _exit(write(out, &isolated_child_result, sizeof(isolated_child_result)) !=
          sizeof(isolated_child_result));
}

/* Returns whether the complete result arrived. */
static bool
child_result_read(int in,
                  uint64_t timeout_ms,
                  struct isolated_child_result *isolated_child_result)
{
    const uint64_t deadline_ns = clock_deadline_ns(timeout_ms);
    size_t n_read = 0;

    while (n_read < sizeof(*isolated_child_result)) {
        struct pollfd ready = {.fd = in, .events = POLLIN};
        const int n_ready = poll(&ready, 1, clock_left_ms(deadline_ns));

        if (n_ready < 0 && errno == EINTR)
            continue;
        if (n_ready <= 0)
            return false;

        const ssize_t n = read(in, (char *)isolated_child_result + n_read,
                               sizeof(*isolated_child_result) - n_read);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        n_read += (size_t)n;
    }
    isolated_child_result->text[sizeof(isolated_child_result->text) - 1] = '\0';
    return true;
}

/* Explain why the child sent no result. */
static enum hoop_status
isolated_child_explain_death(pid_t child)
{
    int state = 0;
    pid_t ended = waitpid(child, &state, WNOHANG);

    /* The child closes its end of the pipe slightly before it can be waited
     * for. */
    for (int i = 0; ended == 0 && i < 1000; i++) {
        poll(NULL, 0, 1);
        ended = waitpid(child, &state, WNOHANG);
    }
    if (ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, &state, 0);
        return error_raise(HOOP_E_TIMEOUT,
                           "the process that checks it did not end in time, so "
                           "nothing is known of it: start again");
    }
    if (ended == child && WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the process that checks it was killed, for want of "
                           "memory perhaps, so nothing is known of it: start "
                           "again");
    if (ended == child && WIFSIGNALED(state))
        return error_raise(HOOP_E_DATA_LOSS,
                           "the process that checks it ended by SIG%s",
                           sigabbrev_np(WTERMSIG(state)));
    return error_raise(HOOP_E_DATA_LOSS,
                       "the process that checks it ended without a word");
}

enum hoop_status
isolation_run_in_child(isolation_fn *fn, void *owner, uint64_t timeout_ms)
{
    struct isolated_child_result isolated_child_result;
    int pipes[2];

    if (pipe2(pipes, O_CLOEXEC) != 0)
        return error_raise(HOOP_E_EXHAUSTED, "no pipe to a process: %s",
                           strerror(errno));

    const pid_t child = fork();

    if (child == 0)
        isolated_child_run(fn, owner, pipes[1]);
    close(pipes[1]);

    const bool has_spoken =
        child > 0 &&
        child_result_read(pipes[0], timeout_ms, &isolated_child_result);

    close(pipes[0]);
    if (child < 0)
        return error_raise(HOOP_E_EXHAUSTED, "no process: %s", strerror(errno));
    if (!has_spoken)
        return isolated_child_explain_death(child);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
        continue;
    if (isolated_child_result.status == HOOP_OK)
        return HOOP_OK;
    return error_raise(status_from_peer(isolated_child_result.status), "%s",
                       isolated_child_result.text);
}
