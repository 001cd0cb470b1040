/*
 * engine/residual.h - what a tensor lost on its way, for its next call
 *
 * Of a collective in 8-bit blocks a rank rounds two things: what it gives to
 * the owners of blocks, and, of an allreduce, the block that it owns, when that
 * is finished. Both are kept as they were before (codec/error_feedback.h), from one call
 * to the next of the same tensor: the same call by name, place in memory and
 * signature, on the same context. What is given is made when the operation
 * begins, and takes the place of its input.
 *
 * Each rank keeps its own; nobody else has to know, or to keep the same. Those
 * that were not used for longest are forgotten where there are too many
 * (LIMIT_RESIDUALS). What failed is forgotten, too. Thread: as said; an
 * operation has its residual for itself.
 */

#ifndef ENGINE_RESIDUAL_H
#define ENGINE_RESIDUAL_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

struct comm_context;
struct op;

/* Of op, whose collective has just been set and whose loss is LOSS_INT8. place
 * stands for the tensor. Thread: any. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
residual_begin(struct op *op, const void *place);

/* count floats of the block that this rank owns are finished at to: round them,
 * with what was lost there the last time. By the progress owner. */
void
residual_finish_block(const struct op *op, uint8_t *to, size_t count);

/* op's collective has ended well: keep it. op may have none. Thread: any. */
void
residual_keep(struct op *op);
/* ... or nobody knows what has left. */
void
residual_drop(struct op *op);

/* context ends: forget all, but what operations have that end later. */
void
residual_clear(struct comm_context *context);

#endif
