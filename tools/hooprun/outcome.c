/* hooprun/outcome.c - how the run ended: the first failure and the exit code */

#include "hooprun/outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

bool
outcome_note(struct outcome *outcome, const struct ending *ending)
{
    if (WIFEXITED(ending->wait_status) &&
        WEXITSTATUS(ending->wait_status) == EXIT_SUCCESS) {
        outcome->has_failed = outcome->has_failed && !outcome->is_forgiving;
        return false;
    }
    if (!outcome->has_failed)
        outcome->first = *ending;
    outcome->has_failed = true;
    return true;
}

void
outcome_describe(const struct ending *ending, char *out_text, size_t n_bytes)
{
    if (WIFSIGNALED(ending->wait_status)) {
        const int number = WTERMSIG(ending->wait_status);
        snprintf(out_text, n_bytes,
                 "rank %u (pid %d) was killed by signal %d (%s)%s",
                 ending->rank, ending->pid, number, strsignal(number),
                 WCOREDUMP(ending->wait_status) ? ", core dumped" : "");
        return;
    }
    if (WIFSTOPPED(ending->wait_status)) {
        snprintf(out_text, n_bytes, "rank %u (pid %d) is stopped (SIG%s)",
                 ending->rank, ending->pid,
                 sigabbrev_np(WSTOPSIG(ending->wait_status)));
        return;
    }
    snprintf(out_text, n_bytes, "rank %u (pid %d) exited with code %d",
             ending->rank, ending->pid, WEXITSTATUS(ending->wait_status));
}

int
outcome_exit_code(const struct outcome *outcome)
{
    if (outcome->has_timed_out)
        return OUTCOME_EXIT_TIMEOUT;
    if (!outcome->has_failed)
        return EXIT_SUCCESS;
    if (outcome->passed_signal != 0)
        return 128 + outcome->passed_signal;
    if (WIFSIGNALED(outcome->first.wait_status))
        return 128 + WTERMSIG(outcome->first.wait_status);
    return WEXITSTATUS(outcome->first.wait_status);
}
