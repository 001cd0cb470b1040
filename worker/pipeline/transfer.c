/*
 * pipeline/transfer.c - one call of a pipeline
 *
 * All tensors are prepared, started together and waited for one by one. Then
 * received shares are gathered, and the senders are told the result: they wait
 * for the closings of their lists. If anything fails, nothing is handed out.
 */

#include "pipeline/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "pipeline/shard_gather.h"
#include "tensor/operand.h"
#include "tensor/result.h"

/*
 * The order in which lists are started and waited for. Before a stage waits for
 * what it sends to the next one, it has waited for all that it receives and has
 * cancelled what does not fit, so that the sends of its neighbours end.
 */
static const enum hoop_p2p_direction transfer_order[NEIGHBOUR_N_DIRECTIONS] = {
    HOOP_P2P_SEND_PREV,
    HOOP_P2P_RECV_PREV,
    HOOP_P2P_RECV_NEXT,
    HOOP_P2P_SEND_NEXT,
};

/* One tensor of a transfer in progress. */

static const char *
transfer_direction_name(enum hoop_p2p_direction way)
{
    return neighbour_directions[way].list;
}

static uint32_t
transfer_peer_rank(const struct transfer *transfer, enum hoop_p2p_direction way)
{
    return neighbour_directions[way].is_next ? transfer->neighbours.next
                                             : transfer->neighbours.prev;
}

/* Returns whether the list has a closing. A list to the stage itself has
 * none. */
static bool
transfer_has_closing(const struct transfer *transfer,
                     enum hoop_p2p_direction way)
{
    return transfer->sharing && transfer_peer_rank(transfer, way) !=
                                    hoop_comm_rank(transfer->neighbours.comm);
}

/* Returns whether it is received only after the rest of the transfer. */
static bool
tensor_transfer_is_recv_closing(const struct tensor_transfer *tensor_transfer)
{
    return tensor_transfer->is_closing &&
           tensor_transfer_is_received(tensor_transfer);
}

static size_t
transfer_list_size(const struct tensor_transfer *tensor_transfer)
{
    return tensor_transfer->transfer->lists[tensor_transfer->way]->n_tensors;
}

/* Returns the tensor that is to be sent, or that the receiver expects. */
static const struct hoop_tensor *
transfer_caller_tensor(const struct tensor_transfer *tensor_transfer)
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
    const struct hoop_tensor *expected =
        transfer_caller_tensor(tensor_transfer);

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
    tensor_transfer->tensor = *transfer_caller_tensor(tensor_transfer);
    return operand_check(&tensor_transfer->tensor, name);
}

/* Returns a closing. It has no elements; its sizes are the size of the group
 * and this rank in it, in which the two sides must agree. */
static struct hoop_tensor
closing_message_tensor(const hoop_comm_t *sharing)
{
    return (struct hoop_tensor){
        .dtype = HOOP_UINT8,
        .shape = {.n_dims = 3,
                  .dims = {0, hoop_comm_size(sharing),
                           hoop_comm_rank(sharing)}},
    };
}

/* Checks the tensor and allocates memory for one that is received. transfer,
 * way and index have been set. After a failure there is nothing to withdraw.
 * Handle: HOOP_E_INVALID and HOOP_E_EXHAUSTED. */
static enum hoop_status
tensor_transfer_prepare(struct tensor_transfer *tensor_transfer)
{
    hoop_comm_t *sharing = tensor_transfer->transfer->sharing;
    const uint32_t n_ranks = hoop_comm_size(sharing);
    char name[LIMIT_NAME];

    if (tensor_transfer->is_closing) {
        tensor_transfer->tensor = closing_message_tensor(sharing);
        return HOOP_OK;
    }
    tensor_transfer->is_empty = transfer_list_size(tensor_transfer) == 0;
    if (tensor_transfer->is_empty) {
        tensor_transfer->tensor = shard_make_empty(HOOP_UINT8);
        return HOOP_OK;
    }
    snprintf(name, sizeof(name), "%s[%zu]",
             transfer_direction_name(tensor_transfer->way),
             tensor_transfer->index);
    const enum hoop_status status =
        transfer_prepare_tensor(tensor_transfer, name);
    if (status != HOOP_OK)
        return error_pass(status);
    tensor_transfer->is_cut_into_shares =
        sharing &&
        shard_can_split(operand_count(&tensor_transfer->tensor), n_ranks);
    if (tensor_transfer->is_cut_into_shares)
        tensor_transfer->shard = shard_of_rank(
            &tensor_transfer->tensor, hoop_comm_rank(sharing), n_ranks);
    return HOOP_OK;
}

/* Hand a received tensor out to the caller, or free memory that hoop allocated
 * for it. They do nothing to a sent tensor. */
static void
tensor_transfer_output_received(struct tensor_transfer *tensor_transfer)
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

static void
tensor_transfer_free_owned(struct tensor_transfer *tensor_transfer)
{
    if (tensor_transfer->is_owned)
        hoop_tensor_free(&tensor_transfer->tensor);
}

static uint64_t
tensor_transfer_tag(const struct tensor_transfer *tensor_transfer,
                    enum pipe_message_kind kind)
{
    const uint64_t number =
        2 * (uint64_t)kind + neighbour_directions[tensor_transfer->way].pass;

    return tag_of_library_part(TAG_PIPELINE_TENSOR,
                               number << PIPE_LANE_BITS |
                                   tensor_transfer->transfer->lane);
}

uint64_t
tensor_transfer_share_tag(const struct tensor_transfer *tensor_transfer)
{
    return tensor_transfer_tag(tensor_transfer, PIPE_SHARE);
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

/* Returns its message between the stages, which borrows tensor_transfer. */
static struct tensor_message
tensor_transfer_message(struct tensor_transfer *tensor_transfer)
{
    const bool is_closing = tensor_transfer->is_closing;
    struct hoop_tensor *tensor = tensor_transfer->is_cut_into_shares
                                     ? &tensor_transfer->shard
                                     : &tensor_transfer->tensor;
    struct tensor_message message = neighbour_message(
        &tensor_transfer->transfer->neighbours, tensor_transfer->way, tensor);

    if (tensor_transfer->is_any_shape) {
        message.tensor = transfer_caller_tensor(tensor_transfer);
        message.received = tensor;
    }
    message.tag = tensor_transfer_tag(tensor_transfer,
                                      is_closing ? PIPE_CLOSING : PIPE_TENSOR);
    message.part = is_closing ? 0 : tensor_transfer_frame_part(tensor_transfer);
    message.received_part = &tensor_transfer->received_part;
    return message;
}

/* Raises the last error again, with a description of the tensor before it.
 * Returns status. */
static enum hoop_status
tensor_transfer_raise_error(const struct tensor_transfer *tensor_transfer,
                            enum hoop_status status)
{
    const struct transfer *transfer = tensor_transfer->transfer;
    const char *list = transfer_direction_name(tensor_transfer->way);
    char text[LIMIT_ERROR_TEXT];
    char name[LIMIT_NAME];

    snprintf(text, sizeof(text), "%s", error_text());
    if (tensor_transfer->is_closing)
        snprintf(name, sizeof(name), "%s, in shares,", list);
    else if (tensor_transfer->is_empty)
        snprintf(name, sizeof(name), "%s, no tensors,", list);
    else
        snprintf(name, sizeof(name), "%s[%zu] of %zu", list,
                 tensor_transfer->index, transfer_list_size(tensor_transfer));
    return error_raise(status, "%s %s stage %u, lane %u: %s", name,
                       tensor_transfer_is_received(tensor_transfer) ? "from"
                                                                    : "to",
                       transfer_peer_rank(transfer, tensor_transfer->way),
                       transfer->lane, text);
}

/* As many as the part of a message can count. */
static const size_t TRANSFER_LIST_TENSORS_MAX = FRAME_LIST_MAX;

static enum hoop_status
transfer_count_tensors(const struct transfer *transfer, size_t *out_n_tensors)
{
    size_t n_tensors = 0;

    for (unsigned way = 0; way < NEIGHBOUR_N_DIRECTIONS; way++) {
        const struct hoop_tensors *list = transfer->lists[way];

        if (!list)
            continue;
        /* An empty list is sent as one tensor, and a list in shares has a
         * closing. */
        n_tensors += list->n_tensors == 0;
        n_tensors += transfer->sharing != NULL;
        if (!list->tensors && list->n_tensors > 0)
            return error_raise(HOOP_E_INVALID, "%s has %zu tensors at NULL",
                               transfer_direction_name(way), list->n_tensors);
        if (list->n_tensors > TRANSFER_LIST_TENSORS_MAX)
            return error_raise(HOOP_E_INVALID,
                               "%s has %zu tensors, but a list at most %zu",
                               transfer_direction_name(way), list->n_tensors,
                               TRANSFER_LIST_TENSORS_MAX);
        n_tensors += list->n_tensors;
    }
    *out_n_tensors = n_tensors;
    return HOOP_OK;
}

static void
tensor_transfers_free_owned(struct tensor_transfer *tensor_transfers,
                            size_t n_transfers)
{
    for (size_t i = 0; i < n_transfers; i++)
        tensor_transfer_free_owned(&tensor_transfers[i]);
}

static enum hoop_status
transfer_list_prepare(const struct transfer *transfer,
                      enum hoop_p2p_direction way,
                      struct tensor_transfer *tensor_transfers,
                      size_t *n_transfers)
{
    const size_t n_tensors = transfer->lists[way]->n_tensors;
    const size_t n_listed = n_tensors > 0 ? n_tensors : 1;
    struct tensor_transfer tensor_transfer = {.transfer = transfer, .way = way};
    const size_t n = n_listed + (transfer_has_closing(transfer, way) ? 1 : 0);

    for (size_t i = 0; i < n; i++) {
        tensor_transfers[*n_transfers] = tensor_transfer;
        tensor_transfers[*n_transfers].index = i;
        tensor_transfers[*n_transfers].is_closing = i == n_listed;
        const enum hoop_status status =
            tensor_transfer_prepare(&tensor_transfers[*n_transfers]);
        if (status != HOOP_OK)
            return error_pass(status);
        ++*n_transfers;
    }
    return HOOP_OK;
}

/* Prepares all lists, one after the other. */
static enum hoop_status
tensor_transfers_prepare(const struct transfer *transfer,
                         struct tensor_transfer *tensor_transfers,
                         size_t *out_n_transfers)
{
    size_t n_transfers = 0;

    for (unsigned i = 0; i < NEIGHBOUR_N_DIRECTIONS; i++) {
        const enum hoop_p2p_direction way = transfer_order[i];
        const enum hoop_status status =
            transfer->lists[way]
                ? transfer_list_prepare(transfer, way, tensor_transfers,
                                        &n_transfers)
                : HOOP_OK;

        if (status != HOOP_OK) {
            tensor_transfers_free_owned(tensor_transfers, n_transfers);
            return error_pass(status);
        }
    }
    *out_n_transfers = n_transfers;
    return HOOP_OK;
}

void
transfer_result_fail(struct transfer_result *end, enum hoop_status status)
{
    if (end->status != HOOP_OK)
        return;
    end->status = status;
    snprintf(end->text, sizeof(end->text), "%s", error_text());
}

enum hoop_status
list_message_wait(hoop_op_t *op,
                  enum hoop_message_kind kind,
                  bool *is_peer_given_up)
{
    if (*is_peer_given_up && kind == HOOP_RECV)
        engine_cancel_op((struct op *)op);
    const enum hoop_status status = hoop_wait(op, HOOP_FOREVER);

    if (status == HOOP_E_MISMATCH && kind == HOOP_RECV)
        *is_peer_given_up = true;
    return status;
}

static void
tensor_transfers_wait(const struct tensor_transfer *tensor_transfers,
                      size_t n_transfers,
                      struct transfer_result *ends)
{
    bool is_peer_given_up[NEIGHBOUR_N_DIRECTIONS] = {false};

    for (size_t i = 0; i < n_transfers; i++) {
        const struct tensor_transfer *tensor_transfer = &tensor_transfers[i];

        if (tensor_transfer->is_closing)
            continue;
        const enum hoop_status status =
            list_message_wait(tensor_transfer->op,
                              neighbour_directions[tensor_transfer->way].kind,
                              &is_peer_given_up[tensor_transfer->way]);
        if (status != HOOP_OK)
            transfer_result_fail(
                &ends[tensor_transfer->way],
                tensor_transfer_raise_error(tensor_transfer, status));
    }
    for (unsigned way = 0; way < NEIGHBOUR_N_DIRECTIONS; way++)
        ends[way].has_moved = ends[way].status == HOOP_OK;
}

/* Starts all but the closings to be received. */
static enum hoop_status
tensor_transfers_start(struct tensor_transfer *tensor_transfers,
                       size_t n_transfers,
                       hoop_comm_t *stages)
{
    CLEANUP(free)
    struct tensor_message *messages = calloc(n_transfers, sizeof(*messages));
    CLEANUP(free) hoop_op_t **ops = calloc(n_transfers, sizeof(hoop_op_t *));
    size_t n_messages = 0;

    if (!messages || !ops)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages",
                           n_transfers);
    for (size_t i = 0; i < n_transfers; i++) {
        if (!tensor_transfer_is_recv_closing(&tensor_transfers[i]))
            messages[n_messages++] =
                tensor_transfer_message(&tensor_transfers[i]);
    }
    const enum hoop_status status =
        tensor_message_start(messages, n_messages, stages, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = n_transfers; i > 0; i--) {
        if (!tensor_transfer_is_recv_closing(&tensor_transfers[i - 1]))
            tensor_transfers[i - 1].op = ops[--n_messages];
    }
    return HOOP_OK;
}

/* Transfers everything between the stages. */
static void
tensor_transfers_run_messages(struct tensor_transfer *tensor_transfers,
                              size_t n_transfers,
                              struct transfer_result *ends)
{
    const enum hoop_status status =
        tensor_transfers_start(tensor_transfers, n_transfers,
                               tensor_transfers->transfer->neighbours.comm);

    if (status == HOOP_OK) {
        tensor_transfers_wait(tensor_transfers, n_transfers, ends);
        return;
    }
    for (size_t i = 0; i < n_transfers; i++)
        transfer_result_fail(&ends[tensor_transfers[i].way], status);
}

/* Accepts the closing if the list has been gathered; otherwise refuses it with
 * the reason. */
static void
closing_message_receive(struct tensor_transfer *tensor_transfer,
                        struct transfer_result *end)
{
    struct tensor_message message = tensor_transfer_message(tensor_transfer);
    char text[LIMIT_ERROR_TEXT];

    if (end->status != HOOP_OK) {
        snprintf(text, sizeof(text), "what was received is thrown away: %.980s",
                 end->text);
        message.refusal = text;
    }
    const enum hoop_status status = tensor_message_run(
        &message, 1, tensor_transfer->transfer->neighbours.comm);
    if (status != HOOP_OK)
        transfer_result_fail(
            end, tensor_transfer_raise_error(tensor_transfer, status));
}

/* If the list has not been sent, neither side expects its closing. */
static void
closing_message_wait_sent(const struct tensor_transfer *tensor_transfer,
                          struct transfer_result *end)
{
    if (!end->has_moved)
        engine_cancel_op((struct op *)tensor_transfer->op);
    const enum hoop_status status =
        hoop_wait(tensor_transfer->op, HOOP_FOREVER);

    if (status != HOOP_OK)
        transfer_result_fail(
            end, tensor_transfer_raise_error(tensor_transfer, status));
}

/* Closings that others wait for come first. */
static void
closing_messages_exchange(struct tensor_transfer *tensor_transfers,
                          size_t n_transfers,
                          struct transfer_result *ends)
{
    for (size_t i = 0; i < n_transfers; i++) {
        if (tensor_transfer_is_recv_closing(&tensor_transfers[i]) &&
            ends[tensor_transfers[i].way].has_moved)
            closing_message_receive(&tensor_transfers[i],
                                    &ends[tensor_transfers[i].way]);
    }
    for (size_t i = 0; i < n_transfers; i++) {
        if (tensor_transfers[i].op && tensor_transfers[i].is_closing)
            closing_message_wait_sent(&tensor_transfers[i],
                                      &ends[tensor_transfers[i].way]);
    }
}

/* Raises the failure of the first list that failed. */
static enum hoop_status
transfer_results_raise_first(const struct transfer_result *ends)
{
    for (unsigned i = 0; i < NEIGHBOUR_N_DIRECTIONS; i++) {
        const struct transfer_result *end = &ends[transfer_order[i]];

        if (end->status != HOOP_OK)
            return error_raise(end->status, "%s", end->text);
    }
    return HOOP_OK;
}

static enum hoop_status
tensor_transfers_run(struct tensor_transfer *tensor_transfers,
                     size_t n_transfers)
{
    const struct transfer *transfer = tensor_transfers->transfer;
    struct transfer_result ends[NEIGHBOUR_N_DIRECTIONS];

    for (unsigned way = 0; way < NEIGHBOUR_N_DIRECTIONS; way++) {
        ends[way].status = HOOP_OK;
        ends[way].has_moved = false;
    }
    tensor_transfers_run_messages(tensor_transfers, n_transfers, ends);
    if (transfer->tensor_parallel)
        shard_gather(tensor_transfers, n_transfers, ends);
    if (transfer->sharing)
        closing_messages_exchange(tensor_transfers, n_transfers, ends);
    const enum hoop_status status = transfer_results_raise_first(ends);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
transfer_run(const struct transfer *transfer)
{
    CLEANUP(free) struct tensor_transfer *tensor_transfers = NULL;
    size_t n_transfers = 0;
    enum hoop_status status = transfer_count_tensors(transfer, &n_transfers);

    if (status != HOOP_OK)
        return error_pass(status);
    if (n_transfers == 0)
        return HOOP_OK;
    tensor_transfers = calloc(n_transfers, sizeof(*tensor_transfers));
    if (!tensor_transfers)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu tensors",
                           n_transfers);
    status = tensor_transfers_prepare(transfer, tensor_transfers, &n_transfers);
    if (status != HOOP_OK)
        return error_pass(status);
    status = tensor_transfers_run(tensor_transfers, n_transfers);
    if (status != HOOP_OK) {
        tensor_transfers_free_owned(tensor_transfers, n_transfers);
        return error_pass(status);
    }
    for (size_t i = 0; i < n_transfers; i++)
        tensor_transfer_output_received(&tensor_transfers[i]);
    return HOOP_OK;
}
