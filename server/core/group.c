/* core/group.c - the communicators of a world: named groups and joined
 * groups */

#include "core/group.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/memory.h"
#include "core/vote.h"

/* First character of the keys that the coordinator makes itself. */
static const char JOINED_GROUP_KEY_PREFIX = '@';

static void
group_free(struct group *group)
{
    struct memory_account *memory = &group->job->memory;

    memory_free_charged(memory, group->slots);
    memory_free_charged(memory, group);
}

void
groups_deinit(struct groups *groups)
{
    struct group *group = groups->group_table;

    HASH_CLEAR(hh, groups->group_table);
    while (group) {
        struct group *next = group->hh.next;

        group_free(group);
        group = next;
    }
}

void
group_remove_from_job(struct cluster *cluster, struct group *group)
{
    struct groups *groups = &group->job->groups;

    votes_remove_of_group(cluster, group);
    HASH_DEL(groups->group_table, group);
    job_recount_table_bytes(group->job);
    groups->n_groups--;
    groups->n_ranks -= group->shown.n_ranks;
    STAILQ_INSERT_TAIL(&cluster->retired_groups, group, retired_link);
}

void
groups_free_retired(struct cluster *cluster)
{
    while (!STAILQ_EMPTY(&cluster->retired_groups)) {
        struct group *group = STAILQ_FIRST(&cluster->retired_groups);

        STAILQ_REMOVE_HEAD(&cluster->retired_groups, retired_link);
        group_free(group);
    }
}

static enum hoop_status
group_key_check(const char *key)
{
    if (!key || !*key || strnlen(key, LIMIT_NAME) == LIMIT_NAME)
        return error_raise(HOOP_E_INVALID,
                           "the key of a group has 1 to %d bytes",
                           LIMIT_NAME - 1);
    return HOOP_OK;
}

static struct group *
group_find(const struct job *job, const char *key)
{
    struct group *group = NULL;

    HASH_FIND_STR(job->groups.group_table, key, group);
    return group;
}

static enum hoop_status
group_rank_check(const struct job *job, uint32_t rank, bool *is_named)
{
    if (rank >= job->world.size)
        return error_raise(HOOP_E_INVALID,
                           "a group has rank %u, but job \"%s\" %u ranks", rank,
                           job->name, job->world.size);
    if (is_named[rank])
        return error_raise(HOOP_E_INVALID, "a group has rank %u twice", rank);

    const struct member *member = job->world.ranks[rank];

    if (member->state != CLUSTER_MEMBER_ACTIVE)
        return error_raise(
            member_end_status(member), "a group cannot have %s, who %s",
            member_label(member).text, member_end_text(member).text);
    is_named[rank] = true;
    return HOOP_OK;
}

static enum hoop_status
group_check_ranks(const struct job *job, const struct cluster_group_call *call)
{
    enum hoop_status status = HOOP_OK;

    if (!call->n_ranks || call->n_ranks > job->world.size)
        return error_raise(HOOP_E_INVALID,
                           "a group of job \"%s\" has 1 to %u ranks, not %u",
                           job->name, job->world.size, call->n_ranks);

    bool *is_named = memory_calloc(job->world.size, sizeof(*is_named));

    for (uint32_t i = 0; i < call->n_ranks && status == HOOP_OK; i++)
        status = group_rank_check(job, call->ranks[i], is_named);
    free(is_named);
    return status;
}

static enum hoop_status
group_limits_check(const struct job *job, uint32_t n_ranks)
{
    if (job->groups.n_groups >= LIMIT_GROUPS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "job \"%s\" has %d groups, the limit", job->name,
                           LIMIT_GROUPS);
    if (job->groups.n_ranks + n_ranks > LIMIT_GROUP_RANKS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "the groups of job \"%s\" have more than %d ranks "
                           "in all, the limit",
                           job->name, LIMIT_GROUP_RANKS);
    return memory_check_limit(
        &job->memory,
        sizeof(struct group) + LIMIT_NAME +
            n_ranks * (sizeof(uint32_t) + sizeof(struct group_slot)));
}

static struct group *
group_add(struct job *job,
          const struct cluster_group_call *call,
          uint64_t communicator)
{
    const size_t n_bytes = call->n_ranks * sizeof(*call->ranks);
    const size_t n_key_bytes = strlen(call->key) + 1;
    struct group *group = memory_alloc_charged(
        &job->memory, 1, sizeof(struct group) + n_bytes + n_key_bytes);
    char *key = (char *)group->ranks + n_bytes;

    memcpy(group->ranks, call->ranks, n_bytes);
    memcpy(key, call->key, n_key_bytes);
    group->job = job;
    group->shown = (struct cluster_group){
        .key = key,
        .communicator = communicator,
        .ranks = group->ranks,
        .n_ranks = call->n_ranks,
    };
    HASH_ADD_KEYPTR(hh, job->groups.group_table, key, n_key_bytes - 1, group);
    job_recount_table_bytes(job);
    job->groups.n_groups++;
    job->groups.n_ranks += call->n_ranks;
    return group;
}

enum hoop_status
group_create_joined(struct job *job,
                    const struct cluster_group_slot_call *call,
                    struct group **out_group)
{
    char key[LIMIT_NAME];
    const struct cluster_group_call named = {
        .key = key,
        .ranks = call->ranks,
        .n_ranks = call->n_ranks,
    };
    enum hoop_status status = group_check_ranks(job, &named);

    if (status == HOOP_OK)
        status = group_limits_check(job, call->n_ranks);
    if (status != HOOP_OK)
        return error_pass(status);
    snprintf(key, sizeof(key), "%c%" PRIu64, JOINED_GROUP_KEY_PREFIX,
             job->groups.communicator + 1);
    *out_group = group_add(job, &named, ++job->groups.communicator);
    (*out_group)->slots = memory_alloc_charged(&job->memory, call->n_ranks,
                                               sizeof(*(*out_group)->slots));
    return HOOP_OK;
}

/* Check a group's record. The world and the groups before this one have been
 * restored. */
static enum hoop_status
group_record_check(const struct job *job,
                   const struct cluster_group_call *call,
                   uint64_t communicator)
{
    for (uint32_t i = 0; i < call->n_ranks; i++) {
        if (call->ranks[i] >= job->world.size)
            return error_raise(HOOP_E_DATA_LOSS,
                               "a group has rank %u of %u ranks",
                               call->ranks[i], job->world.size);
    }
    if (!communicator || communicator > job->groups.communicator)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a group has a communicator that was never given");
    if (!call->n_ranks || call->n_ranks > job->world.size ||
        group_find(job, call->key))
        return error_raise(HOOP_E_DATA_LOSS,
                           "a group is there twice, or has no ranks");
    return group_limits_check(job, call->n_ranks);
}

enum hoop_status
group_recover(struct job *job,
              const struct cluster_group_call *call,
              uint64_t communicator,
              struct group **out_group)
{
    enum hoop_status status = group_key_check(call->key);

    if (status == HOOP_OK)
        status = group_record_check(job, call, communicator);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_group = group_add(job, call, communicator);
    return HOOP_OK;
}

struct group *
group_find_formed(const struct job *job, uint64_t communicator)
{
    char key[LIMIT_NAME];

    snprintf(key, sizeof(key), "%c%" PRIu64, JOINED_GROUP_KEY_PREFIX,
             communicator);

    struct group *group = group_find(job, key);

    return group && group->is_formed ? group : NULL;
}

static struct cluster_group
group_public_view(const struct group *group)
{
    struct cluster_group view = group->shown;

    view.n_joined = group->slots ? group->n_taken_slots : view.n_ranks;
    return view;
}

static void
group_reply_add(struct cluster *cluster,
                const struct group *group,
                const struct cluster_event *event)
{
    struct cluster_group *item =
        action_list_alloc(&cluster->action_list, 1, sizeof(*item));
    struct cluster_reply *reply =
        action_list_add_reply(&cluster->action_list, event->ticket);

    *item = group_public_view(group);
    reply->kind = CLUSTER_REPLY_GROUPS;
    reply->groups = (struct cluster_groups){.items = item, .n_items = 1};
}

static enum hoop_status
group_check_same_ranks(const struct job *job,
                       const struct group *group,
                       const struct cluster_group_call *call)
{
    const struct cluster_group *shown = &group->shown;

    if (shown->n_ranks == call->n_ranks &&
        memcmp(shown->ranks, call->ranks,
               call->n_ranks * sizeof(*call->ranks)) == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_EXISTS,
                       "job \"%s\" has a group \"%s\" of %u ranks that are not "
                       "these %u: use the same ranks in the same order",
                       job->name, shown->key, shown->n_ranks, call->n_ranks);
}

static struct group *
group_create_named(struct cluster *cluster,
                   struct job *job,
                   const struct cluster_group_call *call)
{
    struct group *group = group_add(job, call, ++job->groups.communicator);

    journal_write_job(cluster, job);
    journal_write_group(cluster, group);
    return group;
}

enum hoop_status
group_create(struct cluster *cluster,
             struct job *job,
             const struct cluster_event *event)
{
    const struct cluster_group_call *call = &event->group;
    struct member *creator = NULL;
    enum hoop_status status =
        job_find_active_member(job, &call->creator, &creator);

    if (status == HOOP_OK)
        status = group_key_check(call->key);
    if (status != HOOP_OK)
        return error_pass(status);
    if (*call->key == JOINED_GROUP_KEY_PREFIX)
        return error_raise(HOOP_E_INVALID,
                           "the keys of the coordinator's own groups begin "
                           "with '%c': \"%s\" cannot be created",
                           JOINED_GROUP_KEY_PREFIX, call->key);

    struct group *group = group_find(job, call->key);

    if (group) {
        status = group_check_same_ranks(job, group, call);
    } else {
        status = group_check_ranks(job, call);
        if (status == HOOP_OK)
            status = group_limits_check(job, call->n_ranks);
        if (status == HOOP_OK)
            group = group_create_named(cluster, job, call);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    group_reply_add(cluster, group, event);
    return HOOP_OK;
}

enum hoop_status
group_get(struct cluster *cluster,
          struct job *job,
          const struct cluster_event *event)
{
    const enum hoop_status status = group_key_check(event->group.key);

    if (status != HOOP_OK)
        return error_pass(status);

    const struct group *group = group_find(job, event->group.key);

    if (!group)
        return error_raise(HOOP_E_NOT_FOUND, "job \"%s\" has no group \"%s\"",
                           job->name, event->group.key);
    group_reply_add(cluster, group, event);
    return HOOP_OK;
}

/* Return the first group after communicator. Ids ascend in the order of
 * creation, so this works even if a group was removed between two pages. */
static const struct group *
group_find_after_id(const struct job *job, uint64_t communicator)
{
    const struct group *group = job->groups.group_table;

    while (group && group->shown.communicator <= communicator)
        group = group->hh.next;
    return group;
}

/* Find the first group of a page: the one after key, or the first one. Handle:
 * HOOP_E_NOT_FOUND. */
static enum hoop_status
group_find_page_start(const struct job *job,
                      const char *after,
                      const struct group **out_first)
{
    if (!after || !*after) {
        *out_first = job->groups.group_table;
        return HOOP_OK;
    }

    const enum hoop_status status = group_key_check(after);

    if (status != HOOP_OK)
        return error_pass(status);

    const struct group *group = group_find(job, after);

    if (group)
        group = group->hh.next;
    else if (*after == JOINED_GROUP_KEY_PREFIX)
        group = group_find_after_id(job, strtoull(after + 1, NULL, 10));
    else
        return error_raise(HOOP_E_NOT_FOUND, "job \"%s\" has no group \"%s\"",
                           job->name, after);
    *out_first = group;
    return HOOP_OK;
}

enum hoop_status
group_list(struct cluster *cluster,
           struct job *job,
           const struct cluster_event *event)
{
    const struct group *group = NULL;
    const enum hoop_status status =
        group_find_page_start(job, event->group.key, &group);

    if (status != HOOP_OK)
        return error_pass(status);

    struct cluster_group *items =
        action_list_alloc(&cluster->action_list, LIMIT_LIST_PAGE_ENTRIES,
                          sizeof(struct cluster_group));
    struct cluster_groups groups = {.items = items};
    size_t n_ranks = 0;

    for (; group; group = group->hh.next) {
        n_ranks += group->shown.n_ranks;
        if (groups.n_items == LIMIT_LIST_PAGE_ENTRIES ||
            (groups.n_items && n_ranks > LIMIT_RANKS) || groups.n_more)
            groups.n_more++;
        else
            items[groups.n_items++] = group_public_view(group);
    }

    struct cluster_reply *reply =
        action_list_add_reply(&cluster->action_list, event->ticket);

    reply->kind = CLUSTER_REPLY_GROUPS;
    reply->groups = groups;
    return HOOP_OK;
}
