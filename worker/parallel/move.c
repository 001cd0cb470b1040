/*
 * parallel/move.c - moves: how tensors change their layout over ranks
 *
 * A move is checked and measured, and its result gets memory. Then it is either
 * a copy on this rank or one collective. The operation owns the packed data and
 * holds the scratch until it has been waited for.
 */

#include "parallel/move.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "coll/collective.h"
#include "coll/comm_call.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"
#include "parallel/measure.h"
#include "parallel/scratch.h"
#include "parallel/target.h"
#include "session/comm.h"
#include "tensor/axis.h"
#include "tensor/operand.h"

static const struct move_rule rules[] = {
    [MOVE_COPY] = {.first = CHANGE_NONE},
    [MOVE_SUM] = {.even = CALL_ALLREDUCE, .parts = COLL_REDUCES},
    [MOVE_SPLIT_LAST] = {.last = CHANGE_CUT},
    [MOVE_SPLIT_FIRST] = {.first = CHANGE_CUT},
    [MOVE_GATHER_LAST] = {.last = CHANGE_JOIN,
                          .even = CALL_ALLGATHER,
                          .parts = COLL_RECV_ALL,
                          .packing = PACKING_AFTER},
    [MOVE_GATHER_FIRST] = {.first = CHANGE_JOIN,
                           .even = CALL_ALLGATHER,
                           .uneven = CALL_ALLGATHERV,
                           .parts = COLL_RECV_ALL},
    [MOVE_SCATTER_LAST] = {.last = CHANGE_CUT,
                           .even = CALL_REDUCE_SCATTER,
                           .parts = COLL_REDUCES | COLL_SEND_ALL,
                           .packing = PACKING_BEFORE},
    [MOVE_SCATTER_FIRST] = {.first = CHANGE_CUT,
                            .even = CALL_REDUCE_SCATTER,
                            .uneven = CALL_REDUCE_SCATTERV,
                            .parts = COLL_REDUCES | COLL_SEND_ALL},
    [MOVE_EXCHANGE] = {.first = CHANGE_SWAP,
                       .even = CALL_ALLTOALL,
                       .uneven = CALL_ALLTOALLV,
                       .parts = COLL_SEND_ALL | COLL_RECV_ALL},
    [MOVE_ROWS_TO_COLUMNS] = {.first = CHANGE_JOIN,
                              .last = CHANGE_CUT,
                              .even = CALL_ALLTOALL,
                              .parts = COLL_SEND_ALL | COLL_RECV_ALL,
                              .packing = PACKING_BEFORE},
    [MOVE_COLUMNS_TO_ROWS] = {.first = CHANGE_CUT,
                              .last = CHANGE_JOIN,
                              .even = CALL_ALLTOALL,
                              .parts = COLL_SEND_ALL | COLL_RECV_ALL,
                              .packing = PACKING_AFTER},
};

const struct move_rule *
move_rule(enum move move)
{
    return &rules[move];
}

/* Owned by an operation. */
struct pack_buffer {
    struct hoop_scratch *scratch;
    struct axis axis; /* last dimension of the tensor with all columns */
    void *whole;      /* data of the tensor with all columns */
    uint32_t n_parts;
    uint8_t packed[];
};

static enum hoop_status
pack_buffer_unpack(void *owner)
{
    const struct pack_buffer *pack_buffer = owner;

    axis_join(&pack_buffer->axis, pack_buffer->whole, pack_buffer->n_parts,
              pack_buffer->packed);
    return HOOP_OK;
}

static void
pack_buffer_destroy(void *owner)
{
    struct pack_buffer *pack_buffer = owner;

    scratch_release(pack_buffer->scratch);
    free(pack_buffer);
}

/* Nothing interleaves on one rank, or in one row. */
static bool
needs_packing(const struct axis *axis, uint32_t n_ranks)
{
    return n_ranks > 1 && axis->n_outer > 1 && axis->length > 0;
}

static enum hoop_status
pack_buffer_create(const struct axis *axis,
                   size_t n_bytes,
                   struct pack_buffer **out_cargo)
{
    struct pack_buffer *pack_buffer = malloc(sizeof(*pack_buffer) + n_bytes);

    if (!pack_buffer)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to sort %zu bytes by rank", n_bytes);
    *pack_buffer = (struct pack_buffer){.axis = *axis};
    *out_cargo = pack_buffer;
    return HOOP_OK;
}

/* Packs the parts, or prepares to unpack them, and lets the end of the
 * operation release the scratch. */
static enum hoop_status
pack_buffer_load(struct collective *collective, const struct move_call *call)
{
    const enum packing packing = rules[call->move].packing;
    const uint32_t n_ranks = context_size(call->comm->context);
    const struct hoop_tensor *whole =
        packing == PACKING_BEFORE ? call->tensor : call->out;
    enum hoop_status status = HOOP_OK;
    struct axis axis = {0};
    struct pack_buffer *pack_buffer = NULL;

    if (packing != PACKING_NONE)
        status = axis_of(&whole->shape, -1, whole->dtype, &axis);
    const bool packs = needs_packing(&axis, n_ranks);
    if (status != HOOP_OK || (!packs && !call->scratch))
        return status;
    status = pack_buffer_create(
        &axis, packs ? axis_bytes(&axis, axis.length) : 0, &pack_buffer);
    if (status != HOOP_OK)
        return error_pass(status);
    pack_buffer->whole = whole->data;
    pack_buffer->n_parts = n_ranks;
    pack_buffer->scratch = call->scratch;
    collective->chain =
        (struct chain){.destroy = pack_buffer_destroy, .owner = pack_buffer};
    if (packs && packing == PACKING_BEFORE) {
        axis_divide(&axis, whole->data, n_ranks, pack_buffer->packed);
        collective->send = pack_buffer->packed;
    } else if (packs) {
        collective->recv = pack_buffer->packed;
        collective->chain.finish = pack_buffer_unpack;
    }
    return HOOP_OK;
}

static struct collective
describe(const struct move_call *call, const struct measure *measure)
{
    const struct move_rule *rule = &rules[call->move];
    struct collective collective = {
        .name = rule->even,
        .parts = rule->parts,
        .send = call->tensor->data,
        .recv = call->out->data,
        .count = measure->count,
        .counts = measure->counts,
        .recv_counts = measure->recv_counts,
        .dtype = call->tensor->dtype,
        .op = HOOP_SUM,
        .agreed = measure->agreed,
        .n_agreed = measure->n_agreed,
    };

    if (measure->counts) {
        collective.name = rule->uneven;
        collective.parts |= COLL_HAS_COUNTS;
    }
    if (measure->recv_counts)
        collective.parts |= COLL_HAS_RECV_COUNTS;
    return collective;
}

static void
nothing_to_wait_for(hoop_op_t **out_op)
{
    if (out_op)
        *out_op = (hoop_op_t *)engine_null_op();
}

/* Tensor and result may be the same if their shapes are equal. */
static void
copy_all(const struct move_call *call)
{
    const size_t n_bytes = operand_bytes(call->tensor);

    if (call->tensor->data != call->out->data && n_bytes > 0)
        memcpy(call->out->data, call->tensor->data, n_bytes);
}

/* A rank that is alone ends with what it had, if its call is correct. The
 * engine is not used, so that the call does not wait for another thread that
 * owns progress. */
static enum hoop_status
exchange_alone(const struct move_call *call,
               const struct collective *collective,
               hoop_op_t **out_op)
{
    const enum hoop_status status = collective_check(collective, call->comm);

    if (status != HOOP_OK)
        return error_pass(status);
    nothing_to_wait_for(out_op);
    copy_all(call);
    if (collective->parts & COLL_REDUCES)
        reduction_of_one(collective->dtype, call->out->data,
                         operand_count(call->tensor));
    return HOOP_OK;
}

/* out_op is NULL for the blocking form. */
static enum hoop_status
exchange(const struct move_call *call,
         const struct measure *measure,
         hoop_op_t **out_op)
{
    struct collective collective = describe(call, measure);

    /* With a scratch an operation is needed: it holds the scratch until the
     * wait. */
    if (context_size(call->comm->context) == 1 && !call->scratch)
        return exchange_alone(call, &collective, out_op);

    const enum hoop_status status = pack_buffer_load(&collective, call);
    if (status != HOOP_OK)
        return error_pass(status);
    return out_op ? collective_start(&collective, call->comm, out_op)
                  : collective_run(&collective, call->comm);
}

/* Copies all of the tensor, or this rank's part. Tensor and result may be the
 * same if their shapes are equal. */
static enum hoop_status
copy_here(const struct move_call *call, hoop_op_t **out_op)
{
    const struct hoop_tensor *tensor = call->tensor;
    const int32_t dim = rules[call->move].last == CHANGE_CUT ? -1 : 0;
    const uint32_t rank = context_rank(call->comm->context);
    const uint32_t size = context_size(call->comm->context);
    struct axis axis;

    nothing_to_wait_for(out_op);
    scratch_release(call->scratch);
    if (tensor->data == call->out->data || call->move == MOVE_COPY) {
        copy_all(call);
        return HOOP_OK;
    }
    const enum hoop_status status =
        axis_of(&tensor->shape, dim, tensor->dtype, &axis);
    if (status != HOOP_OK)
        return error_pass(status);
    const size_t n = axis.length / size;
    axis_take(&axis, tensor->data, rank * n, n, call->out->data);
    return HOOP_OK;
}

/* The tensor has been checked, and this process is a member. */
static enum hoop_status
move_checked(const struct move_call *call, hoop_op_t **out_op)
{
    const struct measure_group group = {
        .rank = context_rank(call->comm->context),
        .size = context_size(call->comm->context),
    };
    struct measure measure;
    struct target target;
    enum hoop_status status = measure_init(&measure, call, &group);

    if (status != HOOP_OK)
        return error_pass(status);
    status = target_prepare(call, &measure.result, &target);
    if (status == HOOP_OK) {
        status = rules[call->move].even == CALL_UNKNOWN
                     ? copy_here(call, out_op)
                     : exchange(call, &measure, out_op);
        if (status != HOOP_OK)
            target_withdraw(&target);
    }
    measure_deinit(&measure);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
move(const struct move_call *call, hoop_op_t **out_op)
{
    bool is_member;
    enum hoop_status status = comm_call_begin(call->comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member) {
        nothing_to_wait_for(out_op);
        return HOOP_OK;
    }
    status = operand_check(call->tensor, "the tensor");
    if (status != HOOP_OK)
        return error_pass(status);
    /* tensor may be *out, which changes. */
    const struct hoop_tensor tensor = *call->tensor;
    struct move_call checked = *call;
    checked.tensor = &tensor;
    return move_checked(&checked, out_op);
}

enum hoop_status
move_run(const struct move_call *call)
{
    return move(call, NULL);
}

enum hoop_status
move_start(const struct move_call *call, hoop_op_t **out_op)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    return move(call, out_op);
}
