/*
 * engine/residue.h - what a tensor lost on its way, for its next call
 *
 * Of a collective in 8-bit blocks a rank rounds two things: what it gives to
 * the owners of blocks, and, of an allreduce, the block that it owns, when that
 * is finished. Both are kept as they were before (codec/error_feedback.h), from one call
 * to the next of the same tensor: the same call by name, place in memory and
 * signature, on the same channel. What is given is made when the operation
 * begins, and takes the place of its input.
 *
 * Each rank keeps its own; nobody else has to know, or to keep the same. Those
 * that were not used for longest are forgotten where there are too many
 * (LIMIT_RESIDUES). What failed is forgotten, too. Thread: as said; an
 * operation has its residue for itself.
 */

#ifndef ENGINE_RESIDUE_H
#define ENGINE_RESIDUE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

struct channel;
struct op;

/* Of op, whose collective has just been set and whose loss is LOSS_INT8. place
 * stands for the tensor. Thread: any. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
residue_begin(struct op *op, const void *place);

/* count floats of the block that this rank owns are finished at to: round them,
 * with what was lost there the last time. By the driver. */
void
residue_settle(const struct op *op, uint8_t *to, size_t count);

/* op's collective has ended well: keep it. op may have none. Thread: any. */
void
residue_keep(struct op *op);
/* ... or nobody knows what has left. */
void
residue_drop(struct op *op);

/* channel ends: forget all, but what operations have that end later. */
void
residue_clear(struct channel *channel);

#endif
