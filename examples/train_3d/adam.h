/* train_3d/adam.h - Adam, for any part of the parameters */

#ifndef TRAIN_3D_ADAM_H
#define TRAIN_3D_ADAM_H

#include <stddef.h>

#include "train_3d/matrix.h"

/* Of as many parameters as a rank is in charge of. */
struct adam {
    float *means;   /* of the gradients so far */
    float *squares; /* ... and of their squares */
    size_t n;
    float rate;
};

/* Undo with adam_deinit(). */
void
adam_init(struct adam *adam, size_t n, float rate);
/* Zeroed memory is fine. */
void
adam_deinit(struct adam *adam);

/*
 * Step number step (1 is the first) of some parameters: values and gradients
 * are those which begin at offset in the optimizer's order.
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
