/* train_3d/parameter.c - a weight matrix, or this rank's part of one */

#include "train_3d/parameter.h"

#include "train_3d/noise.h"

struct span
span_all(size_t whole)
{
    return (struct span){0, whole, whole};
}

struct span
span_part(size_t whole, size_t part, size_t n)
{
    return (struct span){whole / n * part, whole / n, whole};
}

/* The value of an element depends on its position in the whole matrix, not on
 * which rank has it. */
static void
values_init(struct matrix value, const struct parameter_options *options)
{
    const struct noise noise = {options->seed, options->name};

    for (size_t row = 0; row < value.n_rows; row++) {
        const size_t begin =
            (options->rows.begin + row) * options->columns.whole +
            options->columns.begin;

        for (size_t column = 0; column < value.n_columns; column++)
            matrix_row(value, row)[column] =
                options->middle +
                options->reach * noise_signed(noise, begin + column);
    }
}

void
parameter_init(struct parameter *parameter,
               const struct parameter_options *options)
{
    const struct span rows = options->rows;
    const struct span columns = options->columns;

    *parameter = (struct parameter){
        .value = matrix_create(rows.count, columns.count),
        .gradient = matrix_create(rows.count, columns.count),
        .is_whole = rows.count == rows.whole && columns.count == columns.whole,
    };
    values_init(parameter->value, options);
}

void
parameter_deinit(struct parameter *parameter)
{
    matrix_free(parameter->value);
    matrix_free(parameter->gradient);
    *parameter = (struct parameter){0};
}
