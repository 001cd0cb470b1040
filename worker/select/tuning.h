/*
 * select/tuning.h - which algorithm runs a collective: decided once for all
 * ranks
 *
 * When a communicator forms, its rank 0 decides which algorithm runs each
 * collective up to which size, and sends the table to the others. A call only
 * looks up the table: it does not communicate, allocate or measure, and finds
 * the same algorithm on all ranks.
 */

#ifndef SELECT_TUNING_H
#define SELECT_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "engine/call.h"
#include "engine/engine.h"
#include "plan/nodes.h"
#include "plan/plan.h"
#include "select/tuner.h"
#include "transport/roster.h"

struct tuning;

/*
 * Agree on the table of a context that has just been opened, before it is used
 * for anything else. All its members call this and wait for rank 0's; a single
 * rank does not communicate. The caller destroys *out_tuning, which borrows
 * tuner.
 *
 * Handle: HOOP_E_TIMEOUT, HOOP_E_PEER_LOST.
 * Thread: any, for different contexts at once.
 */
enum hoop_status
tuning_agree(struct tuner *tuner,
             struct comm_context *context,
             uint64_t deadline_ns,
             struct tuning **out_tuning);

/* tuning may be NULL. */
void
tuning_destroy(struct tuning *tuning);
DEFINE_CLEANUP(struct tuning *, tuning_destroy)

/*
 * Returns the algorithm for name, which must be a collective; never NULL.
 * n_bytes is the size of the larger buffer, which for a block-wise collective
 * holds all ranks' blocks. It is ignored for alltoallv, whose ranks see
 * different sizes. If tuning is NULL, returns the registry's first algorithm.
 */
const struct algorithm *
tuning_find_algorithm(const struct tuning *tuning,
                      enum call_name name,
                      size_t n_bytes);

/*
 * Override algorithms from now on; "" removes the overrides. All members call
 * this; rank 0's list is used. Operations that are under way keep their
 * algorithms.
 *
 * Handle: HOOP_E_INVALID (error_text() lists the valid names),
 * HOOP_E_PRECONDITION (the ranks lack what an algorithm needs).
 * Thread: as for a collective on the context.
 */
enum hoop_status
tuning_override_algorithms(struct tuning *tuning, const char *algorithms);

/* The algorithm that tuning_find_algorithm() returns, and its estimated
 * time. */
struct tuning_choice {
    const struct algorithm *algorithm;
    double estimate_ns;
    /* The best of the others; NULL: there is no other. */
    const struct algorithm *runner_up;
    double runner_up_ns;
    bool is_forced;
};

/* Simulates all algorithms of the collective. Handle: none
 * (HOOP_E_EXHAUSTED). */
enum hoop_status
tuning_explain_choice(const struct tuning *tuning,
                      enum call_name name,
                      size_t n_bytes,
                      struct tuning_choice *out_choice);

/* The precision that floats may lose when they are reduced or gathered. Returns
 * LOSS_NONE if tuning is NULL. */
enum codec_loss
tuning_codec_loss(const struct tuning *tuning);

/* Which ranks of the context share a node, for a plan's shape. Borrowed until
 * tuning_destroy(). Returns NULL if tuning is NULL. */
const struct plan_nodes *
tuning_nodes(const struct tuning *tuning);

/* Groups the ranks by host, as the roster names it. All members get the same
 * result. The caller destroys *out_nodes. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
placement_nodes_from_roster(const struct comm_context *context,
                            const struct roster *roster,
                            struct plan_nodes **out_nodes);

#endif
