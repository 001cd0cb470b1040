/* hooprun/outcome.h - the result of a run: the first failure and the exit
 * code */

#ifndef HOOPRUN_OUTCOME_H
#define HOOPRUN_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hoop/status.h"

enum {
    OUTCOME_EXIT_TIMEOUT = 124, /* as in timeout(1) */
    OUTCOME_EXIT_DENIED = 126,  /* as in a shell: found, but cannot be run */
    OUTCOME_EXIT_NOT_FOUND = 127,
};

/* A worker that has ended, is stopped, or has given up (hoop_abort()). */
struct ending {
    uint32_t rank;
    pid_t pid;
    int wait_status;    /* as waitpid() gives it */
    const char *host;   /* the other host on which it ran; NULL: this one */
    bool is_lost;       /* its host was lost, so how it ended is unknown */
    const char *reason; /* why it gave up before; NULL: it did not */
};

/* Zeroed: a run without failures so far. */
struct outcome {
    bool has_failed;
    bool has_timed_out;
    bool is_forgiving; /* a worker that ends well cancels earlier failures of
                          others */
    int passed_signal; /* signal that asked hooprun to end; 0: none */
    struct ending first;
};

/* Record a worker that has ended, in the order in which they ended. Return
 * whether it has failed. */
bool
outcome_note(struct outcome *outcome, const struct ending *ending);

/* "rank 2 (pid 1234) was killed by signal 9 (Killed)", "... raised
 * ValueError: no such file" */
void
outcome_describe(const struct ending *ending, char *out_text, size_t n_bytes);

/* Return whether reason, why a rank gave up, says that it waited in vain for a
 * rank that has not made the call. */
bool
outcome_find_awaited(const char *reason, uint32_t *out_rank);

/* Return the exit code for a worker that could not be started. */
int
outcome_start_code(enum hoop_status status);

int
outcome_exit_code(const struct outcome *outcome);

#endif
