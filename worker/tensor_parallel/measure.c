/*
 * tensor_parallel/measure.c - shapes and counts of a move, before it starts
 *
 * Sizes that do not fit are found here by each rank alone; if all ranks pass
 * the same arguments, all find the error. Arguments that ranks could pass
 * differently are stored in agreed, which the engine compares between ranks.
 */

#include "tensor_parallel/measure.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "tensor/shape.h"

enum {
    /* The move, the number of dimensions, and each dimension. */
    AGREED_MAX = 2 + HOOP_MAX_DIMS,
};

static bool
move_call_is_uneven(const struct move_call *call)
{
    return call->sizes || call->coming;
}

/* If both ends change, all dimensions before the last are merged into one. */
static void
shape_flatten_rows(struct hoop_shape *shape)
{
    const uint32_t last = shape->n_dims - 1;
    const size_t n_columns = shape->dims[last];
    size_t n_rows = 1;

    for (uint32_t i = 0; i < last; i++)
        n_rows *= shape->dims[i];
    *shape = (struct hoop_shape){2, {n_rows, n_columns}};
}

static enum hoop_status
dim_change_evenly(size_t *size,
                  enum change change,
                  uint32_t n_ranks,
                  const char *name)
{
    if (change == CHANGE_NONE)
        return HOOP_OK;
    if (change == CHANGE_JOIN) {
        if (__builtin_mul_overflow(*size, n_ranks, size))
            return error_raise(HOOP_E_INVALID,
                               "the %s dimensions of %u ranks add up to more "
                               "than 2^64",
                               name, n_ranks);
        return HOOP_OK;
    }
    if (*size % n_ranks != 0)
        return error_raise(HOOP_E_INVALID,
                           "%zu elements along the %s dimension cannot be cut "
                           "into %u equal parts",
                           *size, name, n_ranks);
    if (change == CHANGE_CUT)
        *size /= n_ranks;
    return HOOP_OK;
}

/* Copies list, or writes equal parts of n_rows if it is NULL. */
static enum hoop_status
row_counts_fill(const size_t *list,
                size_t n_rows,
                uint32_t n_ranks,
                size_t *out_rows)
{
    enum hoop_status status = HOOP_OK;

    if (!list)
        status = dim_change_evenly(&n_rows, CHANGE_CUT, n_ranks, "first");
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < n_ranks; i++)
        out_rows[i] = list ? list[i] : n_rows;
    return HOOP_OK;
}

static enum hoop_status
row_counts_sum(const size_t *rows, uint32_t n_ranks, size_t *out_sum)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < n_ranks; i++) {
        if (__builtin_add_overflow(sum, rows[i], &sum))
            return error_raise(HOOP_E_INVALID,
                               "the rows of all ranks add up to more than "
                               "2^64");
    }
    *out_sum = sum;
    return HOOP_OK;
}

/* Checks the rows that the lists give against those of this rank's tensor. */
static enum hoop_status
row_counts_check_total(size_t n_listed, size_t n_rows, const char *what)
{
    if (n_listed == n_rows)
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID,
                       "the tensor has %zu rows, but the sizes give %zu %s",
                       n_rows, n_listed, what);
}

/* Sets the rows of the result, and the counts in rows. */
static enum hoop_status
move_rows_by_list(struct measure *measure,
                  const struct move_call *call,
                  const struct move_group *group)
{
    const enum change change = move_rule(call->move)->first;
    size_t *n_rows = &measure->result.dims[0];
    size_t sum = 0;
    enum hoop_status status =
        row_counts_fill(call->sizes, *n_rows, group->size, measure->counts);

    if (status == HOOP_OK)
        status = row_counts_sum(measure->counts, group->size, &sum);
    if (status != HOOP_OK)
        return error_pass(status);
    const size_t own = measure->counts[group->rank];
    status = change == CHANGE_JOIN
                 ? row_counts_check_total(own, *n_rows, "to this rank")
                 : row_counts_check_total(sum, *n_rows, "to all");
    if (status == HOOP_OK && change == CHANGE_SWAP) {
        status = row_counts_fill(call->coming, *n_rows, group->size,
                                 measure->recv_counts);
        if (status == HOOP_OK)
            status = row_counts_sum(measure->recv_counts, group->size, &sum);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *n_rows = change == CHANGE_CUT ? own : sum;
    return HOOP_OK;
}

/* Stores what must be equal on all ranks: the move, the sizes, and lists that
 * all ranks share. Sizes that the lists replace are 0. */
static void
move_signature_fill(struct measure *measure,
                    const struct move_call *call,
                    const struct move_group *group)
{
    const struct hoop_shape *shape = &measure->result;
    size_t *at = measure->agreed;

    *at++ = (size_t)call->move;
    *at++ = shape->n_dims;
    for (uint32_t i = 0; i < shape->n_dims; i++)
        *at++ = i == 0 && move_call_is_uneven(call) ? 0 : shape->dims[i];
    if (move_call_is_uneven(call) &&
        move_rule(call->move)->first != CHANGE_SWAP) {
        for (uint32_t i = 0; i < group->size; i++)
            *at++ = call->sizes[i];
    }
    measure->n_agreed = (uint32_t)(at - measure->agreed);
}

/* Converts rows to elements. No product overflows, since that of all rows does
 * not. */
static void
row_counts_to_elements(struct measure *measure, const struct move_group *group)
{
    size_t n_inner = 1;

    for (uint32_t i = 1; i < measure->result.n_dims; i++)
        n_inner *= measure->result.dims[i];
    for (uint32_t i = 0; i < group->size; i++) {
        measure->counts[i] *= n_inner;
        if (measure->recv_counts)
            measure->recv_counts[i] *= n_inner;
    }
}

static enum hoop_status
change(struct measure *measure,
       const struct move_call *call,
       const struct move_group *group)
{
    const struct move_rule *rule = move_rule(call->move);
    struct hoop_shape *result = &measure->result;
    size_t n_elements;
    enum hoop_status status = HOOP_OK;

    if (rule->last != CHANGE_NONE)
        status = dim_change_evenly(&result->dims[result->n_dims - 1],
                                   rule->last, group->size, "last");
    if (status == HOOP_OK)
        status = move_call_is_uneven(call)
                     ? move_rows_by_list(measure, call, group)
                     : dim_change_evenly(&result->dims[0], rule->first,
                                         group->size, "first");
    if (status == HOOP_OK)
        status = shape_count(result, &n_elements);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
move_rule_has_cut(const struct move_rule *rule)
{
    return rule->first == CHANGE_CUT || rule->first == CHANGE_SWAP ||
           rule->last == CHANGE_CUT;
}

static enum hoop_status
move_geometry_fill(struct measure *measure,
                   const struct move_call *call,
                   const struct move_group *group)
{
    const struct move_rule *rule = move_rule(call->move);

    measure->result = call->tensor->shape;
    if (rule->first != CHANGE_NONE && rule->last != CHANGE_NONE)
        shape_flatten_rows(&measure->result);
    move_signature_fill(measure, call, group);
    enum hoop_status status = shape_count(&measure->result, &measure->count);
    if (status == HOOP_OK)
        status = change(measure, call, group);
    if (status != HOOP_OK)
        return error_pass(status);
    if (move_call_is_uneven(call)) {
        measure->count = 0;
        row_counts_to_elements(measure, group);
    } else if (move_rule_has_cut(rule)) {
        measure->count /= group->size;
    }
    return HOOP_OK;
}

enum hoop_status
move_geometry_init(struct measure *measure,
                   const struct move_call *call,
                   const struct move_group *group)
{
    const struct move_rule *rule = move_rule(call->move);
    const size_t size = group->size;

    *measure = (struct measure){0};
    if (call->tensor->shape.n_dims == 0 &&
        (rule->first != CHANGE_NONE || rule->last != CHANGE_NONE))
        return error_raise(HOOP_E_INVALID,
                           "a tensor without dimensions has no parts");
    if (move_call_is_uneven(call) && rule->uneven == CALL_UNKNOWN)
        return error_raise(HOOP_E_INVALID,
                           "the rows are cut into equal parts here, for a "
                           "replicated consumer: sizes must be NULL");
    measure->agreed = calloc(AGREED_MAX + 3 * size, sizeof(size_t));
    if (!measure->agreed)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the rows of %zu "
                           "ranks",
                           size);
    if (move_call_is_uneven(call))
        measure->counts = measure->agreed + AGREED_MAX + size;
    if (move_call_is_uneven(call) && rule->first == CHANGE_SWAP)
        measure->recv_counts = measure->counts + size;
    const enum hoop_status status = move_geometry_fill(measure, call, group);
    if (status == HOOP_OK)
        return HOOP_OK;
    move_geometry_deinit(measure);
    return error_pass(status);
}

void
move_geometry_deinit(struct measure *measure)
{
    free(measure->agreed);
    *measure = (struct measure){0};
}
