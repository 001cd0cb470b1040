/*
 * pipeline/shard_gather.c - gathers received shares to whole tensors
 *
 * It uses messages and not a collective, since transfers of several lanes may
 * be in progress at once, in any order. All ranks exchange every expected
 * tensor, and one that is not cut as a message without elements: by mistake
 * ranks may differ in whether it is cut, and a share that is left behind would
 * be taken for one of the next transfer.
 */

#include "pipeline/shard_gather.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "engine/engine.h"

/*
 * Equal shares of a tensor that several ranks hold.
 *
 * The shape of a share: from the first dimension to the last, each is
 * divided by its common divisor with the remaining number of ranks, until
 * that is 1.
 */

static size_t
greatest_common_divisor(size_t a, size_t b)
{
    while (b > 0) {
        const size_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

bool
shard_can_split(size_t count, uint32_t n_ranks)
{
    return n_ranks > 1 && count > 0 && count % n_ranks == 0;
}

struct hoop_tensor
shard_of_rank(const struct hoop_tensor *tensor, uint32_t rank, uint32_t n_ranks)
{
    struct hoop_tensor shard = *tensor;
    size_t n_bytes = dtype_size(tensor->dtype);
    size_t n_left = n_ranks;

    shard.strides = NULL;
    for (uint32_t i = 0; i < shard.shape.n_dims; i++) {
        const size_t divisor =
            greatest_common_divisor(shard.shape.dims[i], n_left);

        shard.shape.dims[i] /= divisor;
        n_left /= divisor;
        n_bytes *= shard.shape.dims[i];
    }
    if (tensor->data)
        shard.data = (uint8_t *)tensor->data + rank * n_bytes;
    return shard;
}

struct hoop_tensor
shard_placeholder(const struct hoop_tensor *tensor)
{
    struct hoop_tensor shard = {
        .dtype = tensor->dtype,
        .shape = {.n_dims = 1, .dims = {0}},
    };
    uint32_t *n_dims = &shard.shape.n_dims;

    for (uint32_t i = 0; i < tensor->shape.n_dims && *n_dims < HOOP_MAX_DIMS;
         i++)
        shard.shape.dims[(*n_dims)++] = tensor->shape.dims[i];
    return shard;
}

struct hoop_tensor
shard_make_empty(enum hoop_dtype dtype)
{
    return (struct hoop_tensor){
        .dtype = dtype,
        .shape = {.n_dims = 1, .dims = {0}},
    };
}

/* The texts sent to ranks whose shares of a failed list are refused. */
struct refusal_texts {
    char texts[NEIGHBOUR_N_DIRECTIONS][LIMIT_ERROR_TEXT];
};

/* The messages between this rank and the others. */
struct gather_messages {
    hoop_comm_t *group;
    struct tensor_message *messages;
    struct hoop_tensor *shares; /* one for each message */
    enum hoop_p2p_direction *ways;
    hoop_op_t **ops;
    bool *is_peer_given_up; /* [way][rank] */
    size_t n_messages;
};

/* Returns whether the group gathers the tensor: this rank or the sender has
 * asked for shares. */
static bool
transfer_is_gathered(const struct tensor_transfer *tensor_transfer)
{
    return tensor_transfer_is_received(tensor_transfer) &&
           !tensor_transfer->is_closing &&
           (tensor_transfer->transfer->sharing ||
            tensor_transfer->received_part & FRAME_PART_IN_SHARES);
}

static void
gather_messages_add(struct gather_messages *gather_messages,
                    enum hoop_p2p_direction way,
                    const struct tensor_message *message,
                    const struct hoop_tensor *shard)
{
    const size_t i = gather_messages->n_messages++;

    gather_messages->shares[i] = *shard;
    gather_messages->messages[i] = *message;
    gather_messages->messages[i].tensor = &gather_messages->shares[i];
    gather_messages->ways[i] = way;
}

/* Returns rank's share of the tensor. */
static struct hoop_tensor
shard_held_by_rank(const struct tensor_transfer *tensor_transfer,
                   uint32_t rank,
                   uint32_t n_ranks)
{
    return tensor_transfer->is_cut_into_shares
               ? shard_of_rank(&tensor_transfer->tensor, rank, n_ranks)
               : shard_placeholder(&tensor_transfer->tensor);
}

static void
gather_messages_add_tensor(struct gather_messages *gather_messages,
                           const struct tensor_transfer *tensor_transfer)
{
    const uint32_t n_ranks = hoop_comm_size(gather_messages->group);
    const uint32_t self = hoop_comm_rank(gather_messages->group);
    const struct hoop_tensor mine =
        shard_held_by_rank(tensor_transfer, self, n_ranks);

    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const struct hoop_tensor theirs =
            shard_held_by_rank(tensor_transfer, rank, n_ranks);
        struct tensor_message message = {
            .kind = HOOP_SEND,
            .peer = rank,
            .tag = tensor_transfer_share_tag(tensor_transfer),
            .part = tensor_transfer_frame_part(tensor_transfer),
        };

        if (rank == self)
            continue;
        gather_messages_add(gather_messages, tensor_transfer->way, &message,
                            &mine);
        message.kind = HOOP_RECV;
        gather_messages_add(gather_messages, tensor_transfer->way, &message,
                            &theirs);
    }
}

/* Refuses a failed list. This rank sends and receives one message for each
 * other rank, however many tensors the list has; other ranks' messages state
 * how many they have. */
static void
gather_messages_add_refusal(struct gather_messages *gather_messages,
                            const struct tensor_transfer *tensor_transfer,
                            const char *text)
{
    const struct hoop_tensor none = shard_make_empty(HOOP_UINT8);

    for (uint32_t rank = 0; rank < hoop_comm_size(gather_messages->group);
         rank++) {
        struct tensor_message message = {
            .kind = HOOP_SEND,
            .peer = rank,
            .tag = tensor_transfer_share_tag(tensor_transfer),
            .part = frame_part(1, 0) | FRAME_PART_IN_SHARES,
        };

        if (rank == hoop_comm_rank(gather_messages->group))
            continue;
        gather_messages_add(gather_messages, tensor_transfer->way, &message,
                            &none);
        message.kind = HOOP_RECV;
        message.refusal = text;
        gather_messages_add(gather_messages, tensor_transfer->way, &message,
                            &none);
    }
}

static void
gather_messages_fill(struct gather_messages *gather_messages,
                     const struct tensor_transfer *tensor_transfers,
                     size_t n_transfers,
                     const struct transfer_result *ends,
                     struct refusal_texts *refusals)
{
    bool is_refused[NEIGHBOUR_N_DIRECTIONS] = {false};

    for (size_t i = 0; i < n_transfers; i++) {
        const enum hoop_p2p_direction way = tensor_transfers[i].way;
        char *text = refusals->texts[way];

        if (!transfer_is_gathered(&tensor_transfers[i]) || is_refused[way])
            continue;
        if (ends[way].status == HOOP_OK) {
            gather_messages_add_tensor(gather_messages, &tensor_transfers[i]);
            continue;
        }
        is_refused[way] = true;
        snprintf(text, LIMIT_ERROR_TEXT,
                 "rank %u of tensor_parallel has not got its share: %.900s",
                 hoop_comm_rank(gather_messages->group), ends[way].text);
        gather_messages_add_refusal(gather_messages, &tensor_transfers[i],
                                    text);
    }
}

static void
transfer_result_fail_gather(struct transfer_result *ends,
                            enum hoop_p2p_direction way,
                            enum hoop_status status)
{
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s", error_text());
    transfer_result_fail(&ends[way],
                         error_raise(status, "%s, gathering the shares: %s",
                                     neighbour_directions[way].list, text));
}

static void
gather_messages_wait(const struct gather_messages *gather_messages,
                     struct transfer_result *ends)
{
    const size_t n_ranks = hoop_comm_size(gather_messages->group);

    for (size_t i = 0; i < gather_messages->n_messages; i++) {
        const struct tensor_message *message = &gather_messages->messages[i];
        const enum hoop_p2p_direction way = gather_messages->ways[i];
        const enum hoop_status status = list_message_wait(
            gather_messages->ops[i], message->kind,
            &gather_messages->is_peer_given_up[way * n_ranks + message->peer]);

        if (status != HOOP_OK)
            transfer_result_fail_gather(ends, way, status);
    }
}

static bool
is_any_transfer_gathered(const struct tensor_transfer *tensor_transfers,
                         size_t n_transfers)
{
    for (size_t i = 0; i < n_transfers; i++) {
        if (transfer_is_gathered(&tensor_transfers[i]))
            return true;
    }
    return false;
}

void
shard_gather(const struct tensor_transfer *tensor_transfers,
             size_t n_transfers,
             struct transfer_result ends[NEIGHBOUR_N_DIRECTIONS])
{
    hoop_comm_t *group = tensor_transfers->transfer->tensor_parallel;
    const size_t n_ranks = hoop_comm_size(group);
    const size_t n_most = 2 * n_transfers * n_ranks;

    if (!is_any_transfer_gathered(tensor_transfers, n_transfers))
        return;
    CLEANUP(free)
    struct tensor_message *messages = calloc(n_most, sizeof(*messages));
    CLEANUP(free) struct hoop_tensor *shares = calloc(n_most, sizeof(*shares));
    CLEANUP(free) enum hoop_p2p_direction *ways = calloc(n_most, sizeof(*ways));
    CLEANUP(free) hoop_op_t **ops = calloc(n_most, sizeof(hoop_op_t *));
    CLEANUP(free)
    bool *is_peer_given_up = calloc(NEIGHBOUR_N_DIRECTIONS * n_ranks, 1);
    CLEANUP(free) struct refusal_texts *refusals = malloc(sizeof(*refusals));
    struct gather_messages gather_messages = {
        group, messages, shares, ways, ops, is_peer_given_up, 0};
    enum hoop_status status = HOOP_OK;

    if (!messages || !shares || !ways || !ops || !is_peer_given_up || !refusals)
        status =
            error_raise(HOOP_E_EXHAUSTED, "no memory for %zu shares", n_most);
    if (status == HOOP_OK) {
        gather_messages_fill(&gather_messages, tensor_transfers, n_transfers,
                             ends, refusals);
        status = tensor_message_start(messages, gather_messages.n_messages,
                                      group, ops);
    }
    if (status == HOOP_OK) {
        gather_messages_wait(&gather_messages, ends);
        return;
    }
    for (size_t i = 0; i < n_transfers; i++) {
        if (transfer_is_gathered(&tensor_transfers[i]))
            transfer_result_fail_gather(ends, tensor_transfers[i].way, status);
    }
}
