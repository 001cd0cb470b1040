/*
 * parallel/share_gather.c - shares that came become whole tensors again
 *
 * Messages and not a collective: transfers of several lanes may be under way at
 * once, in any order. Every tensor that was to come is exchanged by all ranks,
 * also one that is not cut, or did not come, as nothing: ranks may differ in
 * that, by a mistake, and a share that is left behind would be taken for one of
 * the next transfer.
 *
 * No test of its own: tests/integration/pipe_share_test.c gathers.
 */

#include "parallel/share_gather.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "parallel/share.h"

/* A list of none has no shares. */
static bool
is_gathered(const struct parcel *parcel)
{
    return parcel_is_received(parcel) && !parcel->is_empty;
}

static bool
has_come(const struct parcel *parcel)
{
    return parcel->status == HOOP_OK;
}

/* What this rank has of it. */
static struct hoop_tensor
share_sent(const struct parcel *parcel)
{
    return has_come(parcel) && parcel->is_cut
               ? parcel->share
               : share_none(parcel->tensor.dtype);
}

/* What another has; whatever it is, to be freed, when all is lost anyway. */
static struct hoop_tensor
share_expected(const struct parcel *parcel, uint32_t rank, uint32_t n_ranks)
{
    if (!has_come(parcel))
        return (struct hoop_tensor){.shape = {.n_dims = HOOP_ANY_SHAPE}};
    return parcel->is_cut ? share_of(&parcel->tensor, rank, n_ranks)
                          : share_none(parcel->tensor.dtype);
}

/* Both halves of what goes on between this rank and another. */
struct gathering {
    struct tensor_message *messages;
    struct hoop_tensor *shares; /* one for each message */
    size_t n_messages;
};

static void
gathering_add(struct gathering *gathering,
              const struct tensor_message *message,
              const struct hoop_tensor *share)
{
    const size_t i = gathering->n_messages++;

    gathering->shares[i] = *share;
    gathering->messages[i] = *message;
    gathering->messages[i].tensor = &gathering->shares[i];
    if (share->shape.n_dims == HOOP_ANY_SHAPE)
        gathering->messages[i].received = &gathering->shares[i];
}

static void
parcel_add(struct gathering *gathering, const struct parcel *parcel)
{
    const hoop_comm_t *sharing = parcel->transfer->sharing;
    const uint32_t n_ranks = hoop_comm_size(sharing);
    const struct hoop_tensor mine = share_sent(parcel);

    for (uint32_t rank = 0; rank < n_ranks; rank++) {
        const struct hoop_tensor theirs = share_expected(parcel, rank, n_ranks);
        struct tensor_message message = {
            .kind = HOOP_SEND,
            .peer = rank,
            .tag = parcel_share_tag(parcel),
            .part = parcel_part(parcel),
        };

        if (rank == hoop_comm_rank(sharing))
            continue;
        gathering_add(gathering, &message, &mine);
        message.kind = HOOP_RECV;
        gathering_add(gathering, &message, &theirs);
    }
}

/* Of those that are lost. */
static void
gathering_free(const struct gathering *gathering,
               const struct parcel *parcels,
               size_t n_parcels)
{
    size_t at = 0;

    for (size_t i = 0; i < n_parcels; i++) {
        const struct parcel *parcel = &parcels[i];
        const size_t n = 2 * (hoop_comm_size(parcel->transfer->sharing) - 1);

        if (!is_gathered(parcel))
            continue;
        for (size_t k = 1; k < n && !has_come(parcel); k += 2)
            hoop_tensor_free(&gathering->shares[at + k]);
        at += n;
    }
}

enum hoop_status
share_gather(const struct parcel *parcels, size_t n_parcels)
{
    hoop_comm_t *sharing = parcels->transfer->sharing;
    const size_t n_most = 2 * n_parcels * hoop_comm_size(sharing);
    CLEANUP(free)
    struct tensor_message *messages = calloc(n_most, sizeof(*messages));
    CLEANUP(free)
    struct hoop_tensor *shares = calloc(n_most, sizeof(*shares));
    struct gathering gathering = {messages, shares, 0};

    if (!messages || !shares)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu shares",
                           n_most);
    for (size_t i = 0; i < n_parcels; i++) {
        if (is_gathered(&parcels[i]))
            parcel_add(&gathering, &parcels[i]);
    }
    const enum hoop_status status =
        tensor_message_run(messages, gathering.n_messages, sharing);
    gathering_free(&gathering, parcels, n_parcels);
    if (status != HOOP_OK)
        return error_raise(status, "gathering the shares: %s", error_text());
    return HOOP_OK;
}
