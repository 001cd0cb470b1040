/*
 * reshard/resharding.h - saves, loads, redistributes and compares a tensor
 *
 * Every rank of the world takes the same steps, whether or not it is in a mesh.
 * A rank without a part has nothing to do in a step, and goes on to the next
 * point where all ranks meet.
 */

#ifndef RESHARD_RESHARDING_H
#define RESHARD_RESHARDING_H

#include <stdbool.h>

#include "hoop/hoop.h"

#include "reshard/task.h"

struct resharding_options {
    const struct task *task;
    const char *folder; /* a folder that all ranks see */
    bool is_damaged;    /* damage what is loaded; the hash must show it */
};

/*
 * Performs the task, and prints the results on the stdout of rank 0 and errors
 * on stderr. All ranks of the session's world call it. Handle: HOOP_E_DATA_LOSS
 * (a hash differs, on all ranks). All other errors are those of hoop.
 */
HOOP_NODISCARD enum hoop_status
resharding_run(hoop_session_t *session,
               const struct resharding_options *options);

#endif
