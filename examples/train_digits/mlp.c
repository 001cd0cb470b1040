/*
 * train_digits/mlp.c - a perceptron with one hidden layer
 *
 * The parameters are in this order, with h hidden cells:
 *
 *   first  [h][64]   hidden weights    second [10][h]  output weights
 *   first bias [h]                     second bias [10]
 */

#include "train_digits/mlp.h"

#include <math.h>
#include <stdlib.h>

#include "train_digits/random.h"

struct layers {
    double *first;
    double *first_bias;
    double *second;
    double *second_bias;
};

static struct layers
layers_of(const struct mlp *mlp, double *parameters)
{
    struct layers layers = {.first = parameters};

    layers.first_bias = layers.first + mlp->n_hidden * DIGITS_PIXELS;
    layers.second = layers.first_bias + mlp->n_hidden;
    layers.second_bias = layers.second + DIGITS_CLASSES * mlp->n_hidden;
    return layers;
}

/* Follows He's rule for rectified cells: the variance is 2 / inputs. */
static void
weights_init(double *weights,
             size_t n_weights,
             size_t n_inputs,
             struct random *random)
{
    const double bound = sqrt(6.0 / (double)n_inputs);

    for (size_t i = 0; i < n_weights; i++)
        weights[i] = bound * random_signed(random);
}

enum hoop_status
mlp_init(struct mlp *mlp, size_t n_hidden, uint64_t seed)
{
    const size_t n_parameters =
        n_hidden * (DIGITS_PIXELS + 1) + DIGITS_CLASSES * (n_hidden + 1);
    struct random random = {seed};

    *mlp = (struct mlp){
        .n_hidden = n_hidden,
        .n_parameters = n_parameters,
        .parameters = calloc(n_parameters, sizeof(double)),
        .velocity = calloc(n_parameters, sizeof(double)),
        .hidden = calloc(n_hidden, sizeof(double)),
        .slopes = calloc(n_hidden, sizeof(double)),
    };
    if (!mlp->parameters || !mlp->velocity || !mlp->hidden || !mlp->slopes)
        return HOOP_E_EXHAUSTED;

    const struct layers layers = layers_of(mlp, mlp->parameters);
    weights_init(layers.first, n_hidden * DIGITS_PIXELS, DIGITS_PIXELS,
                 &random);
    weights_init(layers.second, DIGITS_CLASSES * n_hidden, n_hidden, &random);
    return HOOP_OK;
}

static double
dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* sums += factor * values */
static void
add_scaled(double *sums, const double *values, double factor, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sums[i] += factor * values[i];
}

/* Computes mlp->hidden and the scores of the classes. */
static void
mlp_forward(struct mlp *mlp,
            const struct image *image,
            double out_scores[static DIGITS_CLASSES])
{
    const struct layers layers = layers_of(mlp, mlp->parameters);

    for (size_t h = 0; h < mlp->n_hidden; h++) {
        const double sum =
            layers.first_bias[h] +
            dot(&layers.first[h * DIGITS_PIXELS], image->pixels, DIGITS_PIXELS);
        mlp->hidden[h] = sum > 0 ? sum : 0;
    }
    for (size_t c = 0; c < DIGITS_CLASSES; c++)
        out_scores[c] =
            layers.second_bias[c] +
            dot(&layers.second[c * mlp->n_hidden], mlp->hidden, mlp->n_hidden);
}

static size_t
largest(const double scores[static DIGITS_CLASSES])
{
    size_t best = 0;

    for (size_t c = 1; c < DIGITS_CLASSES; c++) {
        if (scores[c] > scores[best])
            best = c;
    }
    return best;
}

/* Replaces the scores with the gradient of the loss, and returns the loss. */
static double
softmax_loss(double scores[static DIGITS_CLASSES], uint32_t label)
{
    /* The largest score is subtracted, since exp() could overflow without
     * that. */
    const double top = scores[largest(scores)];
    const double own = scores[label] - top;
    double total = 0;

    for (size_t c = 0; c < DIGITS_CLASSES; c++) {
        scores[c] = exp(scores[c] - top);
        total += scores[c];
    }
    for (size_t c = 0; c < DIGITS_CLASSES; c++)
        scores[c] /= total;
    scores[label] -= 1;
    return log(total) - own;
}

double
mlp_backward(struct mlp *mlp, const struct image *image, double *gradient)
{
    const struct layers layers = layers_of(mlp, mlp->parameters);
    const struct layers slopes = layers_of(mlp, gradient);
    const size_t n_hidden = mlp->n_hidden;
    double scores[DIGITS_CLASSES];

    mlp_forward(mlp, image, scores);
    const double loss = softmax_loss(scores, image->label);

    for (size_t h = 0; h < n_hidden; h++)
        mlp->slopes[h] = 0;
    for (size_t c = 0; c < DIGITS_CLASSES; c++) {
        slopes.second_bias[c] += scores[c];
        add_scaled(&slopes.second[c * n_hidden], mlp->hidden, scores[c],
                   n_hidden);
        add_scaled(mlp->slopes, &layers.second[c * n_hidden], scores[c],
                   n_hidden);
    }
    for (size_t h = 0; h < n_hidden; h++) {
        if (mlp->hidden[h] <= 0)
            continue;
        slopes.first_bias[h] += mlp->slopes[h];
        add_scaled(&slopes.first[h * DIGITS_PIXELS], image->pixels,
                   mlp->slopes[h], DIGITS_PIXELS);
    }
    return loss;
}

uint32_t
mlp_classify(struct mlp *mlp, const struct image *image)
{
    double scores[DIGITS_CLASSES];

    mlp_forward(mlp, image, scores);
    return (uint32_t)largest(scores);
}

void
mlp_step(struct mlp *mlp,
         const double *gradient,
         size_t n_images,
         struct mlp_rates rates)
{
    const double factor = rates.rate / (double)n_images;

    for (size_t i = 0; i < mlp->n_parameters; i++) {
        mlp->velocity[i] =
            rates.momentum * mlp->velocity[i] - factor * gradient[i];
        mlp->parameters[i] += mlp->velocity[i];
    }
}

void
mlp_deinit(struct mlp *mlp)
{
    free(mlp->parameters);
    free(mlp->velocity);
    free(mlp->hidden);
    free(mlp->slopes);
    *mlp = (struct mlp){0};
}
