/*
 * tune/tuning.h - which algorithm does a collective: decided once, for all
 *
 * When a communicator forms, its rank 0 decides up to which size each
 * algorithm does each collective, and gives the table to the others. A call
 * looks up: it does not communicate, allocate or measure, and finds the same
 * on all ranks.
 */

#ifndef TUNE_TUNING_H
#define TUNE_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "engine/call.h"
#include "engine/engine.h"
#include "plan/nodes.h"
#include "plan/plan.h"
#include "tune/tuner.h"

struct tuning;

/*
 * Agree on the table of a context that has just been opened, before anything
 * else is done on it. All its members call it, and wait for rank 0's; one rank
 * alone does not communicate. *out_tuning is the caller's; it borrows tuner.
 *
 * Handle: HOOP_E_TIMEOUT, HOOP_E_PEER_LOST.
 * Thread: any, for different contexts at once.
 */
enum hoop_status
tuning_agree(struct tuner *tuner,
             struct comm_context *context,
             uint64_t deadline_ns,
             struct tuning **out_tuning);

/* NULL is fine. */
void
tuning_destroy(struct tuning *tuning);
DEFINE_CLEANUP(struct tuning *, tuning_destroy)

/*
 * What does name, a collective: never NULL. n_bytes are those of the larger
 * buffer: of a block-wise collective, all ranks' blocks; of alltoallv, whose
 * ranks see different sizes, they are not looked at. NULL as tuning gives the
 * algorithm that may always be taken.
 */
const struct algorithm *
tuning_find(const struct tuning *tuning, enum call_name name, size_t n_bytes);

/*
 * Force algorithms from now on, "" for none; all members call it, rank 0's
 * list counts, operations under way keep theirs.
 *
 * Handle: HOOP_E_INVALID (error_text() lists what there is).
 * Thread: as a collective on the context.
 */
enum hoop_status
tuning_force(struct tuning *tuning, const char *algorithms);

/* What tuning_find() finds, and what it is estimated to take. */
struct tuning_choice {
    const struct algorithm *algorithm;
    double estimate_ns;
    const struct algorithm *runner_up; /* NULL: there is no other */
    double runner_up_ns;
    bool is_forced;
};

/* Simulates all algorithms there are. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
tuning_explain(const struct tuning *tuning,
               enum call_name name,
               size_t n_bytes,
               struct tuning_choice *out_choice);

/* What floats lose that are reduced or gathered. LOSS_NONE as tuning gives
 * NULL. */
enum codec_loss
tuning_loss(const struct tuning *tuning);

/* Who shares a node, by rank of the context; for a plan's shape. NULL as
 * tuning gives NULL. Borrowed for the tuning's life. */
const struct plan_nodes *
tuning_nodes(const struct tuning *tuning);

#endif
