/* rpc/messages/status_messages.c - bodies of operators' requests */

#include "rpc/messages/status_messages.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "rpc/messages/reader.h"
#include "wire/pack.h"

enum {
    HEALTH_REQUEST_FIELDS = 1,
    HEALTH_REPLY_FIELDS = 1,
    JOB_LINE_FIELDS = 8,
    JOBS_REPLY_FIELDS = 4, /* and an optional one */
    JOB_MEMBER_FIELDS = 7, /* and three optional ones */
    JOB_REQUEST_FIELDS = 2,
    JOB_REPLY_FIELDS = 8,
    JOB_FORMING_FIELDS = 3,  /* optional, after the fields above */
    JOB_ACTIVITY_FIELDS = 1, /* optional, after the fields above */
    RANK_ACTIVITY_FIELDS = 7,
};

void
health_request_encode(const struct health_request *request, struct pack *pack)
{
    pack_array(pack, HEALTH_REQUEST_FIELDS);
    pack_str(pack, request->service);
}

enum hoop_status
health_request_decode(struct message_span in,
                      struct health_request *out_request)
{
    struct health_request request = {0};
    struct unpack unpack;

    const size_t n_unknown = message_open(&unpack, in, HEALTH_REQUEST_FIELDS);
    unpack_text(&unpack, request.service, sizeof(request.service));

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
health_reply_encode(const struct health_reply *reply, struct pack *pack)
{
    pack_array(pack, HEALTH_REPLY_FIELDS);
    pack_uint(pack, reply->serving);
}

enum hoop_status
health_reply_decode(struct message_span in, struct health_reply *out_reply)
{
    struct health_reply reply = {0};
    struct unpack unpack;

    const size_t n_unknown = message_open(&unpack, in, HEALTH_REPLY_FIELDS);
    reply.serving = message_read_u32(&unpack);

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    return HOOP_OK;
}

static void
job_summary_encode(const struct job_summary *line, struct pack *pack)
{
    pack_array(pack, JOB_LINE_FIELDS);
    pack_str(pack, line->name);
    pack_str(pack, line->state);
    pack_uint(pack, line->epoch);
    pack_uint(pack, line->size);
    pack_uint(pack, line->n_members);
    pack_uint(pack, line->n_lost);
    pack_uint(pack, line->n_left);
    pack_uint(pack, line->age_ms);
}

static void
job_summary_read(struct unpack *unpack, struct job_summary *line)
{
    const size_t n_unknown = message_open_array(unpack, JOB_LINE_FIELDS);

    unpack_text(unpack, line->name, sizeof(line->name));
    unpack_text(unpack, line->state, sizeof(line->state));
    line->epoch = message_read_u64(unpack);
    line->size = message_read_u32(unpack);
    line->n_members = message_read_u32(unpack);
    line->n_lost = message_read_u32(unpack);
    line->n_left = message_read_u32(unpack);
    line->age_ms = message_read_u64(unpack);
    unpack_skip(unpack, n_unknown);
}

void
jobs_reply_encode(const struct jobs_reply *reply, struct pack *pack)
{
    pack_array(pack, JOBS_REPLY_FIELDS + 1);
    pack_str(pack, reply->version);
    pack_uint(pack, reply->uptime_ms);
    pack_uint(pack, reply->serving);
    pack_array(pack, reply->n_jobs);
    for (size_t i = 0; i < reply->n_jobs; i++)
        job_summary_encode(&reply->jobs[i], pack);
    pack_uint(pack, reply->clock_ms);
}

enum hoop_status
jobs_reply_decode(struct message_span in, struct jobs_reply *out_reply)
{
    CLEANUP(jobs_reply_deinit) struct jobs_reply reply = {0};
    struct message_items items;
    struct unpack unpack;

    size_t n_unknown = message_open(&unpack, in, JOBS_REPLY_FIELDS);
    unpack_text(&unpack, reply.version, sizeof(reply.version));
    reply.uptime_ms = message_read_u64(&unpack);
    reply.serving = message_read_u32(&unpack);

    enum hoop_status status =
        message_list_open(&unpack,
                          &(struct message_list){LIMIT_JOBS + LIMIT_ENDED_JOBS,
                                                 sizeof(*reply.jobs)},
                          &items);
    if (status != HOOP_OK)
        return error_pass(status);
    reply.jobs = items.first;
    reply.n_jobs = items.n_items;
    for (size_t i = 0; i < reply.n_jobs; i++)
        job_summary_read(&unpack, &reply.jobs[i]);
    if (n_unknown > 0) {
        reply.clock_ms = message_read_u64(&unpack);
        n_unknown--;
    }

    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    reply.jobs = NULL;
    return HOOP_OK;
}

void
jobs_reply_deinit(struct jobs_reply *reply)
{
    free(reply->jobs);
    *reply = (struct jobs_reply){0};
}

static void
job_member_encode(const struct job_member *member, struct pack *pack)
{
    pack_array(pack, JOB_MEMBER_FIELDS + 3);
    pack_uint(pack, member->rank);
    pack_uint(pack, member->pid);
    pack_uint(pack, member->incarnation);
    pack_str(pack, member->host);
    pack_str(pack, member->address);
    pack_str(pack, member->state);
    pack_uint(pack, member->lease_left_ms);
    pack_uint(pack, member->pid_namespace_id);
    pack_str(pack, member->reason);
    pack_uint(pack, member->given_up_revision);
}

static void
job_member_read(struct unpack *unpack, struct job_member *member)
{
    size_t n_unknown = message_open_array(unpack, JOB_MEMBER_FIELDS);

    member->rank = message_read_u32(unpack);
    member->pid = message_read_u32(unpack);
    member->incarnation = message_read_u64(unpack);
    unpack_text(unpack, member->host, sizeof(member->host));
    unpack_text(unpack, member->address, sizeof(member->address));
    unpack_text(unpack, member->state, sizeof(member->state));
    member->lease_left_ms = message_read_u64(unpack);
    if (n_unknown > 0) {
        member->pid_namespace_id = message_read_u64(unpack);
        n_unknown--;
    }
    if (n_unknown > 0) {
        unpack_text(unpack, member->reason, sizeof(member->reason));
        n_unknown--;
    }
    if (n_unknown > 0) {
        member->given_up_revision = message_read_u64(unpack);
        n_unknown--;
    }
    unpack_skip(unpack, n_unknown);
}

void
rank_activity_encode(const struct rank_activity *activity, struct pack *pack)
{
    pack_array(pack, RANK_ACTIVITY_FIELDS);
    pack_str(pack, activity->silence);
    pack_str(pack, activity->call);
    pack_str(pack, activity->communicator);
    pack_str(pack, activity->waits_for);
    pack_uint(pack, activity->number);
    pack_uint(pack, activity->age_ms);
    pack_uint(pack, activity->n_calls);
}

void
rank_activity_read(struct unpack *unpack, struct rank_activity *activity)
{
    const size_t n_unknown = message_open_array(unpack, RANK_ACTIVITY_FIELDS);

    unpack_text(unpack, activity->silence, sizeof(activity->silence));
    unpack_text(unpack, activity->call, sizeof(activity->call));
    unpack_text(unpack, activity->communicator, sizeof(activity->communicator));
    unpack_text(unpack, activity->waits_for, sizeof(activity->waits_for));
    activity->number = message_read_u64(unpack);
    activity->age_ms = message_read_u64(unpack);
    activity->n_calls = message_read_u32(unpack);
    unpack_skip(unpack, n_unknown);
}

/* There are either no activities or one for each member. */
static enum hoop_status
activities_read(struct unpack *unpack, struct job_reply *reply)
{
    struct message_items items;
    const enum hoop_status status = message_list_open(
        unpack, &(struct message_list){LIMIT_RANKS, sizeof(*reply->activities)},
        &items);

    if (status != HOOP_OK)
        return error_pass(status);
    reply->activities = items.first;
    for (size_t i = 0; i < items.n_items; i++)
        rank_activity_read(unpack, &reply->activities[i]);
    if (items.n_items > 0 && items.n_items != reply->n_members)
        return error_raise(HOOP_E_DATA_LOSS, "%zu activities of %zu members",
                           items.n_items, reply->n_members);
    return HOOP_OK;
}

void
job_request_encode(const struct job_request *request, struct pack *pack)
{
    pack_array(pack, JOB_REQUEST_FIELDS);
    pack_uint(pack, request->is_brief);
    pack_uint(pack, request->asks);
}

enum hoop_status
job_request_decode(struct message_span in, struct job_request *out_request)
{
    struct job_request request = {0};
    struct unpack unpack;

    /* Older clients send no fields. */
    size_t n_unknown = message_open(&unpack, in, 0);
    if (n_unknown > 0) {
        request.is_brief = message_read_u32(&unpack);
        n_unknown--;
    }
    if (n_unknown > 0) {
        request.asks = message_read_u32(&unpack);
        n_unknown--;
    }

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
job_reply_encode(const struct job_reply *reply, struct pack *pack)
{
    const size_t n_activities = reply->activities ? reply->n_members : 0;

    pack_array(pack,
               JOB_REPLY_FIELDS + JOB_FORMING_FIELDS + JOB_ACTIVITY_FIELDS);
    job_summary_encode(&reply->line, pack);
    pack_uint(pack, reply->membership_epoch);
    pack_uint(pack, reply->revision);
    pack_uint(pack, reply->n_groups);
    pack_uint(pack, reply->n_keys);
    pack_uint(pack, reply->n_store_bytes);
    pack_uint(pack, reply->n_waiters);
    pack_array(pack, reply->n_members);
    for (size_t i = 0; i < reply->n_members; i++)
        job_member_encode(&reply->members[i], pack);
    pack_uint(pack, reply->size_min);
    pack_str(pack, reply->missing);
    pack_str(pack, reply->hosts);
    pack_array(pack, n_activities);
    for (size_t i = 0; i < n_activities; i++)
        rank_activity_encode(&reply->activities[i], pack);
}

enum hoop_status
job_reply_decode(struct message_span in, struct job_reply *out_reply)
{
    CLEANUP(job_reply_deinit) struct job_reply reply = {0};
    struct message_items items;
    struct unpack unpack;

    size_t n_unknown = message_open(&unpack, in, JOB_REPLY_FIELDS);
    job_summary_read(&unpack, &reply.line);
    reply.membership_epoch = message_read_u64(&unpack);
    reply.revision = message_read_u64(&unpack);
    reply.n_groups = message_read_u64(&unpack);
    reply.n_keys = message_read_u64(&unpack);
    reply.n_store_bytes = message_read_u64(&unpack);
    reply.n_waiters = message_read_u64(&unpack);

    enum hoop_status status = message_list_open(
        &unpack, &(struct message_list){LIMIT_RANKS, sizeof(*reply.members)},
        &items);
    if (status != HOOP_OK)
        return error_pass(status);
    reply.members = items.first;
    reply.n_members = items.n_items;
    for (size_t i = 0; i < reply.n_members; i++)
        job_member_read(&unpack, &reply.members[i]);
    if (n_unknown >= JOB_FORMING_FIELDS) {
        reply.size_min = message_read_u32(&unpack);
        unpack_text(&unpack, reply.missing, sizeof(reply.missing));
        unpack_text(&unpack, reply.hosts, sizeof(reply.hosts));
        n_unknown -= JOB_FORMING_FIELDS;
    }
    if (n_unknown > 0) {
        status = activities_read(&unpack, &reply);
        n_unknown--;
    }
    if (status != HOOP_OK)
        return error_pass(status);

    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    reply.members = NULL;
    reply.activities = NULL;
    return HOOP_OK;
}

void
job_reply_deinit(struct job_reply *reply)
{
    free(reply->members);
    free(reply->activities);
    *reply = (struct job_reply){0};
}
