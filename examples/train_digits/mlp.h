/*
 * train_digits/mlp.h - a perceptron with one hidden layer
 *
 * All parameters lie in one array, so that one allreduce sums the gradients of
 * all layers, and one broadcast gives every rank the same initial values.
 */

#ifndef TRAIN_DIGITS_MLP_H
#define TRAIN_DIGITS_MLP_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "train_digits/digits.h"

struct mlp {
    size_t n_hidden;
    size_t n_parameters;
    double *parameters; /* see mlp.c for their order */
    double *velocity;   /* for the momentum */
    double *hidden;     /* activations, for one image at a time */
    double *slopes;     /* gradient of the activations */
};

/* Sets random weights, from a seed. Handle: HOOP_E_EXHAUSTED. */
HOOP_NODISCARD enum hoop_status
mlp_init(struct mlp *mlp, size_t n_hidden, uint64_t seed);

/*
 * Adds the gradient of the loss for one image to gradient (n_parameters long),
 * and returns the loss, which is the softmax cross-entropy.
 */
double
mlp_backward(struct mlp *mlp, const struct image *image, double *gradient);

/* Returns the digit that it recognizes. */
uint32_t
mlp_classify(struct mlp *mlp, const struct image *image);

struct mlp_rates {
    double rate;
    double momentum;
};

/* Takes one descent step. gradient is a sum over n_images. */
void
mlp_step(struct mlp *mlp,
         const double *gradient,
         size_t n_images,
         struct mlp_rates rates);

/* The memory may also be zeroed. */
void
mlp_deinit(struct mlp *mlp);

#endif
