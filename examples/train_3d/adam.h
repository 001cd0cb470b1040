/* train_3d/adam.h - Adam, for any part of the parameters */

#ifndef TRAIN_3D_ADAM_H
#define TRAIN_3D_ADAM_H

#include <stddef.h>

#include "train_3d/matrix.h"

/* The state for the parameters that this rank updates. */
struct adam {
    float *means;   /* moving averages of the gradients */
    float *squares; /* moving averages of their squares */
    size_t n;
    float rate;
};

/* Undo with adam_deinit(). */
void
adam_init(struct adam *adam, size_t n, float rate);
/* The memory may also be zeroed. */
void
adam_deinit(struct adam *adam);

/*
 * Takes a step for some parameters; the first step has number 1. Their values
 * and gradients are at position offset in the optimizer's order.
 */
struct adam_part {
    size_t offset;
    size_t n;
    const float *gradients;
    float *values;
};
void
adam_step(struct adam *adam, size_t step, const struct adam_part *part);

#endif
