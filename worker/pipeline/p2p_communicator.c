/*
 * pipeline/p2p_communicator.c - the settings of a P2PCommunicator
 *
 * Also the order in which a stage posts its transfers, and shapes as they are
 * sent.
 */

#include "pipeline/p2p_communicator.h"

#include <inttypes.h>
#include <stdlib.h>

#include "hoop/p2p_communicator.h"

#include "base/error.h"
#include "dtype/dtype.h"
#include "pipeline/p2p_exchange.h"
#include "tensor/layout.h"

/* Tells one shape from a list of shapes. */

static bool
variant_list_is_all_integers(const struct hoop_variant *list)
{
    for (size_t i = 0; i < list->n_items; i++) {
        if (list->items[i].kind != HOOP_VARIANT_INTEGER)
            return false;
    }
    return true;
}

bool
hoop_is_single_shape(const struct hoop_variant *variant)
{
    if (!variant)
        return false;
    switch (variant->kind) {
    case HOOP_VARIANT_SIZE:
        return true;
    case HOOP_VARIANT_LIST:
        return variant->n_items > 0 && variant_list_is_all_integers(variant);
    case HOOP_VARIANT_NONE:
    case HOOP_VARIANT_INTEGER:
    case HOOP_VARIANT_TEXT:
        break;
    }
    return false;
}

/*
 * A shape as three int64, Megatron's wire format.
 *
 * Exchanges shapes without tensors. Each shape is a message of three
 * HOOP_INT64 with tags that tensors do not use.
 */

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
struct shape_exchange {
    int64_t sizes[P2P_N_DIRECTIONS][P2P_SHAPES_DIMS];
    struct hoop_tensor tensors[P2P_N_DIRECTIONS];
    struct hoop_p2p_ops ops;
};

static void
shape_exchange_init(struct shape_exchange *shape_exchange)
{
    *shape_exchange = (struct shape_exchange){0};
    for (uint32_t i = 0; i < P2P_N_DIRECTIONS; i++)
        shape_exchange->tensors[i] = (struct hoop_tensor){
            .data = shape_exchange->sizes[i],
            .dtype = HOOP_INT64,
            .shape = {.n_dims = 1, .dims = {P2P_SHAPES_DIMS}},
        };
}

static enum hoop_status
shape_exchange_fill(const struct hoop_p2p_exchange *wanted,
                    struct shape_exchange *shape_exchange)
{
    enum hoop_status status = HOOP_OK;

    if (wanted->send_prev) {
        status = p2p_shapes_pack(&wanted->send_prev->shape, "send_prev",
                                 shape_exchange->sizes[HOOP_P2P_SEND_PREV]);
        shape_exchange->ops.send_prev =
            &shape_exchange->tensors[HOOP_P2P_SEND_PREV];
    }
    if (status == HOOP_OK && wanted->send_next) {
        status = p2p_shapes_pack(&wanted->send_next->shape, "send_next",
                                 shape_exchange->sizes[HOOP_P2P_SEND_NEXT]);
        shape_exchange->ops.send_next =
            &shape_exchange->tensors[HOOP_P2P_SEND_NEXT];
    }
    if (wanted->recv_prev)
        shape_exchange->ops.recv_prev =
            &shape_exchange->tensors[HOOP_P2P_RECV_PREV];
    if (wanted->recv_next)
        shape_exchange->ops.recv_next =
            &shape_exchange->tensors[HOOP_P2P_RECV_NEXT];
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
shape_exchange_run(const struct hoop_p2p *p2p,
                   const struct shape_exchange *shape_exchange)
{
    struct p2p_posting posting = p2p_posting_default(p2p);
    struct hoop_p2p_requests requests;
    unsigned failed;
    enum hoop_status status =
        p2p_ops_check_single_stage(p2p, &shape_exchange->ops);

    posting.order = P2P_ORDER_BATCHED;
    posting.tags = TAG_P2P_SHAPE;
    if (status == HOOP_OK)
        status = p2p_requests_start(&posting, &shape_exchange->ops, &requests);
    if (status == HOOP_OK)
        status = p2p_requests_finish(&requests, &failed);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
shape_exchange_check_arguments(const struct hoop_p2p_exchange *shape_exchange,
                               const struct hoop_shape *out_prev,
                               const struct hoop_shape *out_next)
{
    if (!shape_exchange)
        return error_raise(HOOP_E_INVALID, "exchange is NULL");
    if (!out_prev || !out_next)
        return error_raise(HOOP_E_INVALID, "out_%s is NULL",
                           out_prev ? "next" : "prev");
    return HOOP_OK;
}

enum hoop_status
hoop_p2p_exchange_shapes(hoop_p2p_t *p2p,
                         const struct hoop_p2p_exchange *shape_exchange,
                         struct hoop_shape *out_prev,
                         struct hoop_shape *out_next)
{
    struct shape_exchange under_way;
    struct hoop_shape prev;
    struct hoop_shape next;
    bool is_member = false;
    enum hoop_status status = p2p_communicator_check_member(p2p, &is_member);

    if (status == HOOP_OK)
        status =
            shape_exchange_check_arguments(shape_exchange, out_prev, out_next);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member)
        return HOOP_OK;
    shape_exchange_init(&under_way);
    status = shape_exchange_fill(shape_exchange, &under_way);
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

/* The order in which a stage posts its four transfers. */

const enum hoop_p2p_direction *
p2p_order_directions(enum p2p_order order, uint32_t rank)
{
    static const enum hoop_p2p_direction batched[P2P_N_DIRECTIONS] = {
        HOOP_P2P_SEND_PREV,
        HOOP_P2P_RECV_PREV,
        HOOP_P2P_SEND_NEXT,
        HOOP_P2P_RECV_NEXT,
    };
    static const enum hoop_p2p_direction even[P2P_N_DIRECTIONS] = {
        HOOP_P2P_SEND_NEXT,
        HOOP_P2P_RECV_PREV,
        HOOP_P2P_SEND_PREV,
        HOOP_P2P_RECV_NEXT,
    };
    static const enum hoop_p2p_direction odd[P2P_N_DIRECTIONS] = {
        HOOP_P2P_RECV_PREV,
        HOOP_P2P_SEND_NEXT,
        HOOP_P2P_RECV_NEXT,
        HOOP_P2P_SEND_PREV,
    };

    switch (order) {
    case P2P_ORDER_BATCHED:
        return batched;
    case P2P_ORDER_UNBATCHED:
        break;
    }
    return rank % 2 == 0 ? even : odd;
}

enum p2p_direction_pass
p2p_direction_pass(enum hoop_p2p_direction direction)
{
    return direction == HOOP_P2P_SEND_NEXT || direction == HOOP_P2P_RECV_PREV
               ? P2P_PASS_FORWARD
               : P2P_PASS_BACKWARD;
}

enum hoop_message_kind
p2p_direction_kind(enum hoop_p2p_direction direction)
{
    return direction == HOOP_P2P_SEND_NEXT || direction == HOOP_P2P_SEND_PREV
               ? HOOP_SEND
               : HOOP_RECV;
}

uint32_t
p2p_direction_peer(enum hoop_p2p_direction direction,
                   uint32_t rank,
                   uint32_t size)
{
    return direction == HOOP_P2P_SEND_NEXT || direction == HOOP_P2P_RECV_NEXT
               ? (rank + 1) % size
               : (rank + size - 1) % size;
}

enum hoop_status
p2p_communicator_check_member(const struct hoop_p2p *p2p, bool *out_is_member)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!p2p)
        return error_raise(HOOP_E_INVALID, "p2p is NULL");
    *out_is_member = p2p->size > 0;
    return HOOP_OK;
}

static enum hoop_status
p2p_options_check(const struct hoop_p2p_options *options)
{
    if (!options)
        return error_raise(HOOP_E_INVALID, "options is NULL");
    if (!options->stages)
        return error_raise(HOOP_E_INVALID, "options->stages is NULL");
    if (options->dtype && dtype_size(*options->dtype) == 0)
        return error_raise(HOOP_E_INVALID, "dtype %d is not known to hoop",
                           (int)*options->dtype);
    return HOOP_OK;
}

enum hoop_status
hoop_p2p_create(const struct hoop_p2p_options *options, hoop_p2p_t **out_p2p)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_p2p)
        return error_raise(HOOP_E_INVALID, "out_p2p is NULL");
    const enum hoop_status status = p2p_options_check(options);
    if (status != HOOP_OK)
        return error_pass(status);
    struct hoop_p2p *p2p = malloc(sizeof(*p2p));
    if (!p2p)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    *p2p = (struct hoop_p2p){
        .stages = options->stages,
        .rank = hoop_comm_rank(options->stages),
        .size = hoop_comm_size(options->stages),
        .has_dtype = options->dtype != NULL,
        .dtype = options->dtype ? *options->dtype : HOOP_FLOAT32,
        .has_variable_shapes = options->has_variable_shapes,
        .order =
            options->is_unbatched ? P2P_ORDER_UNBATCHED : P2P_ORDER_BATCHED,
    };
    *out_p2p = p2p;
    return HOOP_OK;
}

void
hoop_p2p_free(hoop_p2p_t *p2p)
{
    free(p2p);
}

static uint32_t
p2p_neighbour_rank(const struct hoop_p2p *p2p,
                   enum hoop_p2p_direction direction)
{
    if (!p2p || p2p->size == 0)
        return HOOP_NO_RANK;
    return p2p_direction_peer(direction, p2p->rank, p2p->size);
}

uint32_t
hoop_p2p_next(const hoop_p2p_t *p2p)
{
    return p2p_neighbour_rank(p2p, HOOP_P2P_SEND_NEXT);
}

uint32_t
hoop_p2p_prev(const hoop_p2p_t *p2p)
{
    return p2p_neighbour_rank(p2p, HOOP_P2P_SEND_PREV);
}
