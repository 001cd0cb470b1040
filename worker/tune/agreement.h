/*
 * tune/agreement.h - the table of a context's rank 0 becomes everybody's
 *
 * A broadcast by a fixed algorithm: the table cannot yet say one.
 */

#ifndef TUNE_AGREEMENT_H
#define TUNE_AGREEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "tune/table.h"

/*
 * Rank 0 gives table, the others take it; one rank alone keeps its own.
 * Handle: HOOP_E_TIMEOUT (the context's), HOOP_E_PEER_LOST, HOOP_E_DATA_LOSS, HOOP_E_INVALID
 * (rank 0 has refused)
 */
enum hoop_status
agreement_reach(struct comm_context *context, struct table *table);

/* What follows the world's table: rank 0's n_bytes, which all ranks know from
 * it. Handle: HOOP_E_TIMEOUT (the context's), HOOP_E_PEER_LOST. */
enum hoop_status
agreement_share(struct comm_context *context, void *bytes, size_t n_bytes);

/* Instead, on rank 0: there is no table to give. The others'
 * agreement_reach() gives HOOP_E_INVALID. */
void
agreement_refuse(struct comm_context *context);

#endif
