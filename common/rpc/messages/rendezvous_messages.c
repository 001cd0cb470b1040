/* rpc/messages/rendezvous_messages.c - bodies of hoop.v1.Rendezvous */

#include "rpc/messages/rendezvous_messages.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "rpc/messages/reader.h"
#include "wire/pack.h"

enum {
    JOIN_REQUEST_FIELDS = 11, /* and three optional ones */
    JOIN_FORMED_FIELDS = 2,   /* and three optional ones */
    ROSTER_MEMBER_FIELDS = 6, /* and an optional one */
    JOIN_REPLY_FIELDS = 8,    /* and an optional one */
    MEMBER_REQUEST_FIELDS = 2,
    LEASE_REPLY_FIELDS = 3,
    REPORT_REQUEST_FIELDS = 5,
    WATCH_REQUEST_FIELDS = 2,
    WATCH_EVENT_FIELDS = 9,
    WATCH_REPLY_FIELDS = 3,
};

void
join_request_encode(const struct join_request *request, struct pack *pack)
{
    pack_array(pack, JOIN_REQUEST_FIELDS + 3);
    pack_uint(pack, request->incarnation);
    pack_uint(pack, request->protocol);
    pack_uint(pack, request->rank);
    pack_uint(pack, request->world_size);
    pack_uint(pack, request->size_min);
    pack_uint(pack, request->settle_ms);
    pack_uint(pack, request->deadline_ms);
    pack_uint(pack, request->pid);
    pack_str(pack, request->host);
    pack_str(pack, request->host_id);
    pack_str(pack, request->address);
    pack_uint(pack, request->least_accepted_rank);
    pack_uint(pack, request->pid_namespace_id);
    pack_array(pack, JOIN_FORMED_FIELDS + 3);
    pack_uint(pack, request->ended_epoch);
    pack_bin(pack, request->ended.bytes, request->ended.n_bytes);
    pack_str(pack, request->root);
    pack_uint(pack, request->membership);
    pack_uint(pack, request->rank_use);
}

/* Read the fields that concern a job that has formed. */
static void
join_request_read_formed(struct unpack *unpack, struct join_request *request)
{
    size_t n_unknown = message_open_array(unpack, JOIN_FORMED_FIELDS);

    request->ended_epoch = message_read_u64(unpack);
    request->ended = message_read_bin(unpack, LIMIT_RANKS);
    if (n_unknown >= 3) {
        unpack_text(unpack, request->root, sizeof(request->root));
        request->membership = message_read_u64(unpack);
        request->rank_use = message_read_u32(unpack);
        n_unknown -= 3;
    }
    unpack_skip(unpack, n_unknown);
}

enum hoop_status
join_request_decode(struct message_span in, struct join_request *out_request)
{
    struct join_request request = {0};
    struct unpack unpack;

    size_t n_unknown = message_open(&unpack, in, JOIN_REQUEST_FIELDS);
    request.incarnation = message_read_u64(&unpack);
    request.protocol = message_read_u32(&unpack);
    request.rank = message_read_u32(&unpack);
    request.world_size = message_read_u32(&unpack);
    request.size_min = message_read_u32(&unpack);
    request.settle_ms = message_read_u32(&unpack);
    request.deadline_ms = message_read_u32(&unpack);
    request.pid = message_read_u32(&unpack);
    unpack_text(&unpack, request.host, sizeof(request.host));
    unpack_text(&unpack, request.host_id, sizeof(request.host_id));
    unpack_text(&unpack, request.address, sizeof(request.address));
    if (n_unknown > 0) {
        request.least_accepted_rank = message_read_u32(&unpack);
        n_unknown--;
    }
    if (n_unknown > 0) {
        request.pid_namespace_id = message_read_u64(&unpack);
        n_unknown--;
    }
    if (n_unknown > 0) {
        join_request_read_formed(&unpack, &request);
        n_unknown--;
    }

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

static void
roster_member_encode(const struct roster_member *member, struct pack *pack)
{
    pack_array(pack, ROSTER_MEMBER_FIELDS + 1);
    pack_uint(pack, member->rank);
    pack_uint(pack, member->pid);
    pack_uint(pack, member->incarnation);
    pack_str(pack, member->host);
    pack_str(pack, member->host_id);
    pack_str(pack, member->address);
    pack_uint(pack, member->pid_namespace_id);
}

static void
roster_member_read(struct unpack *unpack, struct roster_member *member)
{
    size_t n_unknown = message_open_array(unpack, ROSTER_MEMBER_FIELDS);

    member->rank = message_read_u32(unpack);
    member->pid = message_read_u32(unpack);
    member->incarnation = message_read_u64(unpack);
    unpack_text(unpack, member->host, sizeof(member->host));
    unpack_text(unpack, member->host_id, sizeof(member->host_id));
    unpack_text(unpack, member->address, sizeof(member->address));
    if (n_unknown > 0) {
        member->pid_namespace_id = message_read_u64(unpack);
        n_unknown--;
    }
    unpack_skip(unpack, n_unknown);
}

void
join_roster_encode(const struct roster_member *roster,
                   size_t n_members,
                   struct pack *pack)
{
    pack_array(pack, n_members);
    for (size_t i = 0; i < n_members; i++)
        roster_member_encode(&roster[i], pack);
}

void
join_reply_encode(const struct join_reply *reply, struct pack *pack)
{
    pack_array(pack, JOIN_REPLY_FIELDS + 1);
    pack_uint(pack, reply->epoch);
    pack_uint(pack, reply->revision);
    pack_uint(pack, reply->world);
    pack_uint(pack, reply->seed);
    pack_uint(pack, reply->rank);
    pack_uint(pack, reply->size);
    pack_uint(pack, reply->lease_ms);
    if (reply->packed_roster.n_bytes > 0)
        pack_packed(pack, reply->packed_roster.bytes,
                    reply->packed_roster.n_bytes);
    else
        join_roster_encode(reply->roster, reply->n_members, pack);
    pack_str(pack, reply->job);
}

enum hoop_status
join_reply_decode(struct message_span in, struct join_reply *out_reply)
{
    CLEANUP(join_reply_deinit) struct join_reply reply = {0};
    struct message_items items;
    struct unpack unpack;

    size_t n_unknown = message_open(&unpack, in, JOIN_REPLY_FIELDS);
    reply.epoch = message_read_u64(&unpack);
    reply.revision = message_read_u64(&unpack);
    reply.world = message_read_u64(&unpack);
    reply.seed = message_read_u64(&unpack);
    reply.rank = message_read_u32(&unpack);
    reply.size = message_read_u32(&unpack);
    reply.lease_ms = message_read_u32(&unpack);

    enum hoop_status status = message_list_open(
        &unpack, &(struct message_list){LIMIT_RANKS, sizeof(*reply.roster)},
        &items);
    if (status != HOOP_OK)
        return error_pass(status);
    reply.roster = items.first;
    reply.n_members = items.n_items;
    for (size_t i = 0; i < reply.n_members; i++)
        roster_member_read(&unpack, &reply.roster[i]);
    if (n_unknown > 0) {
        unpack_text(&unpack, reply.job, sizeof(reply.job));
        n_unknown--;
    }

    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    reply.roster = NULL;
    return HOOP_OK;
}

void
join_reply_deinit(struct join_reply *reply)
{
    free(reply->roster);
    *reply = (struct join_reply){0};
}

void
member_request_encode(const struct member_request *request, struct pack *pack)
{
    pack_array(pack, MEMBER_REQUEST_FIELDS);
    pack_uint(pack, request->epoch);
    pack_uint(pack, request->incarnation);
}

enum hoop_status
member_request_decode(struct message_span in,
                      struct member_request *out_request)
{
    struct member_request request = {0};
    struct unpack unpack;

    const size_t n_unknown = message_open(&unpack, in, MEMBER_REQUEST_FIELDS);
    request.epoch = message_read_u64(&unpack);
    request.incarnation = message_read_u64(&unpack);

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
renew_request_encode(const struct renew_request *request, struct pack *pack)
{
    pack_array(pack, MEMBER_REQUEST_FIELDS + 4);
    pack_uint(pack, request->member.epoch);
    pack_uint(pack, request->member.incarnation);
    pack_uint(pack, request->question);
    pack_bin(pack, request->views.bytes, request->views.n_bytes);
    pack_uint(pack, request->activity_query);
    rank_activity_encode(&request->activity, pack);
}

enum hoop_status
renew_request_decode(struct message_span in, struct renew_request *out_request)
{
    struct renew_request request = {0};
    struct unpack unpack;

    size_t n_unknown = message_open(&unpack, in, MEMBER_REQUEST_FIELDS);
    request.member.epoch = message_read_u64(&unpack);
    request.member.incarnation = message_read_u64(&unpack);
    if (n_unknown >= 2) {
        request.question = message_read_u64(&unpack);
        request.views = message_read_bin(&unpack, LIMIT_RANKS);
        n_unknown -= 2;
    }
    if (n_unknown >= 2) {
        request.activity_query = message_read_u64(&unpack);
        rank_activity_read(&unpack, &request.activity);
        n_unknown -= 2;
    }

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
lease_reply_encode(const struct lease_reply *reply, struct pack *pack)
{
    pack_array(pack, LEASE_REPLY_FIELDS);
    pack_uint(pack, reply->membership_epoch);
    pack_uint(pack, reply->revision);
    pack_uint(pack, reply->lease_ms);
}

enum hoop_status
lease_reply_decode(struct message_span in, struct lease_reply *out_reply)
{
    struct lease_reply reply = {0};
    struct unpack unpack;

    const size_t n_unknown = message_open(&unpack, in, LEASE_REPLY_FIELDS);
    reply.membership_epoch = message_read_u64(&unpack);
    reply.revision = message_read_u64(&unpack);
    reply.lease_ms = message_read_u32(&unpack);

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    return HOOP_OK;
}

void
report_request_encode(const struct report_request *request, struct pack *pack)
{
    pack_array(pack, REPORT_REQUEST_FIELDS + 2);
    pack_uint(pack, request->reporter.epoch);
    pack_uint(pack, request->reporter.incarnation);
    pack_uint(pack, request->rank);
    pack_uint(pack, request->incarnation);
    pack_str(pack, request->reason);
    pack_uint(pack, request->evidence);
    pack_uint(pack, request->slack_ms);
}

enum hoop_status
report_request_decode(struct message_span in,
                      struct report_request *out_request)
{
    struct report_request request = {0};
    struct unpack unpack;

    size_t n_unknown = message_open(&unpack, in, REPORT_REQUEST_FIELDS);
    request.reporter.epoch = message_read_u64(&unpack);
    request.reporter.incarnation = message_read_u64(&unpack);
    request.rank = message_read_u32(&unpack);
    request.incarnation = message_read_u64(&unpack);
    unpack_text(&unpack, request.reason, sizeof(request.reason));
    if (n_unknown >= 2) {
        request.evidence = message_read_u32(&unpack);
        request.slack_ms = message_read_u32(&unpack);
        n_unknown -= 2;
    }

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

void
watch_request_encode(const struct watch_request *request, struct pack *pack)
{
    pack_array(pack, WATCH_REQUEST_FIELDS + 2);
    pack_uint(pack, request->epoch);
    pack_uint(pack, request->since);
    pack_uint(pack, request->question);
    pack_uint(pack, request->activity_query);
}

enum hoop_status
watch_request_decode(struct message_span in, struct watch_request *out_request)
{
    struct watch_request request = {.question = WATCH_NO_QUESTION,
                                    .activity_query = WATCH_NO_QUESTION};
    struct unpack unpack;

    size_t n_unknown = message_open(&unpack, in, WATCH_REQUEST_FIELDS);
    request.epoch = message_read_u64(&unpack);
    request.since = message_read_u64(&unpack);
    if (n_unknown > 0) {
        request.question = message_read_u64(&unpack);
        n_unknown--;
    }
    if (n_unknown > 0) {
        request.activity_query = message_read_u64(&unpack);
        n_unknown--;
    }

    const enum hoop_status status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}

static void
watch_event_encode(const struct watch_event *event, struct pack *pack)
{
    pack_array(pack, WATCH_EVENT_FIELDS + 1);
    pack_uint(pack, event->kind);
    pack_uint(pack, event->rank);
    pack_uint(pack, event->revision);
    pack_uint(pack, event->membership_epoch);
    pack_uint(pack, event->incarnation);
    pack_uint(pack, event->age_ms);
    pack_uint(pack, event->pid);
    pack_str(pack, event->host);
    pack_str(pack, event->reason);
    pack_uint(pack, event->evidence);
}

static void
watch_event_read(struct unpack *unpack, struct watch_event *event)
{
    size_t n_unknown = message_open_array(unpack, WATCH_EVENT_FIELDS);

    event->kind = message_read_u32(unpack);
    event->rank = message_read_u32(unpack);
    event->revision = message_read_u64(unpack);
    event->membership_epoch = message_read_u64(unpack);
    event->incarnation = message_read_u64(unpack);
    event->age_ms = message_read_u64(unpack);
    event->pid = message_read_u32(unpack);
    unpack_text(unpack, event->host, sizeof(event->host));
    unpack_text(unpack, event->reason, sizeof(event->reason));
    if (n_unknown > 0) {
        event->evidence = message_read_u32(unpack);
        n_unknown--;
    }
    unpack_skip(unpack, n_unknown);
}

void
watch_reply_encode(const struct watch_reply *reply, struct pack *pack)
{
    pack_array(pack, WATCH_REPLY_FIELDS + 2);
    pack_uint(pack, reply->epoch);
    pack_uint(pack, reply->revision);
    pack_array(pack, reply->n_events);
    for (size_t i = 0; i < reply->n_events; i++)
        watch_event_encode(&reply->events[i], pack);
    pack_uint(pack, reply->question);
    pack_uint(pack, reply->activity_query);
}

enum hoop_status
watch_reply_decode(struct message_span in, struct watch_reply *out_reply)
{
    CLEANUP(watch_reply_deinit) struct watch_reply reply = {0};
    struct message_items items;
    struct unpack unpack;

    size_t n_unknown = message_open(&unpack, in, WATCH_REPLY_FIELDS);
    reply.epoch = message_read_u64(&unpack);
    reply.revision = message_read_u64(&unpack);

    enum hoop_status status = message_list_open(
        &unpack,
        &(struct message_list){LIMIT_LIST_PAGE_ENTRIES, sizeof(*reply.events)},
        &items);
    if (status != HOOP_OK)
        return error_pass(status);
    reply.events = items.first;
    reply.n_events = items.n_items;
    for (size_t i = 0; i < reply.n_events; i++)
        watch_event_read(&unpack, &reply.events[i]);
    if (n_unknown > 0) {
        reply.question = message_read_u64(&unpack);
        n_unknown--;
    }
    if (n_unknown > 0) {
        reply.activity_query = message_read_u64(&unpack);
        n_unknown--;
    }

    status = message_close(&unpack, n_unknown);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    reply.events = NULL;
    return HOOP_OK;
}

void
watch_reply_deinit(struct watch_reply *reply)
{
    free(reply->events);
    *reply = (struct watch_reply){0};
}
