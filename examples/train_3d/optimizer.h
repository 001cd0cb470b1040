/*
 * train_3d/optimizer.h - gradients of all replicas become one step of all
 *
 * Replicas have the same parameters and have seen different micro-batches.
 * Either each sums all gradients and does all of the work (hoop_gradients_t,
 * whose sums begin while others are still computed), or each sums a part of
 * them, does that part of the work and has that part of the optimizer's state,
 * and hands its new parameters to all (hoop_sharded_t).
 */

#ifndef TRAIN_3D_OPTIMIZER_H
#define TRAIN_3D_OPTIMIZER_H

#include <stddef.h>

#include "hoop/hoop.h"

#include "train_3d/adam.h"
#include "train_3d/model.h"
#include "train_3d/timeline.h"

enum optimizer_place {
    OPTIMIZER_REPLICATED,
    OPTIMIZER_SHARDED,
};

struct optimizer_options {
    enum optimizer_place place;
    hoop_comm_t *comm; /* the replicas of this rank's parameters; borrowed */
    float rate;
};

struct optimizer {
    struct model *model;           /* borrowed */
    struct hoop_tensor *values;    /* of the model's parameters */
    struct hoop_tensor *gradients; /* ... and their gradients */
    hoop_gradients_t *reduction;   /* replicated */
    hoop_sharded_t *sharded;       /* sharded */
    struct adam adam;
    size_t n_steps; /* done so far */
};

/* Undo with optimizer_deinit(), also after a failure. */
HOOP_NODISCARD enum hoop_status
optimizer_init(struct optimizer *optimizer,
               const struct optimizer_options *options,
               struct model *model);
/* Zeroed memory is fine. */
void
optimizer_deinit(struct optimizer *optimizer);

/* This rank adds no more to the gradients of a chunk: sums may begin. */
HOOP_NODISCARD enum hoop_status
optimizer_ready(struct optimizer *optimizer, const struct chunk *chunk);

/* After all chunks are ready: a step, noted in timeline. */
HOOP_NODISCARD enum hoop_status
optimizer_step(struct optimizer *optimizer, struct timeline *timeline);

#endif
