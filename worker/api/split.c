/*
 * api/split.c - split a communicator by colors
 *
 * All ranks exchange colors and keys, and each selects its own part. All ranks
 * of one color find the same list, of which comm_form() makes a communicator.
 */

#include <stdlib.h>

#include "hoop/comm.h"

#include "api/collective.h"
#include "api/internal_collective.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "session/comm.h"

/* What one rank contributes; exchanged as int64 elements. */
struct split_choice {
    int64_t color;
    int64_t key;
};

struct color_member {
    int64_t key;
    uint32_t rank; /* in the communicator that is split */
};

static int
compare_key_and_rank(const void *left, const void *right)
{
    const struct color_member *one = left;
    const struct color_member *other = right;

    if (one->key != other->key)
        return one->key < other->key ? -1 : 1;
    return one->rank < other->rank ? -1 : one->rank > other->rank;
}

static enum hoop_status
split_colors_check(const struct split_choice *choices, uint32_t size)
{
    for (uint32_t rank = 0; rank < size; rank++) {
        if (choices[rank].color < HOOP_NO_COLOR)
            return error_raise(HOOP_E_INVALID,
                               "rank %u gave the color %lld: colors are 0 or "
                               "more, or HOOP_NO_COLOR",
                               rank, (long long)choices[rank].color);
    }
    return HOOP_OK;
}

/* Fill ranks with the world ranks of this rank's color, in order of key;
 * returns how many. */
static uint32_t
split_find_own_color_ranks(const hoop_comm_t *comm,
                           const struct split_choice *choices,
                           struct color_member *color_members,
                           uint32_t *ranks)
{
    const uint32_t size = hoop_comm_size(comm);
    const int64_t color = choices[hoop_comm_rank(comm)].color;
    uint32_t n_ranks = 0;

    for (uint32_t rank = 0; rank < size; rank++) {
        if (choices[rank].color == color)
            color_members[n_ranks++] =
                (struct color_member){choices[rank].key, rank};
    }
    qsort(color_members, n_ranks, sizeof(*color_members), compare_key_and_rank);
    for (uint32_t i = 0; i < n_ranks; i++)
        ranks[i] = hoop_comm_world_rank(comm, color_members[i].rank);
    return n_ranks;
}

static enum hoop_status
split_choices_exchange(hoop_comm_t *comm,
                       const struct split_choice *own,
                       struct split_choice *choices)
{
    context_set_wait_purpose(comm->context, "hoop_comm_split()");
    const enum hoop_status status = internal_allgather(
        own, choices, sizeof(*own) / sizeof(int64_t), HOOP_INT64, comm);

    context_set_wait_purpose(comm->context, NULL);
    if (status != HOOP_OK)
        return error_pass(status);
    return split_colors_check(choices, hoop_comm_size(comm));
}

static enum hoop_status
comm_split_by_color(hoop_comm_t *comm,
                    const struct split_choice *own,
                    hoop_comm_t **out_comm)
{
    const uint32_t size = hoop_comm_size(comm);
    const uint64_t deadline_ns =
        clock_deadline_ns(context_timeout(comm->context));
    CLEANUP(free) struct split_choice *choices = calloc(size, sizeof(*choices));
    CLEANUP(free)
    struct color_member *color_members = calloc(size, sizeof(*color_members));
    CLEANUP(free) uint32_t *ranks = calloc(size, sizeof(*ranks));

    if (!choices || !color_members || !ranks)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks", size);
    enum hoop_status status = split_choices_exchange(comm, own, choices);
    if (status != HOOP_OK)
        return error_pass(status);
    if (own->color == HOOP_NO_COLOR)
        return comm_create_without_context(comm->domain, out_comm);
    const struct rank_list list = {
        ranks, split_find_own_color_ranks(comm, choices, color_members, ranks)};
    return comm_form(comm->domain, &list, deadline_ns, out_comm);
}

enum hoop_status
hoop_comm_split(hoop_comm_t *comm,
                int64_t color,
                int64_t key,
                hoop_comm_t **out_comm)
{
    bool is_member = false;

    enum hoop_status status = comm_call_begin(comm, &is_member);
    if (status == HOOP_OK && !out_comm)
        status = error_raise(HOOP_E_INVALID, "out_comm is NULL");
    if (status != HOOP_OK)
        return error_pass(status);
    if (!comm->domain)
        return error_raise(HOOP_E_INVALID, "comm has no session");
    status = is_member ? comm_split_by_color(
                             comm, &(struct split_choice){color, key}, out_comm)
                       : comm_create_without_context(comm->domain, out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
