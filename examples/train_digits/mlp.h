/*
 * train_digits/mlp.h - a perceptron with one hidden layer
 *
 * All parameters lie in one array, so that one all-reduce sums the gradient
 * of all layers and one broadcast gives every rank the same beginning.
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
    double *velocity;   /* of momentum */
    double *hidden;     /* activations, for one image at a time */
    double *slopes;     /* their gradient */
};

/* Random weights from a seed. Handle: HOOP_E_EXHAUSTED. */
HOOP_NODISCARD enum hoop_status
mlp_init(struct mlp *mlp, size_t n_hidden, uint64_t seed);

/*
 * Add the loss's gradient for one image to gradient (n_parameters long) and
 * return the loss, softmax cross-entropy.
 */
double
mlp_backward(struct mlp *mlp, const struct image *image, double *gradient);

/* The digit it sees. */
uint32_t
mlp_classify(struct mlp *mlp, const struct image *image);

struct mlp_rates {
    double rate;
    double momentum;
};

/* One step down; gradient is a sum over n_images. */
void
mlp_step(struct mlp *mlp,
         const double *gradient,
         size_t n_images,
         struct mlp_rates rates);

/* Zeroed memory is fine. */
void
mlp_deinit(struct mlp *mlp);

#endif
