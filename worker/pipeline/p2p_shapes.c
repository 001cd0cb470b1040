/*
 * pipeline/p2p_shapes.c - a shape as three int64, Megatron's wire format
 *
 * Exchanges shapes without tensors. Each shape is a message of three HOOP_INT64
 * with tags that tensors do not use.
 */

#include "pipeline/p2p_shapes.h"

#include <inttypes.h>

#include "base/error.h"
#include "pipeline/p2p_communicator.h"
#include "pipeline/p2p_requests.h"
#include "tensor/shape.h"

enum hoop_status
p2p_shapes_pack(const struct hoop_shape *shape,
                const char *name,
                int64_t sizes[P2P_SHAPES_DIMS])
{
    size_t count;

    if (shape->n_dims != P2P_SHAPES_DIMS)
        return error_raise(HOOP_E_INVALID,
                           "%s has %u dimensions; three are exchanged: "
                           "sequence, micro-batch, hidden",
                           name, shape->n_dims);
    /* This also ensures that each size fits int64_t. */
    const enum hoop_status status = shape_count(shape, &count);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < P2P_SHAPES_DIMS; i++)
        sizes[i] = (int64_t)shape->dims[i];
    return HOOP_OK;
}

enum hoop_status
p2p_shapes_unpack(const int64_t sizes[P2P_SHAPES_DIMS],
                  uint32_t rank,
                  struct hoop_shape *out_shape)
{
    struct hoop_shape shape = {.n_dims = P2P_SHAPES_DIMS};
    bool is_right = true;
    size_t count;

    for (uint32_t i = 0; i < P2P_SHAPES_DIMS; i++) {
        is_right &= sizes[i] >= 0;
        shape.dims[i] = (size_t)sizes[i];
    }
    if (!is_right || shape_count(&shape, &count) != HOOP_OK)
        return error_raise(HOOP_E_MISMATCH,
                           "rank %u gave [%" PRId64 ", %" PRId64 ", %" PRId64
                           "] as a shape, which no tensor has",
                           rank, sizes[0], sizes[1], sizes[2]);
    *out_shape = shape;
    return HOOP_OK;
}

/* An exchange in progress: tensors[direction] has sizes[direction] as its
 * data. */
struct exchange_of_shapes {
    int64_t sizes[P2P_ORDER_DIRECTIONS][P2P_SHAPES_DIMS];
    struct hoop_tensor tensors[P2P_ORDER_DIRECTIONS];
    struct hoop_p2p_ops ops;
};

static void
shape_exchange_init(struct exchange_of_shapes *exchange_of_shapes)
{
    *exchange_of_shapes = (struct exchange_of_shapes){0};
    for (uint32_t i = 0; i < P2P_ORDER_DIRECTIONS; i++)
        exchange_of_shapes->tensors[i] = (struct hoop_tensor){
            .data = exchange_of_shapes->sizes[i],
            .dtype = HOOP_INT64,
            .shape = {.n_dims = 1, .dims = {P2P_SHAPES_DIMS}},
        };
}

static enum hoop_status
shape_exchange_fill(const struct hoop_p2p_exchange *wanted,
                    struct exchange_of_shapes *exchange_of_shapes)
{
    enum hoop_status status = HOOP_OK;

    if (wanted->send_prev) {
        status = p2p_shapes_pack(&wanted->send_prev->shape, "send_prev",
                                 exchange_of_shapes->sizes[HOOP_P2P_SEND_PREV]);
        exchange_of_shapes->ops.send_prev =
            &exchange_of_shapes->tensors[HOOP_P2P_SEND_PREV];
    }
    if (status == HOOP_OK && wanted->send_next) {
        status = p2p_shapes_pack(&wanted->send_next->shape, "send_next",
                                 exchange_of_shapes->sizes[HOOP_P2P_SEND_NEXT]);
        exchange_of_shapes->ops.send_next =
            &exchange_of_shapes->tensors[HOOP_P2P_SEND_NEXT];
    }
    if (wanted->recv_prev)
        exchange_of_shapes->ops.recv_prev =
            &exchange_of_shapes->tensors[HOOP_P2P_RECV_PREV];
    if (wanted->recv_next)
        exchange_of_shapes->ops.recv_next =
            &exchange_of_shapes->tensors[HOOP_P2P_RECV_NEXT];
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
shape_exchange_run(const struct hoop_p2p *p2p,
                   const struct exchange_of_shapes *exchange_of_shapes)
{
    struct p2p_posting posting = p2p_posting_default(p2p);
    struct hoop_p2p_requests requests;
    unsigned failed;
    enum hoop_status status =
        p2p_requests_check_one_stage(p2p, &exchange_of_shapes->ops);

    posting.order = P2P_ORDER_BATCHED;
    posting.tags = TAG_P2P_SHAPE;
    if (status == HOOP_OK)
        status =
            p2p_requests_start(&posting, &exchange_of_shapes->ops, &requests);
    if (status == HOOP_OK)
        status = p2p_requests_finish(&requests, &failed);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
shape_exchange_check_arguments(
    const struct hoop_p2p_exchange *exchange_of_shapes,
    const struct hoop_shape *out_prev,
    const struct hoop_shape *out_next)
{
    if (!exchange_of_shapes)
        return error_raise(HOOP_E_INVALID, "exchange is NULL");
    if (!out_prev || !out_next)
        return error_raise(HOOP_E_INVALID, "out_%s is NULL",
                           out_prev ? "next" : "prev");
    return HOOP_OK;
}

enum hoop_status
hoop_p2p_exchange_shapes(hoop_p2p_t *p2p,
                         const struct hoop_p2p_exchange *exchange_of_shapes,
                         struct hoop_shape *out_prev,
                         struct hoop_shape *out_next)
{
    struct exchange_of_shapes under_way;
    struct hoop_shape prev;
    struct hoop_shape next;
    bool is_member;
    enum hoop_status status = p2p_communicator_check_member(p2p, &is_member);

    if (status == HOOP_OK)
        status = shape_exchange_check_arguments(exchange_of_shapes, out_prev,
                                                out_next);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member)
        return HOOP_OK;
    shape_exchange_init(&under_way);
    status = shape_exchange_fill(exchange_of_shapes, &under_way);
    if (status == HOOP_OK)
        status = shape_exchange_run(p2p, &under_way);
    if (status == HOOP_OK)
        status = p2p_shapes_unpack(under_way.sizes[HOOP_P2P_RECV_PREV],
                                   hoop_p2p_prev(p2p), &prev);
    if (status == HOOP_OK)
        status = p2p_shapes_unpack(under_way.sizes[HOOP_P2P_RECV_NEXT],
                                   hoop_p2p_next(p2p), &next);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_prev = prev;
    *out_next = next;
    return HOOP_OK;
}
