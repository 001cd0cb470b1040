/*
 * tensor_parallel/move.c - moves: how tensors change their layout over ranks
 *
 * A move is checked and measured, and its result gets memory. Then it is either
 * a copy on this rank or one collective. The operation owns the packed data and
 * holds the scratch until it has been waited for.
 */

#include "tensor_parallel/move.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "api/collective.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"
#include "session/comm.h"
#include "tensor/layout.h"
#include "tensor/operand.h"
#include "tensor_parallel/block_pack.h"
#include "tensor_parallel/target.h"

/*
 * Shapes and counts of a move, before it starts.
 *
 * Sizes that do not fit are found here by each rank alone; if all ranks pass
 * the same arguments, all find the error. Arguments that ranks could pass
 * differently are stored in agreed, which the engine compares between ranks.
 */

enum {
    /* The move, the number of dimensions, and each dimension. */
    SIGNATURE_NUMBERS_MAX = 2 + HOOP_MAX_DIMS,
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
dim_size_change_evenly(size_t *size,
                       enum part_change change,
                       uint32_t n_ranks,
                       const char *name)
{
    if (change == PART_CHANGE_NONE)
        return HOOP_OK;
    if (change == PART_CHANGE_GATHER) {
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
    if (change == PART_CHANGE_SPLIT)
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
        status = dim_size_change_evenly(&n_rows, PART_CHANGE_SPLIT, n_ranks,
                                        "first");
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
move_geometry_set_row_counts(struct measure *measure,
                             const struct move_call *call,
                             const struct move_group *group)
{
    const enum part_change change = move_rule(call->move)->first;
    size_t *n_rows = &measure->result.dims[0];
    size_t sum = 0;
    enum hoop_status status =
        row_counts_fill(call->sizes, *n_rows, group->size, measure->counts);

    if (status == HOOP_OK)
        status = row_counts_sum(measure->counts, group->size, &sum);
    if (status != HOOP_OK)
        return error_pass(status);
    const size_t own = measure->counts[group->rank];
    status = change == PART_CHANGE_GATHER
                 ? row_counts_check_total(own, *n_rows, "to this rank")
                 : row_counts_check_total(sum, *n_rows, "to all");
    if (status == HOOP_OK && change == PART_CHANGE_ALL_TO_ALL) {
        status = row_counts_fill(call->coming, *n_rows, group->size,
                                 measure->recv_counts);
        if (status == HOOP_OK)
            status = row_counts_sum(measure->recv_counts, group->size, &sum);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *n_rows = change == PART_CHANGE_SPLIT ? own : sum;
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
        move_rule(call->move)->first != PART_CHANGE_ALL_TO_ALL) {
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

    if (rule->last != PART_CHANGE_NONE)
        status = dim_size_change_evenly(&result->dims[result->n_dims - 1],
                                        rule->last, group->size, "last");
    if (status == HOOP_OK)
        status = move_call_is_uneven(call)
                     ? move_geometry_set_row_counts(measure, call, group)
                     : dim_size_change_evenly(&result->dims[0], rule->first,
                                              group->size, "first");
    if (status == HOOP_OK)
        status = shape_count(result, &n_elements);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
move_rule_has_split(const struct move_rule *rule)
{
    return rule->first == PART_CHANGE_SPLIT ||
           rule->first == PART_CHANGE_ALL_TO_ALL ||
           rule->last == PART_CHANGE_SPLIT;
}

static enum hoop_status
move_geometry_fill(struct measure *measure,
                   const struct move_call *call,
                   const struct move_group *group)
{
    const struct move_rule *rule = move_rule(call->move);

    measure->result = call->tensor->shape;
    if (rule->first != PART_CHANGE_NONE && rule->last != PART_CHANGE_NONE)
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
    } else if (move_rule_has_split(rule)) {
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
        (rule->first != PART_CHANGE_NONE || rule->last != PART_CHANGE_NONE))
        return error_raise(HOOP_E_INVALID,
                           "a tensor without dimensions has no parts");
    if (move_call_is_uneven(call) && rule->uneven == CALL_UNKNOWN)
        return error_raise(HOOP_E_INVALID,
                           "the rows are cut into equal parts here, for a "
                           "replicated consumer: sizes must be NULL");
    measure->agreed = calloc(SIGNATURE_NUMBERS_MAX + 3 * size, sizeof(size_t));
    if (!measure->agreed)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the rows of %zu "
                           "ranks",
                           size);
    if (move_call_is_uneven(call))
        measure->counts = measure->agreed + SIGNATURE_NUMBERS_MAX + size;
    if (move_call_is_uneven(call) && rule->first == PART_CHANGE_ALL_TO_ALL)
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

/* The moves. */

static const struct move_rule rules[] = {
    [MOVE_COPY] = {.first = PART_CHANGE_NONE},
    [MOVE_ALL_REDUCE] = {.even = CALL_ALLREDUCE},
    [MOVE_SPLIT_LAST] = {.last = PART_CHANGE_SPLIT},
    [MOVE_SPLIT_FIRST] = {.first = PART_CHANGE_SPLIT},
    [MOVE_GATHER_LAST] = {.last = PART_CHANGE_GATHER, .even = CALL_ALLGATHER},
    [MOVE_GATHER_FIRST] = {.first = PART_CHANGE_GATHER,
                           .even = CALL_ALLGATHER,
                           .uneven = CALL_ALLGATHERV},
    [MOVE_REDUCE_SCATTER_LAST] = {.last = PART_CHANGE_SPLIT,
                                  .even = CALL_REDUCE_SCATTER},
    [MOVE_REDUCE_SCATTER_FIRST] = {.first = PART_CHANGE_SPLIT,
                                   .even = CALL_REDUCE_SCATTER,
                                   .uneven = CALL_REDUCE_SCATTERV},
    [MOVE_ALL_TO_ALL] = {.first = PART_CHANGE_ALL_TO_ALL,
                         .even = CALL_ALLTOALL,
                         .uneven = CALL_ALLTOALLV},
    [MOVE_ROWS_TO_COLUMNS] = {.first = PART_CHANGE_GATHER,
                              .last = PART_CHANGE_SPLIT,
                              .even = CALL_ALLTOALL},
    [MOVE_COLUMNS_TO_ROWS] = {.first = PART_CHANGE_SPLIT,
                              .last = PART_CHANGE_GATHER,
                              .even = CALL_ALLTOALL},
};

const struct move_rule *
move_rule(enum move move)
{
    return &rules[move];
}

/* Packs or unpacks the parts of the last dimension. Rows that are cut or joined
 * lie one after the other already. */
static enum hoop_status
move_attach_pack(const struct move_call *call, struct collective *collective)
{
    const uint32_t n_ranks = context_size(call->comm->context);
    const enum part_change last = rules[call->move].last;
    const struct cuts cut = {
        .n_cuts = last == PART_CHANGE_SPLIT,
        .cuts = {{call->tensor->shape.n_dims - 1, n_ranks}},
    };
    const struct cuts join = {
        .n_cuts = last == PART_CHANGE_GATHER,
        .cuts = {{call->out->shape.n_dims - 1, n_ranks}},
    };
    const struct block_pack_request request = {
        call->tensor, call->out, &cut, &join, call->scratch,
    };

    return block_pack_attach(collective, &request);
}

static struct collective
move_to_collective(const struct move_call *call, const struct measure *measure)
{
    const struct move_rule *rule = &rules[call->move];
    struct collective collective = collective_describe(
        measure->counts ? rule->uneven : rule->even, call->tensor->data,
        call->out->data, measure->count, call->tensor->dtype);

    collective.counts = measure->counts;
    collective.recv_counts = measure->recv_counts;
    collective.op = HOOP_SUM;
    collective.agreed = measure->agreed;
    collective.n_agreed = measure->n_agreed;
    return collective;
}

/* A rank that is alone ends with what it had, if its call is correct. The
 * engine is not used, so that the call does not wait for another thread that
 * owns progress. */
static enum hoop_status
move_run_single_rank(const struct move_call *call,
                     const struct collective *collective,
                     hoop_op_t **out_op)
{
    const enum hoop_status status = collective_check(collective, call->comm);

    if (status != HOOP_OK)
        return error_pass(status);
    op_return_completed(out_op);
    block_copy(&(struct cuts){0}, 0, call->tensor, call->out);
    if (collective->parts & COLL_REDUCES)
        reduction_of_one(collective->dtype, call->out->data,
                         operand_count(call->tensor));
    return HOOP_OK;
}

/* out_op is NULL for the blocking form. */
static enum hoop_status
move_run_collective(const struct move_call *call,
                    const struct measure *measure,
                    hoop_op_t **out_op)
{
    struct collective collective = move_to_collective(call, measure);

    /* With a scratch an operation is needed: it holds the scratch until the
     * wait. */
    if (context_size(call->comm->context) == 1 && !call->scratch)
        return move_run_single_rank(call, &collective, out_op);

    const enum hoop_status status = move_attach_pack(call, &collective);
    if (status != HOOP_OK)
        return error_pass(status);
    return out_op ? collective_start(&collective, call->comm, out_op)
                  : collective_run(&collective, call->comm);
}

/* Copies all of the tensor, or this rank's part. */
static void
move_copy_own_part(const struct move_call *call, hoop_op_t **out_op)
{
    const struct move_rule *rule = &rules[call->move];
    const bool is_last = rule->last == PART_CHANGE_SPLIT;
    const struct cuts cut = {
        .n_cuts = is_last || rule->first == PART_CHANGE_SPLIT,
        .cuts = {{is_last ? call->tensor->shape.n_dims - 1 : 0,
                  context_size(call->comm->context)}},
    };

    op_return_completed(out_op);
    scratch_release(call->scratch);
    block_copy(&cut, context_rank(call->comm->context), call->tensor,
               call->out);
}

/* The tensor has been checked, and this process is a member. */
static enum hoop_status
move_run_checked(const struct move_call *call, hoop_op_t **out_op)
{
    const struct move_group group = {
        .rank = context_rank(call->comm->context),
        .size = context_size(call->comm->context),
    };
    struct measure measure;
    struct target target;
    enum hoop_status status = move_geometry_init(&measure, call, &group);

    if (status != HOOP_OK)
        return error_pass(status);
    status = output_target_prepare(call, &measure.result, &target);
    if (status == HOOP_OK && rules[call->move].even == CALL_UNKNOWN) {
        move_copy_own_part(call, out_op);
    } else if (status == HOOP_OK) {
        status = move_run_collective(call, &measure, out_op);
        if (status != HOOP_OK)
            output_target_withdraw(&target);
    }
    move_geometry_deinit(&measure);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
move(struct move_call call, hoop_op_t **out_op)
{
    bool is_member;
    enum hoop_status status = comm_call_begin(call.comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member) {
        op_return_completed(out_op);
        return HOOP_OK;
    }
    status = operand_check(call.tensor, "the tensor");
    if (status != HOOP_OK)
        return error_pass(status);
    /* tensor may be *out, which changes. */
    const struct hoop_tensor tensor = *call.tensor;
    call.tensor = &tensor;
    return move_run_checked(&call, out_op);
}

enum hoop_status
move_call_run(struct move_call call)
{
    return move(call, NULL);
}

enum hoop_status
move_call_start(struct move_call call, hoop_op_t **out_op)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    return move(call, out_op);
}
