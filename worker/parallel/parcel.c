/*
 * parallel/parcel.c - one tensor of a transfer, on its way
 *
 * No test of its own: pipe_test.c has wrong ones, and
 * tests/integration/pipe_vectors_test.c those that arrive.
 */

#include "parallel/parcel.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "parallel/share.h"
#include "tensor/operand.h"

struct way {
    const char *name;
    enum hoop_message_kind kind;
    enum pipe_kind whole;
    enum pipe_kind share;
    bool is_next; /* the other side */
};

static const struct way ways[] = {
    [TRANSFER_SEND_PREV] = {"input_grad", HOOP_SEND, PIPE_GRADIENT,
                            PIPE_GRADIENT_SHARE, false},
    [TRANSFER_RECV_PREV] = {"input", HOOP_RECV, PIPE_ACTIVATION,
                            PIPE_ACTIVATION_SHARE, false},
    [TRANSFER_RECV_NEXT] = {"output_grad", HOOP_RECV, PIPE_GRADIENT,
                            PIPE_GRADIENT_SHARE, true},
    [TRANSFER_SEND_NEXT] = {"output", HOOP_SEND, PIPE_ACTIVATION,
                            PIPE_ACTIVATION_SHARE, true},
};

const char *
transfer_name(enum transfer_way way)
{
    return ways[way].name;
}

bool
parcel_is_received(const struct parcel *parcel)
{
    return ways[parcel->way].kind == HOOP_RECV;
}

static size_t
list_size(const struct parcel *parcel)
{
    return parcel->transfer->lists[parcel->way]->n_tensors;
}

static uint32_t
peer_of(const struct parcel *parcel)
{
    const struct transfer *transfer = parcel->transfer;

    return ways[parcel->way].is_next ? transfer->next : transfer->prev;
}

static bool
is_any_shape(const struct parcel *parcel)
{
    return parcel->tensor->shape.n_dims == HOOP_ANY_SHAPE;
}

static enum hoop_status
any_shape_prepare(struct parcel *parcel, const char *name)
{
    if (parcel->transfer->sharing)
        return error_raise(HOOP_E_INVALID,
                           "%s may not be of any shape, since its shares are "
                           "to be gathered: say the shape",
                           name);
    if (parcel->tensor->data)
        return error_raise(HOOP_E_INVALID,
                           "%s is to be of any shape, for which its data must "
                           "be NULL",
                           name);
    parcel->result = (struct result){parcel->tensor, *parcel->tensor};
    return HOOP_OK;
}

static enum hoop_status
tensor_prepare(struct parcel *parcel, const char *name)
{
    struct hoop_tensor *tensor = parcel->tensor;

    if (!parcel_is_received(parcel))
        return operand_check(tensor, name);
    if (is_any_shape(parcel))
        return any_shape_prepare(parcel, name);
    return result_prepare(tensor, name, tensor->dtype, &tensor->shape,
                          &parcel->result);
}

enum hoop_status
parcel_prepare(struct parcel *parcel)
{
    hoop_comm_t *sharing = parcel->transfer->sharing;
    const uint32_t n_ranks = hoop_comm_size(sharing);
    char name[LIMIT_NAME];

    parcel->tensor =
        &parcel->transfer->lists[parcel->way]->tensors[parcel->index];
    snprintf(name, sizeof(name), "%s[%zu]", transfer_name(parcel->way),
             parcel->index);
    const enum hoop_status status = tensor_prepare(parcel, name);
    if (status != HOOP_OK)
        return error_pass(status);
    parcel->is_cut =
        sharing && share_is_cut(operand_count(parcel->tensor), n_ranks);
    if (parcel->is_cut)
        parcel->share =
            share_of(parcel->tensor, hoop_comm_rank(sharing), n_ranks);
    return HOOP_OK;
}

void
parcel_withdraw(struct parcel *parcel)
{
    result_withdraw(&parcel->result);
}

uint64_t
parcel_share_tag(const struct parcel *parcel)
{
    return pipe_tag(ways[parcel->way].share, parcel->transfer->lane);
}

uint32_t
parcel_part(const struct parcel *parcel)
{
    return (uint32_t)(list_size(parcel) << 16 | parcel->index);
}

struct tensor_message
parcel_message(struct parcel *parcel)
{
    const struct way *way = &ways[parcel->way];

    return (struct tensor_message){
        .kind = way->kind,
        .tensor = parcel->is_cut ? &parcel->share : parcel->tensor,
        .peer = peer_of(parcel),
        .tag = pipe_tag(way->whole, parcel->transfer->lane),
        .part = parcel_part(parcel),
    };
}

enum hoop_status
parcel_raise(const struct parcel *parcel)
{
    const struct way *way = &ways[parcel->way];
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s", error_text());
    return error_raise(parcel->status,
                       "%s[%zu] of %zu %s stage %u, lane %u: %s", way->name,
                       parcel->index, list_size(parcel),
                       way->kind == HOOP_SEND ? "to" : "from", peer_of(parcel),
                       parcel->transfer->lane, text);
}
