/* pipeline/tensor_transfer.c - one tensor of a transfer in progress */

#include "pipeline/tensor_transfer.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "pipeline/shard.h"
#include "tensor/operand.h"
#include "tensor/result.h"

struct way {
    const char *name;
    enum hoop_message_kind kind;
    enum pipe_message_kind whole;
    enum pipe_message_kind shard;
    enum pipe_message_kind closing;
    bool is_next; /* to or from the next stage */
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
transfer_direction_name(enum transfer_direction way)
{
    return ways[way].name;
}

bool
tensor_transfer_is_received(const struct tensor_transfer *tensor_transfer)
{
    return ways[tensor_transfer->way].kind == HOOP_RECV;
}

static uint32_t
transfer_peer_rank(const struct tensor_transfer *tensor_transfer)
{
    const struct transfer *transfer = tensor_transfer->transfer;

    return ways[tensor_transfer->way].is_next ? transfer->next : transfer->prev;
}

bool
tensor_transfer_has_closing(const struct tensor_transfer *tensor_transfer)
{
    const struct transfer *transfer = tensor_transfer->transfer;

    return transfer->sharing && transfer_peer_rank(tensor_transfer) !=
                                    hoop_comm_rank(transfer->stages);
}

static size_t
transfer_list_size(const struct tensor_transfer *tensor_transfer)
{
    return tensor_transfer->transfer->lists[tensor_transfer->way]->n_tensors;
}

/* Returns the tensor that is to be sent, or that the receiver expects. */
static const struct hoop_tensor *
transfer_given_tensor(const struct tensor_transfer *tensor_transfer)
{
    return &tensor_transfer->transfer->lists[tensor_transfer->way]
                ->tensors[tensor_transfer->index];
}

/* Returns where a received tensor is handed out, or NULL. */
static struct hoop_tensor *
transfer_received_slot(const struct tensor_transfer *tensor_transfer)
{
    struct hoop_tensor *received =
        tensor_transfer->transfer->lists[tensor_transfer->way]->received;

    return received ? &received[tensor_transfer->index] : NULL;
}

static enum hoop_status
transfer_prepare_receive(struct tensor_transfer *tensor_transfer,
                         const char *name)
{
    const struct hoop_tensor *expected = transfer_given_tensor(tensor_transfer);

    tensor_transfer->is_any_shape = expected->shape.n_dims == HOOP_ANY_SHAPE;
    if (tensor_transfer->is_any_shape && tensor_transfer->transfer->sharing)
        return error_raise(HOOP_E_INVALID,
                           "%s may not be of any shape, since its shares are "
                           "to be gathered: say the shape",
                           name);
    const enum hoop_status status = tensor_message_check_output(
        expected, transfer_received_slot(tensor_transfer), name);
    if (status != HOOP_OK)
        return error_pass(status);
    tensor_transfer->is_owned = !expected->data;
    if (tensor_transfer->is_any_shape)
        return HOOP_OK;
    if (tensor_transfer->is_owned)
        return result_allocate(expected->dtype, &expected->shape,
                               &tensor_transfer->tensor);
    tensor_transfer->tensor = *expected;
    return operand_check(expected, name);
}

static enum hoop_status
transfer_prepare_tensor(struct tensor_transfer *tensor_transfer,
                        const char *name)
{
    if (tensor_transfer_is_received(tensor_transfer))
        return transfer_prepare_receive(tensor_transfer, name);
    tensor_transfer->tensor = *transfer_given_tensor(tensor_transfer);
    return operand_check(&tensor_transfer->tensor, name);
}

/* Returns a closing. It has no elements; its sizes are the size of the group
 * and this rank in it, in which the two sides must agree. */
static struct hoop_tensor
closing_tensor(const hoop_comm_t *sharing)
{
    return (struct hoop_tensor){
        .dtype = HOOP_UINT8,
        .shape = {.n_dims = 3,
                  .dims = {0, hoop_comm_size(sharing),
                           hoop_comm_rank(sharing)}},
    };
}

enum hoop_status
tensor_transfer_prepare(struct tensor_transfer *tensor_transfer)
{
    hoop_comm_t *sharing = tensor_transfer->transfer->sharing;
    const uint32_t n_ranks = hoop_comm_size(sharing);
    char name[LIMIT_NAME];

    if (tensor_transfer->is_closing) {
        tensor_transfer->tensor = closing_tensor(sharing);
        return HOOP_OK;
    }
    tensor_transfer->is_empty = transfer_list_size(tensor_transfer) == 0;
    if (tensor_transfer->is_empty) {
        tensor_transfer->tensor = shard_empty(HOOP_UINT8);
        return HOOP_OK;
    }
    snprintf(name, sizeof(name), "%s[%zu]",
             transfer_direction_name(tensor_transfer->way),
             tensor_transfer->index);
    const enum hoop_status status =
        transfer_prepare_tensor(tensor_transfer, name);
    if (status != HOOP_OK)
        return error_pass(status);
    tensor_transfer->is_cut =
        sharing &&
        shard_can_split(operand_count(&tensor_transfer->tensor), n_ranks);
    if (tensor_transfer->is_cut)
        tensor_transfer->shard = shard_of_rank(
            &tensor_transfer->tensor, hoop_comm_rank(sharing), n_ranks);
    return HOOP_OK;
}

void
tensor_transfer_hand_out(struct tensor_transfer *tensor_transfer)
{
    struct hoop_tensor *told;

    if (tensor_transfer->is_empty || tensor_transfer->is_closing ||
        !tensor_transfer_is_received(tensor_transfer))
        return;
    told = transfer_received_slot(tensor_transfer);
    tensor_transfer->tensor.strides = NULL;
    if (told)
        *told = tensor_transfer->tensor;
}

void
tensor_transfer_free_owned(struct tensor_transfer *tensor_transfer)
{
    if (tensor_transfer->is_owned)
        hoop_tensor_free(&tensor_transfer->tensor);
}

uint64_t
tensor_transfer_share_tag(const struct tensor_transfer *tensor_transfer)
{
    return pipe_tag(ways[tensor_transfer->way].shard,
                    tensor_transfer->transfer->lane);
}

uint32_t
tensor_transfer_frame_part(const struct tensor_transfer *tensor_transfer)
{
    const uint32_t part = tensor_transfer->is_empty
                              ? FRAME_PART_EMPTY
                              : frame_part(transfer_list_size(tensor_transfer),
                                           tensor_transfer->index);

    return part |
           (tensor_transfer->transfer->sharing ? FRAME_PART_IN_SHARES : 0);
}

struct tensor_message
tensor_transfer_message(struct tensor_transfer *tensor_transfer)
{
    const struct way *way = &ways[tensor_transfer->way];
    struct hoop_tensor *tensor = tensor_transfer->is_cut
                                     ? &tensor_transfer->shard
                                     : &tensor_transfer->tensor;

    return (struct tensor_message){
        .kind = way->kind,
        .tensor = tensor_transfer->is_any_shape
                      ? transfer_given_tensor(tensor_transfer)
                      : tensor,
        .received = tensor_transfer->is_any_shape ? tensor : NULL,
        .peer = transfer_peer_rank(tensor_transfer),
        .tag = pipe_tag(tensor_transfer->is_closing ? way->closing : way->whole,
                        tensor_transfer->transfer->lane),
        .part = tensor_transfer->is_closing
                    ? 0
                    : tensor_transfer_frame_part(tensor_transfer),
        .received_part = &tensor_transfer->received_part,
    };
}

enum hoop_status
tensor_transfer_raise_error(const struct tensor_transfer *tensor_transfer,
                            enum hoop_status status)
{
    const struct way *way = &ways[tensor_transfer->way];
    char text[LIMIT_ERROR_TEXT];
    char name[LIMIT_NAME];

    snprintf(text, sizeof(text), "%s", error_text());
    if (tensor_transfer->is_closing)
        snprintf(name, sizeof(name), "%s, in shares,", way->name);
    else if (tensor_transfer->is_empty)
        snprintf(name, sizeof(name), "%s, no tensors,", way->name);
    else
        snprintf(name, sizeof(name), "%s[%zu] of %zu", way->name,
                 tensor_transfer->index, transfer_list_size(tensor_transfer));
    return error_raise(status, "%s %s stage %u, lane %u: %s", name,
                       way->kind == HOOP_SEND ? "to" : "from",
                       transfer_peer_rank(tensor_transfer),
                       tensor_transfer->transfer->lane, text);
}
