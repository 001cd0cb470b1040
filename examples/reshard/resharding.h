/*
 * reshard/resharding.h - save, load, redistribute, compare
 *
 * Every rank of the world goes the same way, whether a mesh has it or not: who
 * has no part has nothing to do, and goes on to where all meet again.
 */

#ifndef RESHARD_RESHARDING_H
#define RESHARD_RESHARDING_H

#include <stdbool.h>

#include "hoop/hoop.h"

#include "reshard/task.h"

struct resharding_options {
    const struct task *task;
    const char *folder; /* all ranks see it */
    bool is_damaged;    /* what is loaded: the hash must tell */
};

/*
 * Does task, and prints on rank 0's stdout. All ranks of the session's world
 * call it. What goes wrong is said on stderr.
 * Handle: HOOP_E_DATA_LOSS (a hash differs), on all ranks; all else is hoop's.
 */
HOOP_NODISCARD enum hoop_status
resharding_run(hoop_session_t *session,
               const struct resharding_options *options);

#endif
