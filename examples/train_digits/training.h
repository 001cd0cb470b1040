/* train_digits/training.h - data-parallel descent: hoop's part is here */

#ifndef TRAIN_DIGITS_TRAINING_H
#define TRAIN_DIGITS_TRAINING_H

#include <stddef.h>

#include "hoop/hoop.h"

#include "train_digits/digits.h"
#include "train_digits/mlp.h"

struct training_options {
    size_t n_epochs;
    size_t batch; /* images, over all ranks */
    struct mlp_rates rates;
};

/* One entry of the curve. */
struct epoch {
    double loss;     /* mean over the training images, as they were seen */
    double accuracy; /* share of the held-out images, 0 .. 1 */
};

struct training {
    struct training_options options;
    const struct digits *digits; /* borrowed */
    struct mlp *mlp;             /* borrowed */
    hoop_comm_t *comm;           /* borrowed */
    size_t *order;               /* training images, then the held-out */
    size_t n_training;
    double *gradient; /* and, behind it, the loss */
};

/* Undo with training_deinit(), also after a failure. Handle: HOOP_E_EXHAUSTED. */
HOOP_NODISCARD enum hoop_status
training_init(struct training *training,
              const struct training_options *options,
              const struct digits *digits,
              struct mlp *mlp,
              hoop_comm_t *comm);

/* Rank 0's parameters to all; a failure has hoop_error_text(), as below. */
HOOP_NODISCARD enum hoop_status
training_begin(struct training *training);

/* The order of an epoch; those before it must have been asked for, from 0. */
void
training_shuffle(struct training *training, size_t number);

/* One batch: my share's gradient, everybody's sum, one step. The sum of the
 * losses stands behind the gradient then. */
HOOP_NODISCARD enum hoop_status
training_batch(struct training *training, size_t begin, size_t count);

HOOP_NODISCARD enum hoop_status
training_accuracy(struct training *training, double *out_accuracy);

/* Once over all training images. The result is the same on all ranks. */
HOOP_NODISCARD enum hoop_status
training_epoch(struct training *training,
               size_t number,
               struct epoch *out_epoch);

void
training_deinit(struct training *training);

#endif
