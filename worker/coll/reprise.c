/* coll/reprise.c - a call that can be made again, among fewer ranks */

#include "coll/reprise.h"

#include <string.h>

#include "base/error.h"
#include "coll/buffers.h"
#include "dtype/dtype.h"
#include "session/comm.h"

static void
members_note(struct reprise *reprise)
{
    reprise->n_members = hoop_comm_size(reprise->comm);
    for (uint32_t i = 0; i < reprise->n_members; i++)
        reprise->members[i] = hoop_comm_world_rank(reprise->comm, i);
}

/* The result takes the input's place. In other calls with a root than a reduce
 * to it, nobody's input does. */
static bool
is_overwritten(const struct collective *asked,
               const struct buffers *buffers,
               const hoop_comm_t *comm)
{
    const bool is_root = hoop_comm_rank(comm) == asked->root;

    if (!buffers->is_in_place || buffers->n_input == 0)
        return false;
    return !(asked->parts & COLL_HAS_ROOT) ||
           ((asked->parts & COLL_RECV_AT_ROOT) && is_root);
}

static enum hoop_status
room_take(struct comm_retry *retry, size_t n_bytes)
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

/* In place, a rank's block of what it gathers is where it will stay. */
static const uint8_t *
input_begin(const struct collective *asked,
            const struct buffers *buffers,
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
input_keep(struct reprise *reprise)
{
    const struct collective *asked = reprise->asked;
    const struct buffers buffers = buffers_of(asked, reprise->comm);
    const size_t n_bytes = buffers.n_input * dtype_size(asked->dtype);
    struct comm_retry *retry = &reprise->comm->retry;

    reprise->output = buffers.output;
    if (!is_overwritten(asked, &buffers, reprise->comm))
        return HOOP_OK;
    const enum hoop_status status = room_take(retry, n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    memcpy(retry->kept, input_begin(asked, &buffers, reprise->comm), n_bytes);
    reprise->input = retry->kept;
    return HOOP_OK;
}

enum hoop_status
reprise_init(struct reprise *reprise,
             const struct collective *asked,
             hoop_comm_t *comm)
{
    const uint32_t size = hoop_comm_size(comm);

    *reprise = (struct reprise){
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
    if (!reprise->entry || !reprise->members)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks", size);
    members_note(reprise);
    memcpy(reprise->entry, reprise->members, size * sizeof(uint32_t));
    if (!(asked->parts & COLL_NO_BUFFERS)) {
        const enum hoop_status status = input_keep(reprise);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    reprise->is_kept = true;
    return HOOP_OK;
}

void
reprise_deinit(struct reprise *reprise)
{
    free(reprise->entry);
    free(reprise->members);
    free(reprise->counts);
    free(reprise->packed);
}

/* Survivors are in the order in which they were: the next of them. */
static uint32_t
entry_of(const struct reprise *reprise, uint32_t member, uint32_t from)
{
    uint32_t at = from;

    while (reprise->entry[at] != reprise->members[member])
        at++;
    return at;
}

/* Its rank now; HOOP_NO_RANK: it is lost. */
static uint32_t
root_find(const struct reprise *reprise)
{
    const uint32_t size = hoop_comm_size(reprise->comm);

    for (uint32_t i = 0; i < size; i++) {
        if (hoop_comm_world_rank(reprise->comm, i) == reprise->root)
            return i;
    }
    return HOOP_NO_RANK;
}

bool
reprise_is_rootless(const struct reprise *reprise)
{
    return reprise->root != HOOP_NO_RANK && root_find(reprise) == HOOP_NO_RANK;
}

/* All find the same of the root, whatever each has kept. */
static enum hoop_status
again_check(const struct reprise *reprise)
{
    if (reprise_is_rootless(reprise))
        return error_raise(HOOP_E_PEER_LOST,
                           "rank %u, the root, is lost: nobody can do it again",
                           reprise->root);
    if (!reprise->is_kept)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to keep what it was called with, in case "
                           "that a rank is lost");
    return HOOP_OK;
}

static enum hoop_status
counts_choose(struct reprise *reprise)
{
    uint32_t at = 0;

    if (!reprise->counts)
        reprise->counts = calloc(reprise->n_entry, sizeof(size_t));
    if (!reprise->counts)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u counts",
                           reprise->n_entry);
    for (uint32_t i = 0; i < reprise->n_members; i++) {
        at = entry_of(reprise, i, at);
        reprise->counts[i] = reprise->asked->counts[at++];
    }
    reprise->now.counts = reprise->counts;
    return HOOP_OK;
}

/* Bytes of the block that was rank's. */
static size_t
block_bytes(const struct collective *asked, uint32_t rank)
{
    return (asked->counts ? asked->counts[rank] : asked->count) *
           dtype_size(asked->dtype);
}

/* Blocks for ranks that are lost are left out. */
static enum hoop_status
blocks_pack(struct reprise *reprise, const void *input)
{
    const uint8_t *from = input;
    size_t total = 0;
    uint32_t member = 0;

    for (uint32_t rank = 0; rank < reprise->n_entry; rank++)
        total += block_bytes(reprise->asked, rank);
    if (!reprise->packed)
        reprise->packed = malloc(total + 1);
    if (!reprise->packed)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to pack %zu bytes",
                           total);
    uint8_t *to = reprise->packed;
    for (uint32_t rank = 0; rank < reprise->n_entry; rank++) {
        const size_t n_bytes = block_bytes(reprise->asked, rank);

        if (member < reprise->n_members &&
            reprise->entry[rank] == reprise->members[member]) {
            if (n_bytes > 0)
                memcpy(to, from, n_bytes);
            to += n_bytes;
            member++;
        }
        from += n_bytes;
    }
    reprise->now.send = reprise->packed;
    reprise->now.recv = reprise->output;
    return HOOP_OK;
}

enum hoop_status
reprise_again(struct reprise *reprise)
{
    const struct collective *asked = reprise->asked;
    enum hoop_status status = again_check(reprise);

    if (status != HOOP_OK)
        return error_pass(status);
    members_note(reprise);
    reprise->now = *asked;
    if (reprise->input) {
        reprise->now.send = reprise->input;
        reprise->now.recv = reprise->output;
        /* What a lossy codec owes is owed to the program's tensor. */
        if (!asked->place)
            reprise->now.place = reprise->output;
    }
    if (asked->parts & COLL_HAS_ROOT)
        reprise->now.root = root_find(reprise);
    if (asked->counts)
        status = counts_choose(reprise);
    if (status == HOOP_OK && (asked->parts & COLL_SEND_ALL))
        status = blocks_pack(reprise, reprise->now.send);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
