/* service/reply_encode.c - encode a reply of the core as an RPC body */

#include "service/reply_encode.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/evidence.h"
#include "base/identity.h"
#include "core/event.h"
#include "rpc/messages/group_messages.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/messages/status_messages.h"
#include "rpc/messages/store_messages.h"
#include "service/why.h"
#include "wire/pack.h"

enum {
    /* The core numbers groups from 1. */
    WORLD_COMMUNICATOR_ID = 0,
};

static void
text_copy_truncated(char *to, size_t n_to, const char *from)
{
    snprintf(to, n_to, "%s", from);
}

/* Return zeroed memory; not NULL if there are no items. */
static void *
reply_list_allocate(size_t n_items, size_t n_bytes_each)
{
    return calloc(n_items > 0 ? n_items : 1, n_bytes_each);
}

static enum hoop_status
no_memory_raise(void)
{
    return error_raise(HOOP_E_EXHAUSTED, "no memory for the reply");
}

void
encoded_roster_deinit(struct encoded_roster *roster)
{
    free(roster->bytes);
    *roster = (struct encoded_roster){0};
}

static enum hoop_status
roster_encode(const struct cluster_join_result *world,
              struct encoded_roster *out)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free)
    struct roster_member *roster =
        reply_list_allocate(world->size, sizeof(*roster));

    if (!roster)
        return no_memory_raise();
    for (uint32_t i = 0; i < world->size; i++) {
        const struct cluster_member *from = &world->roster[i];
        struct roster_member *to = &roster[i];

        to->rank = from->rank;
        to->pid = from->pid;
        to->incarnation = identity_of_incarnation(from->incarnation);
        to->pid_namespace_id = from->pid_namespace_id;
        text_copy_truncated(to->host, sizeof(to->host), from->host);
        text_copy_truncated(to->host_id, sizeof(to->host_id), from->host_id);
        text_copy_truncated(to->address, sizeof(to->address), from->address);
    }
    encoded_roster_deinit(out);
    pack_init(&pack, LIMIT_RPC_BODY);
    message_encode_list(roster_member_descriptor(), roster, world->size, &pack);
    const enum hoop_status status =
        pack_take(&pack, &out->bytes, &out->n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    out->epoch = world->epoch;
    return HOOP_OK;
}

static enum hoop_status
world_encode(const struct cluster_join_result *world,
             struct encoded_roster *roster,
             struct pack *pack)
{
    const bool is_packed = roster->bytes && roster->epoch == world->epoch;
    const enum hoop_status status =
        is_packed ? HOOP_OK : roster_encode(world, roster);
    if (status != HOOP_OK)
        return error_pass(status);
    struct join_reply reply = {
        .epoch = world->epoch,
        .revision = world->revision,
        .world = WORLD_COMMUNICATOR_ID,
        .seed = world->seed,
        .rank = world->rank,
        .size = world->size,
        .lease_ms = world->lease_ms,
        .n_members = world->size,
        .packed_roster = {roster->bytes, roster->n_bytes},
    };

    text_copy_truncated(reply.job, sizeof(reply.job), world->job);
    join_reply_encode(&reply, pack);
    return HOOP_OK;
}

static enum hoop_status
lease_encode(const struct cluster_lease_result *lease,
             const struct reply_encode_context *context,
             struct pack *pack)
{
    lease_reply_encode(
        &(struct lease_reply){.membership_epoch = lease->membership_epoch,
                              .revision = lease->revision,
                              .lease_ms = lease->lease_ms,
                              .clock_ns = context->clock_ns},
        pack);
    return HOOP_OK;
}

static uint32_t
watch_kind_of_change(enum cluster_membership_change_kind kind)
{
    switch (kind) {
    case CLUSTER_CHANGE_FORMED:
        return WATCH_FORMED;
    case CLUSTER_CHANGE_LEFT:
        return WATCH_LEFT;
    case CLUSTER_CHANGE_LOST:
        return WATCH_LOST;
    }
    return 0;
}

static void
change_to_watch_event(const struct cluster_membership_change *from,
                      uint64_t now_ns,
                      struct watch_event *to)
{
    to->kind = watch_kind_of_change(from->kind);
    to->rank = from->rank;
    to->revision = from->revision;
    to->membership_epoch = from->membership_epoch;
    to->incarnation = identity_of_incarnation(from->incarnation);
    to->age_ms = (now_ns - from->when_ns) / CLOCK_NS_PER_MS;
    to->pid = from->pid;
    text_copy_truncated(to->host, sizeof(to->host), from->host);
    text_copy_truncated(to->reason, sizeof(to->reason), from->reason);
    to->evidence =
        from->has_reported_own_failure ? EVIDENCE_GIVEN_UP : EVIDENCE_TOLD;
}

static enum hoop_status
changes_encode(const struct cluster_membership_changes *changes,
               uint64_t now_ns,
               struct pack *pack)
{
    CLEANUP(free)
    struct watch_event *events =
        reply_list_allocate(changes->n_items, sizeof(*events));

    if (!events)
        return no_memory_raise();
    for (size_t i = 0; i < changes->n_items; i++)
        change_to_watch_event(&changes->items[i], now_ns, &events[i]);
    watch_reply_encode(
        &(struct watch_reply){.epoch = changes->world_epoch,
                              .revision = changes->revision,
                              .question = changes->question,
                              .activity_query = changes->activity_query,
                              .recording_query = changes->recording_query,
                              .recording_rank = changes->recording_rank,
                              .n_events = changes->n_items,
                              .events = events},
        pack);
    return HOOP_OK;
}

static enum hoop_status
groups_encode(const struct cluster_groups *from, struct pack *pack)
{
    CLEANUP(free)
    struct group_entry *groups =
        reply_list_allocate(from->n_items, sizeof(*groups));

    if (!groups)
        return no_memory_raise();
    for (size_t i = 0; i < from->n_items; i++) {
        text_copy_truncated(groups[i].key, sizeof(groups[i].key),
                            from->items[i].key);
        groups[i].communicator = from->items[i].communicator;
        groups[i].n_ranks = from->items[i].n_ranks;
        groups[i].ranks = (uint32_t *)from->items[i].ranks; /* never written */
        groups[i].n_joined = from->items[i].n_joined;
    }
    groups_reply_encode(&(struct groups_reply){.n_more = from->n_more,
                                               .n_groups = from->n_items,
                                               .groups = groups},
                        pack);
    return HOOP_OK;
}

static enum hoop_status
group_slot_encode(const struct cluster_group_join_result *group_slot,
                  struct pack *pack)
{
    group_join_reply_encode(
        &(struct group_join_reply){.communicator = group_slot->communicator},
        pack);
    return HOOP_OK;
}

static enum hoop_status
vote_outcome_encode(const struct cluster_vote_outcome *outcome,
                    struct pack *pack)
{
    group_agree_reply_encode(
        &(struct group_agree_reply){
            .flags = outcome->flags,
            .least = outcome->least,
            .communicator = outcome->communicator,
            .membership_epoch = outcome->membership_epoch,
            .n_ranks = outcome->n_ranks,
            .ranks = (uint32_t *)outcome->ranks, /* never written */
        },
        pack);
    return HOOP_OK;
}

static enum hoop_status
missing_members_encode(const struct cluster_missing_members *pending,
                       struct pack *pack)
{
    struct group_awaited_reply reply = {
        .n_ranks = pending->n_ranks,
        .n_present_ranks = pending->n_present_ranks,
    };

    text_copy_truncated(reply.missing, sizeof(reply.missing), pending->missing);
    group_awaited_reply_encode(&reply, pack);
    return HOOP_OK;
}

static enum hoop_status
store_encode(const struct cluster_reply *reply, struct pack *pack)
{
    const struct cluster_store_reply *from = &reply->store;
    CLEANUP(free)
    struct store_entry *entries =
        reply_list_allocate(from->n_entries, sizeof(*entries));

    if (!entries)
        return no_memory_raise();
    for (size_t i = 0; i < from->n_entries; i++) {
        const struct cluster_store_entry *entry = &from->entries[i];

        entries[i].key = entry->key;
        entries[i].is_found = entry->revision > 0;
        entries[i].revision = entry->revision;
        if (entry->value)
            entries[i].value =
                (struct message_span){entry->value, entry->n_bytes};
    }
    store_reply_encode(
        &(struct store_reply){.revision = from->revision,
                              .is_applied = reply->status == HOOP_OK,
                              .counter = from->counter,
                              .n_more = from->n_more,
                              .n_entries = from->n_entries,
                              .entries = entries},
        pack);
    return HOOP_OK;
}

static uint32_t
store_event_kind_of_change(enum cluster_key_change_kind kind)
{
    switch (kind) {
    case CLUSTER_KEY_SET:
        return STORE_EVENT_SET;
    case CLUSTER_KEY_DELETED:
        return STORE_EVENT_DELETED;
    case CLUSTER_KEY_EXPIRED:
        return STORE_EVENT_EXPIRED;
    }
    return 0;
}

static enum hoop_status
key_changes_encode(const struct cluster_key_changes *changes, struct pack *pack)
{
    CLEANUP(free)
    struct store_event *events =
        reply_list_allocate(changes->n_items, sizeof(*events));

    if (!events)
        return no_memory_raise();
    for (size_t i = 0; i < changes->n_items; i++) {
        events[i].kind = store_event_kind_of_change(changes->items[i].kind);
        events[i].revision = changes->items[i].revision;
        events[i].key = changes->items[i].key;
    }
    store_watch_reply_encode(
        &(struct store_watch_reply){.revision = changes->revision,
                                    .n_events = changes->n_items,
                                    .events = events},
        pack);
    return HOOP_OK;
}

static void
job_summary_copy(const struct cluster_job_summary *from, struct job_summary *to)
{
    text_copy_truncated(to->name, sizeof(to->name), from->name);
    text_copy_truncated(to->state, sizeof(to->state),
                        cluster_job_state_name(from->state));
    to->epoch = from->epoch;
    to->size = from->size;
    to->n_members = from->n_members;
    to->n_lost = from->n_lost;
    to->n_left = from->n_left;
    to->age_ms = from->age_ns / CLOCK_NS_PER_MS;
}

static enum hoop_status
jobs_encode(const struct cluster_jobs *from,
            const struct reply_encode_context *context,
            struct pack *pack)
{
    struct jobs_reply reply = {
        .uptime_ms = context->uptime_ms,
        .clock_ms = context->clock_ns / CLOCK_NS_PER_MS,
        .serving = context->serving,
        .n_jobs = from->n_items,
    };
    CLEANUP(free)
    struct job_summary *lines =
        reply_list_allocate(from->n_items, sizeof(*lines));

    if (!lines)
        return no_memory_raise();
    for (size_t i = 0; i < from->n_items; i++)
        job_summary_copy(&from->items[i], &lines[i]);
    text_copy_truncated(reply.version, sizeof(reply.version), context->version);
    reply.jobs = lines;
    jobs_reply_encode(&reply, pack);
    return HOOP_OK;
}

static void
job_member_copy(const struct cluster_member *from, struct job_member *to)
{
    to->rank = from->rank;
    to->pid = from->pid;
    to->incarnation = identity_of_incarnation(from->incarnation);
    text_copy_truncated(to->host, sizeof(to->host), from->host);
    text_copy_truncated(to->address, sizeof(to->address), from->address);
    text_copy_truncated(to->state, sizeof(to->state),
                        cluster_member_state_name(from->state));
    to->lease_left_ms = from->lease_left_ns / CLOCK_NS_PER_MS;
    to->pid_namespace_id = from->pid_namespace_id;
    text_copy_truncated(to->reason, sizeof(to->reason), from->reason);
    to->given_up_revision = from->given_up_revision;
}

static void
rank_activity_copy(const struct cluster_member_activity *from,
                   struct rank_activity *to)
{
    text_copy_truncated(to->silence, sizeof(to->silence), from->silence);
    text_copy_truncated(to->call, sizeof(to->call), from->call);
    text_copy_truncated(to->communicator, sizeof(to->communicator),
                        from->communicator);
    text_copy_truncated(to->waits_for, sizeof(to->waits_for), from->waits_for);
    to->number = from->number;
    to->age_ms = from->age_ms;
    to->n_calls = from->n_calls;
    to->last_sign_ms = from->last_sign_ms;
    to->missing_rank = from->missing_rank;
}

void
encoded_job_deinit(struct encoded_job *job)
{
    free(job->members);
    free(job->activities);
    free(job->totals);
}

enum hoop_status
encoded_job_init(const struct cluster_job_detail *from,
                 struct encoded_job *out_job)
{
    struct job_reply reply = {
        .membership_epoch = from->membership_epoch,
        .revision = from->revision,
        .n_groups = from->n_groups,
        .n_keys = from->n_keys,
        .n_store_bytes = from->n_store_bytes,
        .n_waiters = from->n_waiters,
        .n_members = from->n_members,
        .size_min = from->size_min,
    };
    struct encoded_job job = {
        .members =
            reply_list_allocate(from->n_members, sizeof(struct job_member)),
        .activities =
            reply_list_allocate(from->activities ? from->n_members : 0,
                                sizeof(struct rank_activity)),
        .totals = reply_list_allocate(from->has_totals ? from->n_members : 0,
                                      sizeof(struct rank_totals)),
    };
    struct job_member *members = job.members;
    struct rank_activity *activities = job.activities;
    struct rank_totals *totals = job.totals;

    if (!members || !activities || !totals) {
        encoded_job_deinit(&job);
        return no_memory_raise();
    }
    for (size_t i = 0; from->has_totals && i < from->n_members; i++)
        totals[i] = *from->members[i].totals;
    for (size_t i = 0; i < from->n_members; i++)
        job_member_copy(&from->members[i], &members[i]);
    for (size_t i = 0; from->activities && i < from->n_members; i++)
        rank_activity_copy(&from->activities[i], &activities[i]);
    job_summary_copy(&from->line, &reply.line);
    text_copy_truncated(reply.missing, sizeof(reply.missing), from->missing);
    text_copy_truncated(reply.hosts, sizeof(reply.hosts), from->hosts);
    reply.members = members;
    reply.activities = from->activities ? activities : NULL;
    reply.totals = from->has_totals ? totals : NULL;
    job.reply = reply;
    *out_job = job;
    return HOOP_OK;
}

static enum hoop_status
job_encode(const struct cluster_job_detail *from, struct pack *pack)
{
    CLEANUP(encoded_job_deinit) struct encoded_job job = {0};
    const enum hoop_status status = encoded_job_init(from, &job);

    if (status != HOOP_OK)
        return error_pass(status);
    job_reply_encode(&job.reply, pack);
    return HOOP_OK;
}

static enum hoop_status
recording_encode(const struct cluster_recording *recording, struct pack *pack)
{
    recording_reply_encode(
        &(struct recording_reply){{recording->bytes, recording->n_bytes}},
        pack);
    return HOOP_OK;
}

enum hoop_status
reply_encode_status(const struct cluster_reply *reply)
{
    if (reply->status == HOOP_E_ABORTED && reply->kind == CLUSTER_REPLY_STORE)
        return HOOP_OK;
    return reply->status;
}

enum hoop_status
reply_encode_body(const struct cluster_reply *reply,
                  const struct reply_encode_context *context,
                  struct pack *pack)
{
    switch (reply->kind) {
    case CLUSTER_REPLY_NONE:
        return HOOP_OK;
    case CLUSTER_REPLY_WORLD:
        return world_encode(&reply->world, context->roster, pack);
    case CLUSTER_REPLY_LEASE:
        return lease_encode(&reply->lease, context, pack);
    case CLUSTER_REPLY_CHANGES:
        return changes_encode(&reply->changes, context->now_ns, pack);
    case CLUSTER_REPLY_GROUPS:
        return groups_encode(&reply->groups, pack);
    case CLUSTER_REPLY_GROUP_SLOT:
        return group_slot_encode(&reply->group_slot, pack);
    case CLUSTER_REPLY_VOTE_OUTCOME:
        return vote_outcome_encode(&reply->outcome, pack);
    case CLUSTER_REPLY_MISSING:
        return missing_members_encode(&reply->pending, pack);
    case CLUSTER_REPLY_STORE:
        return store_encode(reply, pack);
    case CLUSTER_REPLY_KEY_CHANGES:
        return key_changes_encode(&reply->key_changes, pack);
    case CLUSTER_REPLY_JOBS:
        return jobs_encode(&reply->jobs, context, pack);
    case CLUSTER_REPLY_WHY:
        return why_encode(&reply->job, pack);
    case CLUSTER_REPLY_JOB:
        return job_encode(&reply->job, pack);
    case CLUSTER_REPLY_RECORDING:
        return recording_encode(&reply->recording, pack);
    }
    return error_raise(HOOP_E_INTERNAL, "the core's reply is of kind %d",
                       (int)reply->kind);
}
