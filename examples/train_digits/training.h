/* train_digits/training.h - data-parallel gradient descent, which calls hoop */

#ifndef TRAIN_DIGITS_TRAINING_H
#define TRAIN_DIGITS_TRAINING_H

#include <stddef.h>

#include "hoop/hoop.h"

#include "train_digits/digits.h"
#include "train_digits/mlp.h"

struct training_options {
    size_t n_epochs;
    size_t batch; /* images per step, over all ranks */
    struct mlp_rates rates;
};

/* One entry of the curve. */
struct epoch {
    double loss;     /* mean over the training images, each before its step */
    double accuracy; /* share of the held-out images, 0 .. 1 */
};

struct training {
    struct training_options options;
    const struct digits *digits; /* borrowed */
    struct mlp *mlp;             /* borrowed */
    hoop_comm_t *comm;           /* borrowed */
    size_t *order;               /* training images, then the held-out ones */
    size_t n_training;
    double *gradient; /* followed by the loss */
};

/* Undo it with training_deinit(), also after a failure. Handle:
 * HOOP_E_EXHAUSTED. */
HOOP_NODISCARD enum hoop_status
training_init(struct training *training,
              const struct training_options *options,
              const struct digits *digits,
              struct mlp *mlp,
              hoop_comm_t *comm);

/* Sends the parameters of rank 0 to all ranks. After a failure of this and the
 * calls below, hoop_error_text() says why. */
HOOP_NODISCARD enum hoop_status
training_begin(struct training *training);

/* Shuffles the images for an epoch. Epochs must be shuffled in order, from 0
 * on. */
void
training_shuffle(struct training *training, size_t number);

/* Takes one step: sums the gradients that all ranks compute for their shares of
 * the batch. Afterwards the sum of the losses follows the gradient. */
HOOP_NODISCARD enum hoop_status
training_batch(struct training *training, size_t begin, size_t count);

HOOP_NODISCARD enum hoop_status
training_accuracy(struct training *training, double *out_accuracy);

/* Trains once on all training images. The result is the same on all ranks. */
HOOP_NODISCARD enum hoop_status
training_epoch(struct training *training,
               size_t number,
               struct epoch *out_epoch);

void
training_deinit(struct training *training);

#endif
