/*
 * select/agreement.h - gives the table of a context's rank 0 to all its ranks
 *
 * A broadcast with a fixed algorithm, because there is no table yet to choose
 * one.
 */

#ifndef SELECT_AGREEMENT_H
#define SELECT_AGREEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "select/table.h"

/*
 * Rank 0 gives table to the others, which overwrite theirs. In a context of one
 * rank, nothing happens. All ranks must call this or, on rank 0,
 * agreement_broadcast_refusal().
 * Handle: HOOP_E_TIMEOUT (the context's), HOOP_E_PEER_LOST, HOOP_E_DATA_LOSS,
 * HOOP_E_INVALID (rank 0 has refused).
 */
enum hoop_status
agreement_broadcast_table(struct comm_context *context, struct table *table);

/* Broadcast rank 0's n_bytes of additional data after the world's table. All
 * ranks know n_bytes from the table. Handle: HOOP_E_TIMEOUT (the context's),
 * HOOP_E_PEER_LOST. */
enum hoop_status
agreement_broadcast_bytes(struct comm_context *context,
                          void *bytes,
                          size_t n_bytes);

/* Called by rank 0 instead of agreement_broadcast_table() when it has no table to give.
 * The others' agreement_broadcast_table() then returns HOOP_E_INVALID. */
void
agreement_broadcast_refusal(struct comm_context *context);

#endif
