/*
 * pipeline/p2p_communicator.c - the settings of a P2PCommunicator
 *
 * Also shapes as they are sent.
 */

#include "pipeline/p2p_communicator.h"

#include <inttypes.h>
#include <stdlib.h>

#include "hoop/p2p_communicator.h"

#include "base/error.h"
#include "dtype/dtype.h"
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

/* The data of messages[direction] are sizes[direction]. */
struct shape_exchange {
    int64_t sizes[NEIGHBOUR_N_DIRECTIONS][P2P_SHAPES_DIMS];
    struct hoop_tensor messages[NEIGHBOUR_N_DIRECTIONS];
    struct p2p_tensors tensors;
};

static enum hoop_status
shape_exchange_fill(const struct hoop_p2p_exchange *wanted,
                    struct shape_exchange *shape_exchange)
{
    const bool is_wanted[NEIGHBOUR_N_DIRECTIONS] = {
        [HOOP_P2P_SEND_PREV] = wanted->send_prev,
        [HOOP_P2P_RECV_PREV] = wanted->recv_prev,
        [HOOP_P2P_SEND_NEXT] = wanted->send_next,
        [HOOP_P2P_RECV_NEXT] = wanted->recv_next,
    };
    enum hoop_status status = HOOP_OK;

    *shape_exchange = (struct shape_exchange){0};
    for (uint32_t i = 0; i < NEIGHBOUR_N_DIRECTIONS; i++) {
        shape_exchange->messages[i] = (struct hoop_tensor){
            .data = shape_exchange->sizes[i],
            .dtype = HOOP_INT64,
            .shape = {.n_dims = 1, .dims = {P2P_SHAPES_DIMS}},
        };
        if (is_wanted[i])
            shape_exchange->tensors.at[i].tensor = &shape_exchange->messages[i];
    }
    if (wanted->send_prev)
        status = p2p_shapes_pack(&wanted->send_prev->shape, "send_prev",
                                 shape_exchange->sizes[HOOP_P2P_SEND_PREV]);
    if (status == HOOP_OK && wanted->send_next)
        status = p2p_shapes_pack(&wanted->send_next->shape, "send_next",
                                 shape_exchange->sizes[HOOP_P2P_SEND_NEXT]);
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
    unsigned failed;
    enum hoop_status status = p2p_communicator_check_member(p2p, &is_member);

    if (status == HOOP_OK)
        status =
            shape_exchange_check_arguments(shape_exchange, out_prev, out_next);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member)
        return HOOP_OK;
    struct p2p_posting posting = p2p_posting_default(p2p);
    posting.order = NEIGHBOUR_ORDER_BATCHED;
    posting.tags = TAG_P2P_SHAPE;
    status = shape_exchange_fill(shape_exchange, &under_way);
    if (status == HOOP_OK)
        status = p2p_exchange_run(p2p, &posting, &under_way.tensors, &failed);
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

/* The communicator. */

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
        .neighbours = neighbours_in_ring(options->stages),
        .rank = hoop_comm_rank(options->stages),
        .size = hoop_comm_size(options->stages),
        .has_dtype = options->dtype != NULL,
        .dtype = options->dtype ? *options->dtype : HOOP_FLOAT32,
        .has_variable_shapes = options->has_variable_shapes,
        .order = options->is_unbatched ? NEIGHBOUR_ORDER_UNBATCHED
                                       : NEIGHBOUR_ORDER_BATCHED,
    };
    *out_p2p = p2p;
    return HOOP_OK;
}

void
hoop_p2p_free(hoop_p2p_t *p2p)
{
    free(p2p);
}

uint32_t
hoop_p2p_next(const hoop_p2p_t *p2p)
{
    return p2p ? p2p->neighbours.next : HOOP_NO_RANK;
}

uint32_t
hoop_p2p_prev(const hoop_p2p_t *p2p)
{
    return p2p ? p2p->neighbours.prev : HOOP_NO_RANK;
}
