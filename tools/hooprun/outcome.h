/* hooprun/outcome.h - how the run ended: the first failure and the exit code */

#ifndef HOOPRUN_OUTCOME_H
#define HOOPRUN_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hoop/status.h"

enum {
    OUTCOME_EXIT_TIMEOUT = 124, /* as timeout(1) */
    OUTCOME_EXIT_DENIED = 126,  /* as a shell's: found, but cannot be run */
    OUTCOME_EXIT_NOT_FOUND = 127,
};

/* One worker that has ended, stands still, or has given up (hoop_abort()). */
struct ending {
    uint32_t rank;
    pid_t pid;
    int wait_status;    /* as waitpid() gives it */
    const char *host;   /* another one, on which it ran; NULL: this one */
    bool is_lost;       /* its host is, and how it ended is not known */
    const char *reason; /* it gave up before, for this; NULL: it did not */
};

/* Zeroed memory is a run that went well so far. */
struct outcome {
    bool has_failed;
    bool has_timed_out;
    bool is_forgiving; /* a worker that ends well makes up for the failures of
                          those that have ended before it */
    int passed_signal; /* hooprun was asked to end; 0: it was not */
    struct ending first;
};

/* Take note of a worker that has ended, in the order in which they did. Whether it
 * has failed. */
bool
outcome_note(struct outcome *outcome, const struct ending *ending);

/* "rank 2 (pid 1234) was killed by signal 9 (Killed)", "... raised ValueError: no
 * such file" */
void
outcome_describe(const struct ending *ending, char *out_text, size_t n_bytes);

/* The exit code where a worker could not be started. */
int
outcome_start_code(enum hoop_status status);

int
outcome_exit_code(const struct outcome *outcome);

#endif
