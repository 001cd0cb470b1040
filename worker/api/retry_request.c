/* api/retry_request.c - a call that can be repeated among fewer ranks */

#include "api/retry_request.h"

#include <string.h>

#include "api/buffers.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "session/comm.h"

static void
retry_request_store_members(struct retry_request *retry_request)
{
    retry_request->n_members = hoop_comm_size(retry_request->comm);
    for (uint32_t i = 0; i < retry_request->n_members; i++)
        retry_request->members[i] =
            hoop_comm_world_rank(retry_request->comm, i);
}

/* Whether the result overwrites the input: only in place and, in calls with a
 * root, only on the root of a call whose result is there. */
static bool
input_is_overwritten(const struct collective *asked,
                     const struct collective_buffers *buffers,
                     const hoop_comm_t *comm)
{
    const bool is_root = hoop_comm_rank(comm) == asked->root;

    if (!buffers->is_in_place || buffers->n_input == 0)
        return false;
    return !(asked->parts & COLL_HAS_ROOT) ||
           ((asked->parts & COLL_RECV_AT_ROOT) && is_root);
}

static enum hoop_status
retry_input_buffer_reserve(struct comm_retry *retry, size_t n_bytes)
{
    if (n_bytes <= retry->n_kept)
        return HOOP_OK;
    free(STEAL(retry->kept));
    retry->n_kept = 0;
    retry->kept = malloc(n_bytes);
    if (!retry->kept)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to keep %zu bytes of input, in case that "
                           "a rank is lost",
                           n_bytes);
    retry->n_kept = n_bytes;
    return HOOP_OK;
}

/* In an in-place gather, a rank's input block lies where it stays in the
 * output. */
static const uint8_t *
own_input_block(const struct collective *asked,
                const struct collective_buffers *buffers,
                const hoop_comm_t *comm)
{
    const uint32_t rank = hoop_comm_rank(comm);
    const uint8_t *begin = buffers->input;
    size_t before = asked->count * rank;

    if (!(asked->parts & COLL_RECV_ALL))
        return begin;
    if (asked->counts) {
        before = 0;
        for (uint32_t i = 0; i < rank; i++)
            before += asked->counts[i];
    }
    return begin + before * dtype_size(asked->dtype);
}

static enum hoop_status
retry_request_save_input(struct retry_request *retry_request)
{
    const struct collective *asked = retry_request->asked;
    const struct collective_buffers buffers =
        buffers_from_collective(asked, retry_request->comm);
    const size_t n_bytes = buffers.n_input * dtype_size(asked->dtype);
    struct comm_retry *retry = &retry_request->comm->retry;

    retry_request->output = buffers.output;
    if (!input_is_overwritten(asked, &buffers, retry_request->comm))
        return HOOP_OK;
    const enum hoop_status status = retry_input_buffer_reserve(retry, n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    memcpy(retry->kept, own_input_block(asked, &buffers, retry_request->comm),
           n_bytes);
    retry_request->input = retry->kept;
    return HOOP_OK;
}

enum hoop_status
retry_request_init(struct retry_request *retry_request,
                   const struct collective *asked,
                   hoop_comm_t *comm)
{
    const uint32_t size = hoop_comm_size(comm);

    *retry_request = (struct retry_request){
        .asked = asked,
        .comm = comm,
        .root = asked->parts & COLL_HAS_ROOT
                    ? hoop_comm_world_rank(comm, asked->root)
                    : HOOP_NO_RANK,
        .now = *asked,
        .entry = calloc(size, sizeof(uint32_t)),
        .members = calloc(size, sizeof(uint32_t)),
        .n_entry = size,
    };
    if (!retry_request->entry || !retry_request->members)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks", size);
    retry_request_store_members(retry_request);
    memcpy(retry_request->entry, retry_request->members,
           size * sizeof(uint32_t));
    if (!(asked->parts & COLL_NO_BUFFERS)) {
        const enum hoop_status status = retry_request_save_input(retry_request);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    retry_request->is_kept = true;
    return HOOP_OK;
}

void
retry_request_deinit(struct retry_request *retry_request)
{
    free(retry_request->entry);
    free(retry_request->members);
    free(retry_request->counts);
    free(retry_request->packed);
}

/* The index in entry of a current member, at from or later: survivors keep
 * their order. */
static uint32_t
original_rank_of_member(const struct retry_request *retry_request,
                        uint32_t member,
                        uint32_t from)
{
    uint32_t at = from;

    while (retry_request->entry[at] != retry_request->members[member])
        at++;
    return at;
}

/* The root's current rank; HOOP_NO_RANK: it is lost. */
static uint32_t
root_current_rank(const struct retry_request *retry_request)
{
    const uint32_t size = hoop_comm_size(retry_request->comm);

    for (uint32_t i = 0; i < size; i++) {
        if (hoop_comm_world_rank(retry_request->comm, i) == retry_request->root)
            return i;
    }
    return HOOP_NO_RANK;
}

bool
retry_request_has_lost_root(const struct retry_request *retry_request)
{
    return retry_request->root != HOOP_NO_RANK &&
           root_current_rank(retry_request) == HOOP_NO_RANK;
}

/* The loss of the root is checked first, so that all ranks find the same even
 * if one of them could not save its input. */
static enum hoop_status
retry_request_check_repeatable(const struct retry_request *retry_request)
{
    if (retry_request_has_lost_root(retry_request))
        return error_raise(HOOP_E_PEER_LOST,
                           "rank %u, the root, is lost: nobody can do it again",
                           retry_request->root);
    if (!retry_request->is_kept)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to keep what it was called with, in case "
                           "that a rank is lost");
    return HOOP_OK;
}

static enum hoop_status
retry_request_select_counts(struct retry_request *retry_request)
{
    uint32_t at = 0;

    if (!retry_request->counts)
        retry_request->counts = calloc(retry_request->n_entry, sizeof(size_t));
    if (!retry_request->counts)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u counts",
                           retry_request->n_entry);
    for (uint32_t i = 0; i < retry_request->n_members; i++) {
        at = original_rank_of_member(retry_request, i, at);
        retry_request->counts[i] = retry_request->asked->counts[at++];
    }
    retry_request->now.counts = retry_request->counts;
    return HOOP_OK;
}

/* Bytes of the block of the rank that had this number at first. */
static size_t
original_block_bytes(const struct collective *asked, uint32_t rank)
{
    return (asked->counts ? asked->counts[rank] : asked->count) *
           dtype_size(asked->dtype);
}

/* Copy the blocks for the current members one behind the other. */
static enum hoop_status
retry_request_pack_blocks(struct retry_request *retry_request,
                          const void *input)
{
    const uint8_t *from = input;
    size_t total = 0;
    uint32_t member = 0;

    for (uint32_t rank = 0; rank < retry_request->n_entry; rank++)
        total += original_block_bytes(retry_request->asked, rank);
    if (!retry_request->packed)
        retry_request->packed = malloc(total + 1);
    if (!retry_request->packed)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to pack %zu bytes",
                           total);
    uint8_t *to = retry_request->packed;
    for (uint32_t rank = 0; rank < retry_request->n_entry; rank++) {
        const size_t n_bytes = original_block_bytes(retry_request->asked, rank);

        if (member < retry_request->n_members &&
            retry_request->entry[rank] == retry_request->members[member]) {
            if (n_bytes > 0)
                memcpy(to, from, n_bytes);
            to += n_bytes;
            member++;
        }
        from += n_bytes;
    }
    retry_request->now.send = retry_request->packed;
    retry_request->now.recv = retry_request->output;
    return HOOP_OK;
}

enum hoop_status
retry_request_rebuild(struct retry_request *retry_request)
{
    const struct collective *asked = retry_request->asked;
    enum hoop_status status = retry_request_check_repeatable(retry_request);

    if (status != HOOP_OK)
        return error_pass(status);
    retry_request_store_members(retry_request);
    retry_request->now = *asked;
    if (retry_request->input) {
        retry_request->now.send = retry_request->input;
        retry_request->now.recv = retry_request->output;
        /* Error feedback belongs to the program's tensor, not to the copy. */
        if (!asked->place)
            retry_request->now.place = retry_request->output;
    }
    if (asked->parts & COLL_HAS_ROOT)
        retry_request->now.root = root_current_rank(retry_request);
    if (asked->counts)
        status = retry_request_select_counts(retry_request);
    if (status == HOOP_OK && (asked->parts & COLL_SEND_ALL))
        status =
            retry_request_pack_blocks(retry_request, retry_request->now.send);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
