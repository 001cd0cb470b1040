/*
 * engine/failure/departure.h - ranks that leave in good order
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_FAILURE_DEPARTURE_H
#define ENGINE_FAILURE_DEPARTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/failure/failure_record.h"

struct engine;
struct op;

/* Returns whether op waits for a member that has left. */
bool
op_waits_for_departed(struct op *op, struct failure_notice *out_notice);
/* This rank leaves: record that in its shared regions. */
void
shm_departure_write(struct engine *engine);
/* Returns whether rank has recorded its departure in a region that it shares
 * with this rank. */
bool
shm_departure_exists(struct engine *engine, uint32_t rank);
/* Read the final states that rank left there. */
void
shm_departure_apply(struct engine *engine, uint32_t rank);
/* Rank has left in good order. */
void
engine_mark_left(struct engine *engine, uint32_t rank);
/* A rank that leaves has ended its own operations. Operations here that still
 * need more from it than it sent before will never end: fail them. */
void
fail_ops_waiting_for_departed(struct engine *engine);

#endif
