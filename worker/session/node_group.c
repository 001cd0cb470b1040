/*
 * session/node_group.c - Bagua's process groups: ranks, and which share a node
 *
 * This file decides which ranks a communicator has, from the nodes of the
 * world, with the same result on all members. comm_form() forms it.
 */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/group.h"
#include "hoop/session.h"

#include "base/clock.h"
#include "base/error.h"
#include "plan/nodes.h"
#include "session/comm.h"

enum group_comm_kind {
    GROUP_COMM_GLOBAL,
    GROUP_COMM_INTER_NODE,
    GROUP_COMM_INTRA_NODE,
};

/* Each part has its own lock, so that threads that form one part do not block
 * those that form another. */
struct group_comm_cache_slot {
    pthread_mutex_t lock; /* held while comm is formed */
    hoop_comm_t *comm;    /* NULL: not formed yet */
};

struct hoop_group {
    hoop_comm_t *world;
    struct group_comm_cache_slot parts[GROUP_COMM_INTRA_NODE + 1];
    uint32_t n_ranks;
    uint32_t ranks[];
};

static int
compare_ranks(const void *left, const void *right)
{
    const uint32_t one = *(const uint32_t *)left;
    const uint32_t other = *(const uint32_t *)right;

    return one < other ? -1 : one > other;
}

static struct hoop_group *
group_alloc(hoop_comm_t *world, const struct rank_list *list)
{
    struct hoop_group *group =
        calloc(1, sizeof(*group) + list->n_ranks * sizeof(*group->ranks));

    if (!group)
        return NULL;
    group->world = world;
    group->n_ranks = list->n_ranks;
    for (size_t i = 0; i < COUNT_OF(group->parts); i++)
        pthread_mutex_init(&group->parts[i].lock, NULL);
    for (uint32_t i = 0; i < list->n_ranks; i++)
        group->ranks[i] = list->ranks ? list->ranks[i] : i;
    return group;
}

static enum hoop_status
group_create_sorted_copy(hoop_session_t *session,
                         const struct rank_list *given,
                         struct hoop_group **out_group)
{
    struct rank_list list = *given;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!session || !out_group)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           session ? "out_group" : "session");
    hoop_comm_t *world = hoop_world(session);
    if (!list.ranks)
        list.n_ranks = hoop_comm_size(world);
    if (list.n_ranks == 0)
        return error_raise(HOOP_E_INVALID, "a group has at least one rank");
    if (list.ranks) {
        const enum hoop_status status =
            rank_list_check(world->domain->roster, &list);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    struct hoop_group *group = group_alloc(world, &list);
    if (!group)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a group of %u",
                           list.n_ranks);
    *out_group = group;
    return HOOP_OK;
}

enum hoop_status
hoop_group_create(hoop_session_t *session,
                  const uint32_t *ranks,
                  uint32_t n_ranks,
                  hoop_group_t **out_group)
{
    struct hoop_group *group = NULL;
    const struct rank_list list = {ranks, n_ranks};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_group)
        return error_raise(HOOP_E_INVALID, "out_group is NULL");
    const enum hoop_status status =
        group_create_sorted_copy(session, &list, &group);
    if (status != HOOP_OK)
        return error_pass(status);
    qsort(group->ranks, group->n_ranks, sizeof(*group->ranks), compare_ranks);
    *out_group = group;
    return HOOP_OK;
}

enum hoop_status
hoop_group_from_ranks(hoop_session_t *session,
                      const uint32_t *ranks,
                      uint32_t n_ranks,
                      hoop_group_t **out_group)
{
    const struct rank_list list = {ranks, n_ranks};
    const enum hoop_status status =
        group_create_sorted_copy(session, &list, out_group);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
hoop_group_free(hoop_group_t *group)
{
    if (!group)
        return;
    for (size_t i = 0; i < COUNT_OF(group->parts); i++) {
        hoop_comm_free(group->parts[i].comm);
        pthread_mutex_destroy(&group->parts[i].lock);
    }
    free(group);
}

uint32_t
hoop_group_size(const hoop_group_t *group)
{
    return group ? group->n_ranks : 0;
}

const uint32_t *
hoop_group_ranks(const hoop_group_t *group)
{
    return group ? group->ranks : NULL;
}

static bool
group_comm_has_rank(const struct hoop_group *group,
                    enum group_comm_kind part,
                    uint32_t rank)
{
    const struct plan_nodes *nodes = tuning_nodes(group->world->tuning);
    const uint32_t here = hoop_comm_rank(group->world);

    switch (part) {
    case GROUP_COMM_GLOBAL:
        return true;
    case GROUP_COMM_INTER_NODE:
        return nodes->local_of[rank] == nodes->local_of[group->ranks[0]];
    case GROUP_COMM_INTRA_NODE:
        return nodes->node_of[rank] == nodes->node_of[here];
    }
    return false;
}

static enum hoop_status
group_comm_get_or_form(struct hoop_group *group,
                       enum group_comm_kind which,
                       hoop_comm_t **out_comm);

/*
 * The coordinator matches members by their list of ranks. If a part contains
 * all ranks of the group, its list equals that of the global part, and a rank
 * that asks for the part first could be matched with one that asks for the
 * global part. So every rank forms the global one first.
 */
static enum hoop_status
group_comm_form_ranks(struct hoop_group *group,
                      enum group_comm_kind part,
                      const struct rank_list *list)
{
    struct comm_domain *domain = group->world->domain;
    hoop_comm_t *global = NULL;

    if (part != GROUP_COMM_GLOBAL && list->n_ranks == group->n_ranks) {
        const enum hoop_status status =
            group_comm_get_or_form(group, GROUP_COMM_GLOBAL, &global);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return comm_form(domain, list,
                     clock_deadline_ns(domain->forming_timeout_ms),
                     &group->parts[part].comm);
}

/* The part's lock is held, so a second caller finds the communicator. */
static enum hoop_status
group_comm_form(struct hoop_group *group, enum group_comm_kind part)
{
    const uint32_t here = hoop_comm_rank(group->world);
    CLEANUP(free) uint32_t *ranks = calloc(group->n_ranks, sizeof(*ranks));
    struct rank_list list = {ranks, 0};
    bool is_member = false;

    if (!ranks)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    for (uint32_t i = 0; i < group->n_ranks; i++) {
        const uint32_t rank = group->ranks[i];

        if (!group_comm_has_rank(group, part, rank))
            continue;
        ranks[list.n_ranks++] = rank;
        is_member |= rank == here;
    }
    if (!is_member)
        return comm_create_without_context(group->world->domain,
                                           &group->parts[part].comm);
    return group_comm_form_ranks(group, part, &list);
}

/* Locks are taken in the order part, global. */
static enum hoop_status
group_comm_get_or_form(struct hoop_group *group,
                       enum group_comm_kind which,
                       hoop_comm_t **out_comm)
{
    enum hoop_status status = HOOP_OK;
    struct group_comm_cache_slot *part = &group->parts[which];

    pthread_mutex_lock(&part->lock);
    if (!part->comm)
        status = group_comm_form(group, which);
    if (status == HOOP_OK)
        *out_comm = part->comm;
    pthread_mutex_unlock(&part->lock);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
group_comm_get(hoop_group_t *group,
               enum group_comm_kind part,
               hoop_comm_t **out_comm)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!group || !out_comm)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           group ? "out_comm" : "group");
    const enum hoop_status status =
        group_comm_get_or_form(group, part, out_comm);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_group_global_comm(hoop_group_t *group, hoop_comm_t **out_comm)
{
    return group_comm_get(group, GROUP_COMM_GLOBAL, out_comm);
}

enum hoop_status
hoop_group_inter_comm(hoop_group_t *group, hoop_comm_t **out_comm)
{
    return group_comm_get(group, GROUP_COMM_INTER_NODE, out_comm);
}

enum hoop_status
hoop_group_intra_comm(hoop_group_t *group, hoop_comm_t **out_comm)
{
    return group_comm_get(group, GROUP_COMM_INTRA_NODE, out_comm);
}
