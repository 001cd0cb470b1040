/* parallel/parcel.c - one tensor of a transfer, on its way */

#include "parallel/parcel.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "parallel/share.h"
#include "tensor/operand.h"
#include "tensor/result.h"

struct way {
    const char *name;
    enum hoop_message_kind kind;
    enum pipe_kind whole;
    enum pipe_kind share;
    enum pipe_kind closing;
    bool is_next; /* the other side */
};

static const struct way ways[] = {
    [TRANSFER_SEND_PREV] = {"input_grad", HOOP_SEND, PIPE_GRADIENT,
                            PIPE_GRADIENT_SHARE, PIPE_GRADIENT_CLOSING, false},
    [TRANSFER_RECV_PREV] = {"input", HOOP_RECV, PIPE_ACTIVATION,
                            PIPE_ACTIVATION_SHARE, PIPE_ACTIVATION_CLOSING,
                            false},
    [TRANSFER_RECV_NEXT] = {"output_grad", HOOP_RECV, PIPE_GRADIENT,
                            PIPE_GRADIENT_SHARE, PIPE_GRADIENT_CLOSING, true},
    [TRANSFER_SEND_NEXT] = {"output", HOOP_SEND, PIPE_ACTIVATION,
                            PIPE_ACTIVATION_SHARE, PIPE_ACTIVATION_CLOSING,
                            true},
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

static uint32_t
peer_of(const struct parcel *parcel)
{
    const struct transfer *transfer = parcel->transfer;

    return ways[parcel->way].is_next ? transfer->next : transfer->prev;
}

bool
parcel_has_closing(const struct parcel *parcel)
{
    const struct transfer *transfer = parcel->transfer;

    return transfer->sharing &&
           peer_of(parcel) != hoop_comm_rank(transfer->stages);
}

static size_t
list_size(const struct parcel *parcel)
{
    return parcel->transfer->lists[parcel->way]->n_tensors;
}

/* Expected by the receiver, or sent. */
static const struct hoop_tensor *
tensor_given(const struct parcel *parcel)
{
    return &parcel->transfer->lists[parcel->way]->tensors[parcel->index];
}

/* Where what comes is told; NULL: nowhere. */
static struct hoop_tensor *
tensor_told(const struct parcel *parcel)
{
    struct hoop_tensor *received =
        parcel->transfer->lists[parcel->way]->received;

    return received ? &received[parcel->index] : NULL;
}

static enum hoop_status
receive_prepare(struct parcel *parcel, const char *name)
{
    const struct hoop_tensor *expected = tensor_given(parcel);

    parcel->is_any_shape = expected->shape.n_dims == HOOP_ANY_SHAPE;
    if (parcel->is_any_shape && parcel->transfer->sharing)
        return error_raise(HOOP_E_INVALID,
                           "%s may not be of any shape, since its shares are "
                           "to be gathered: say the shape",
                           name);
    const enum hoop_status status =
        tensor_message_check_received(expected, tensor_told(parcel), name);
    if (status != HOOP_OK)
        return error_pass(status);
    parcel->is_owned = !expected->data;
    if (parcel->is_any_shape)
        return HOOP_OK;
    if (parcel->is_owned)
        return result_allocate(expected->dtype, &expected->shape,
                               &parcel->tensor);
    parcel->tensor = *expected;
    return operand_check(expected, name);
}

static enum hoop_status
tensor_prepare(struct parcel *parcel, const char *name)
{
    if (parcel_is_received(parcel))
        return receive_prepare(parcel, name);
    parcel->tensor = *tensor_given(parcel);
    return operand_check(&parcel->tensor, name);
}

/* No elements; its sizes are the group and this rank's place in it, which the
 * other side must have alike. */
static struct hoop_tensor
closing_of(const hoop_comm_t *sharing)
{
    return (struct hoop_tensor){
        .dtype = HOOP_UINT8,
        .shape = {.n_dims = 3,
                  .dims = {0, hoop_comm_size(sharing),
                           hoop_comm_rank(sharing)}},
    };
}

enum hoop_status
parcel_prepare(struct parcel *parcel)
{
    hoop_comm_t *sharing = parcel->transfer->sharing;
    const uint32_t n_ranks = hoop_comm_size(sharing);
    char name[LIMIT_NAME];

    if (parcel->is_closing) {
        parcel->tensor = closing_of(sharing);
        return HOOP_OK;
    }
    parcel->is_empty = list_size(parcel) == 0;
    if (parcel->is_empty) {
        parcel->tensor = share_none(HOOP_UINT8);
        return HOOP_OK;
    }
    snprintf(name, sizeof(name), "%s[%zu]", transfer_name(parcel->way),
             parcel->index);
    const enum hoop_status status = tensor_prepare(parcel, name);
    if (status != HOOP_OK)
        return error_pass(status);
    parcel->is_cut =
        sharing && share_is_cut(operand_count(&parcel->tensor), n_ranks);
    if (parcel->is_cut)
        parcel->share =
            share_of(&parcel->tensor, hoop_comm_rank(sharing), n_ranks);
    return HOOP_OK;
}

void
parcel_hand_out(struct parcel *parcel)
{
    struct hoop_tensor *told;

    if (parcel->is_empty || parcel->is_closing || !parcel_is_received(parcel))
        return;
    told = tensor_told(parcel);
    parcel->tensor.strides = NULL;
    if (told)
        *told = parcel->tensor;
}

void
parcel_withdraw(struct parcel *parcel)
{
    if (parcel->is_owned)
        hoop_tensor_free(&parcel->tensor);
}

uint64_t
parcel_share_tag(const struct parcel *parcel)
{
    return pipe_tag(ways[parcel->way].share, parcel->transfer->lane);
}

uint32_t
parcel_part(const struct parcel *parcel)
{
    const uint32_t part = parcel->is_empty
                              ? FRAME_PART_EMPTY
                              : frame_part(list_size(parcel), parcel->index);

    return part | (parcel->transfer->sharing ? FRAME_PART_IN_SHARES : 0);
}

struct tensor_message
parcel_message(struct parcel *parcel)
{
    const struct way *way = &ways[parcel->way];
    struct hoop_tensor *tensor =
        parcel->is_cut ? &parcel->share : &parcel->tensor;

    return (struct tensor_message){
        .kind = way->kind,
        .tensor = parcel->is_any_shape ? tensor_given(parcel) : tensor,
        .received = parcel->is_any_shape ? tensor : NULL,
        .peer = peer_of(parcel),
        .tag = pipe_tag(parcel->is_closing ? way->closing : way->whole,
                        parcel->transfer->lane),
        .part = parcel->is_closing ? 0 : parcel_part(parcel),
        .came_part = &parcel->came_part,
    };
}

enum hoop_status
parcel_raise(const struct parcel *parcel, enum hoop_status status)
{
    const struct way *way = &ways[parcel->way];
    char text[LIMIT_ERROR_TEXT];
    char name[LIMIT_NAME];

    snprintf(text, sizeof(text), "%s", error_text());
    if (parcel->is_closing)
        snprintf(name, sizeof(name), "%s, in shares,", way->name);
    else if (parcel->is_empty)
        snprintf(name, sizeof(name), "%s, no tensors,", way->name);
    else
        snprintf(name, sizeof(name), "%s[%zu] of %zu", way->name, parcel->index,
                 list_size(parcel));
    return error_raise(status, "%s %s stage %u, lane %u: %s", name,
                       way->kind == HOOP_SEND ? "to" : "from", peer_of(parcel),
                       parcel->transfer->lane, text);
}
