/* train_3d/adam.c - Adam, for any part of the parameters
 *
 * It follows Kingma and Ba (2014), with their constants except for the second
 * one: 0.99 forgets sooner, which suits runs of some hundred steps.
 */

#include "train_3d/adam.h"

#include <math.h>

static const float mean_kept = 0.9F;
static const float square_kept = 0.99F;
static const float least = 1e-6F; /* keeps rounding errors of tiny gradients
                                     from becoming steps */

void
adam_init(struct adam *adam, size_t n, float rate)
{
    *adam = (struct adam){
        .means = matrix_create(1, n).at,
        .squares = matrix_create(1, n).at,
        .n = n,
        .rate = rate,
    };
}

void
adam_deinit(struct adam *adam)
{
    matrix_free((struct matrix){.at = adam->means});
    matrix_free((struct matrix){.at = adam->squares});
    *adam = (struct adam){0};
}

void
adam_step(struct adam *adam, size_t step, const struct adam_part *part)
{
    float *means = adam->means + part->offset;
    float *squares = adam->squares + part->offset;
    /* Both means began at zero, and these factors correct their bias towards
     * it. */
    const float mean_weight = 1 - powf(mean_kept, (float)step);
    const float square_weight = 1 - powf(square_kept, (float)step);

    for (size_t i = 0; i < part->n; i++) {
        const float slope = part->gradients[i];

        means[i] += (1 - mean_kept) * (slope - means[i]);
        squares[i] += (1 - square_kept) * (slope * slope - squares[i]);
        part->values[i] -= adam->rate * (means[i] / mean_weight) /
                           (sqrtf(squares[i] / square_weight) + least);
    }
}
