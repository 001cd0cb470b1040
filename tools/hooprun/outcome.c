/* hooprun/outcome.c - the result of a run: the first failure and the exit
 * code */

#include "hooprun/outcome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum {
    OUTCOME_RANK_BYTES = 320,
};

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

/* "rank 2 (pid 1234)", "rank 2 (host b, pid 1234)" */
static void
rank_describe(const struct ending *ending, char *out_text, size_t n_bytes)
{
    if (ending->host && ending->pid == 0)
        snprintf(out_text, n_bytes, "rank %u (host %s)", ending->rank,
                 ending->host);
    else if (ending->host)
        snprintf(out_text, n_bytes, "rank %u (host %s, pid %d)", ending->rank,
                 ending->host, ending->pid);
    else
        snprintf(out_text, n_bytes, "rank %u (pid %d)", ending->rank,
                 ending->pid);
}

void
outcome_describe(const struct ending *ending, char *out_text, size_t n_bytes)
{
    char whose[OUTCOME_RANK_BYTES];

    rank_describe(ending, whose, sizeof(whose));
    if (ending->reason) {
        snprintf(out_text, n_bytes, "%s %s", whose, ending->reason);
        /* A long reason is cut where it may be. */
        for (size_t n = strlen(out_text);
             n > 0 && strchr("; ", out_text[n - 1]); n--)
            out_text[n - 1] = '\0';
        return;
    }
    if (ending->is_lost) {
        snprintf(out_text, n_bytes, "%s is lost with its host", whose);
        return;
    }
    if (WIFSIGNALED(ending->wait_status)) {
        const int number = WTERMSIG(ending->wait_status);
        snprintf(out_text, n_bytes, "%s was killed by signal %d (%s)%s", whose,
                 number, strsignal(number),
                 WCOREDUMP(ending->wait_status) ? ", core dumped" : "");
        return;
    }
    if (WIFSTOPPED(ending->wait_status)) {
        snprintf(out_text, n_bytes, "%s is stopped (SIG%s)", whose,
                 sigabbrev_np(WSTOPSIG(ending->wait_status)));
        return;
    }
    snprintf(out_text, n_bytes, "%s exited with code %d", whose,
             WEXITSTATUS(ending->wait_status));
}

bool
outcome_find_awaited(const char *reason, uint32_t *out_rank)
{
    static const char words[] = "waiting for rank ";
    const char *wait = strstr(reason, words);
    char *end = NULL;

    if (!wait || !strstr(wait, "it has not called this"))
        return false;
    *out_rank = (uint32_t)strtoul(wait + strlen(words), &end, 10);
    return end > wait + strlen(words);
}

int
outcome_start_code(enum hoop_status status)
{
    if (status == HOOP_E_NOT_FOUND)
        return OUTCOME_EXIT_NOT_FOUND;
    return status == HOOP_E_DENIED ? OUTCOME_EXIT_DENIED : EXIT_FAILURE;
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
