/*
 * tests/unit/examples/train_3d/slope.c - is a gradient the slope of what it is of?
 *
 * In float, a difference by one value drowns in rounding; one by all values of
 * a matrix at once does not.
 */

#include "slope.h"

#include <math.h>
#include <string.h>

#include "train_3d/noise.h"

enum {
    DIRECTIONS = 2,
};

static double
loss_at(const struct slope *slope,
        struct matrix kept,
        struct matrix direction,
        float factor)
{
    matrix_copy(kept, slope->values);
    add_scaled(slope->values.at, direction.at, factor, matrix_count(kept));
    return slope->loss(slope->owner);
}

static double
length_of(struct matrix matrix)
{
    return sqrt((double)dot(matrix.at, matrix.at, matrix_count(matrix)));
}

/* Of length 1. */
static void
direction_fill(struct matrix direction,
               const struct slope *slope,
               size_t number)
{
    const struct noise noise = {number, "direction"};
    const size_t n = matrix_count(direction);

    for (size_t i = 0; i < n; i++)
        direction.at[i] =
            number == 0 ? slope->gradient.at[i] : noise_signed(noise, i);
    const float length = (float)length_of(direction);
    for (size_t i = 0; i < n; i++)
        direction.at[i] /= length;
}

double
slope_error(const struct slope *slope)
{
    const struct matrix values = slope->values;
    const double length = length_of(slope->gradient);
    struct matrix kept = matrix_create(values.n_rows, values.n_columns);
    struct matrix direction = matrix_create(values.n_rows, values.n_columns);
    double error = 0;

    matrix_copy(values, kept);
    for (size_t i = 0; i < DIRECTIONS; i++) {
        direction_fill(direction, slope, i);
        const double above = loss_at(slope, kept, direction, slope->step);
        const double below = loss_at(slope, kept, direction, -slope->step);
        const double told = (double)dot(slope->gradient.at, direction.at,
                                        matrix_count(direction));
        const double seen = (above - below) / (2 * (double)slope->step);

        error = fmax(error, fabs(seen - told) / length);
    }
    matrix_copy(kept, values);
    matrix_free(kept);
    matrix_free(direction);
    return error;
}
