/*
 * train_3d/optimizer.h - turns the gradients of all replicas into one step
 *
 * Replicas have the same parameters and have seen different micro-batches.
 * There are two ways to combine them. Either each replica sums all gradients
 * and updates all parameters (hoop_gradients_t, which begins to sum while other
 * gradients are still being computed). Or each replica sums a part of the
 * gradients, has only that part of the optimizer's state, updates that part of
 * the parameters, and sends the result to all replicas (hoop_sharded_t).
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
    hoop_comm_t *comm; /* replicas of this rank's parameters; borrowed */
    float rate;
};

struct optimizer {
    struct model *model;           /* borrowed */
    struct hoop_tensor *values;    /* of the model's parameters */
    struct hoop_tensor *gradients; /* of the model's gradients */
    hoop_gradients_t *reduction;   /* NULL if sharded */
    hoop_sharded_t *sharded;       /* NULL if replicated */
    struct adam adam;
    size_t n_steps; /* steps taken so far */
};

/* Undo it with optimizer_deinit(), also after a failure. */
HOOP_NODISCARD enum hoop_status
optimizer_init(struct optimizer *optimizer,
               const struct optimizer_options *options,
               struct model *model);
/* The memory may also be zeroed. */
void
optimizer_deinit(struct optimizer *optimizer);

/* This rank has added all gradients of the chunk, so they may be summed. */
HOOP_NODISCARD enum hoop_status
optimizer_ready(struct optimizer *optimizer, const struct chunk *chunk);

/* Takes a step, and records it in timeline. All chunks must be ready. */
HOOP_NODISCARD enum hoop_status
optimizer_step(struct optimizer *optimizer, struct timeline *timeline);

#endif
