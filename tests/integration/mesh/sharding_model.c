/* tests/integration/mesh/sharding_model.c - all layouts of a small tensor */

#include "integration/mesh/sharding_model.h"

#include <string.h>

/* what is 0 if the axis does nothing, 1 if it holds addends, and 2 + d if it
 * cuts dimension d. */
static void
axis_add(struct hoop_sharding *sharding, uint32_t axis, uint32_t what)
{
    if (what == 0)
        return;
    struct hoop_axes *axes =
        what == 1 ? &sharding->partial : &sharding->dims[what - 2];
    axes->axes[axes->n_axes++] = axis;
}

size_t
sharding_model_list(uint32_t n_dims,
                    const struct hoop_sharding *empty,
                    struct hoop_sharding out_shardings[SHARDING_MODEL_MAX])
{
    size_t n = 0;

    for (uint32_t a = 0; a < n_dims + 2; a++) {
        for (uint32_t b = 0; b < n_dims + 2; b++) {
            out_shardings[n] = *empty;
            axis_add(&out_shardings[n], 0, a);
            axis_add(&out_shardings[n++], 1, b);
            if (a != b || a < 2)
                continue;
            out_shardings[n] = *empty;
            axis_add(&out_shardings[n], 1, b);
            axis_add(&out_shardings[n++], 0, a);
        }
    }
    return n;
}

bool
sharding_model_cuts(const struct hoop_sharding *sharding, uint32_t axis)
{
    for (uint32_t dim = 0; dim < HOOP_MAX_DIMS; dim++) {
        const struct hoop_axes *axes = &sharding->dims[dim];

        for (uint32_t i = 0; i < axes->n_axes; i++) {
            if (axes->axes[i] == axis)
                return true;
        }
    }
    return false;
}

/* The mesh has two axes. */
static uint32_t
coordinate(const struct sharding_model_part *seat, uint32_t axis)
{
    const uint32_t n_columns = seat->mesh->sizes[1];

    return axis == 0 ? seat->place / n_columns : seat->place % n_columns;
}

/* Returns the number of a part, and how many parts there are. The first axis is
 * the outer one. */
static uint32_t
number_along(const struct sharding_model_part *seat,
             const struct hoop_axes *axes,
             uint32_t *out_n)
{
    uint32_t number = 0;

    *out_n = 1;
    for (uint32_t i = 0; i < axes->n_axes; i++) {
        const uint32_t size = seat->mesh->sizes[axes->axes[i]];

        number = number * size + coordinate(seat, axes->axes[i]);
        *out_n *= size;
    }
    return number;
}

struct range {
    size_t begin;
    size_t end;
};

/* The first parts have one element more. */
static struct range
range_of(const struct sharding_model_part *seat, uint32_t dim)
{
    uint32_t n;
    const uint32_t number = number_along(seat, &seat->sharding->dims[dim], &n);
    size_t begin = 0;

    for (uint32_t i = 0; i < number; i++)
        begin += (seat->shape->dims[dim] + n - 1 - i) / n;
    return (struct range){
        begin, begin + (seat->shape->dims[dim] + n - 1 - number) / n};
}

size_t
sharding_model_whole(const struct hoop_shape *shape)
{
    size_t count = 1;

    for (uint32_t dim = 0; dim < shape->n_dims; dim++)
        count *= shape->dims[dim];
    return count;
}

size_t
sharding_model_count(const struct sharding_model_part *seat)
{
    size_t count = 1;

    for (uint32_t dim = 0; dim < seat->shape->n_dims; dim++) {
        const struct range range = range_of(seat, dim);

        count *= range.end - range.begin;
    }
    return count;
}

bool
sharding_model_has(const struct sharding_model_part *seat,
                   size_t i,
                   size_t *out_at)
{
    size_t rest = sharding_model_whole(seat->shape);
    size_t at = 0;

    for (uint32_t dim = 0; dim < seat->shape->n_dims; dim++) {
        const struct range range = range_of(seat, dim);

        rest /= seat->shape->dims[dim];
        const size_t k = i / rest;
        i %= rest;
        if (k < range.begin || k >= range.end)
            return false;
        at = at * (range.end - range.begin) + k - range.begin;
    }
    *out_at = at;
    return true;
}

uint32_t
sharding_model_addend(const struct sharding_model_part *seat,
                      uint32_t *out_n_addends)
{
    return number_along(seat, &seat->sharding->partial, out_n_addends);
}

double
sharding_model_value(size_t i)
{
    return (double)(i % 61) - 7;
}

double
sharding_model_addend_value(enum hoop_reduce_op op,
                            size_t i,
                            uint32_t number,
                            uint32_t n_addends)
{
    const double value = sharding_model_value(i);
    const double other = (double)((number + i) % n_addends);

    if (n_addends == 1)
        return value;
    if (op == HOOP_MIN)
        return value + 3 * other;
    if (op == HOOP_MAX)
        return value - 3 * other;
    if (op == HOOP_PRODUCT)
        return number == i % n_addends ? value : 1;
    /* For sums, each addend is its number, and the last one corrects the
     * total. */
    const double sum = (double)n_addends * (n_addends - 1) / 2;
    const double whole = op == HOOP_AVG ? value * n_addends : value;
    return number < n_addends - 1 ? number + 1 : whole - sum;
}

double
sharding_model_combine(enum hoop_reduce_op op, double a, double b)
{
    if (op == HOOP_MIN)
        return a < b ? a : b;
    if (op == HOOP_MAX)
        return a > b ? a : b;
    return op == HOOP_PRODUCT ? a * b : a + b;
}
