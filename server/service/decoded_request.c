/* service/decoded_request.c - turn a request into an event of the core */

#include "service/decoded_request.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "rpc/messages/status_messages.h"

enum {
    /* A parked reply leaves this long before its caller stops waiting, or a
     * tenth of the time if that is less, so that the caller gets a text that
     * says what is missing instead of a bare timeout. */
    REPLY_MARGIN_MS = 500,
};

typedef enum hoop_status
request_to_event_fn(struct decoded_request *decoded_request,
                    struct message_span body,
                    struct cluster_event *event);

static struct cluster_member_id
member_id(const struct member_request *member)
{
    return (struct cluster_member_id){
        .epoch = member->epoch,
        .incarnation = member->incarnation,
    };
}

static const char *
text_or_null(const char *text)
{
    return text[0] ? text : NULL;
}

static enum hoop_status
join_to_event(struct decoded_request *decoded_request,
              struct message_span body,
              struct cluster_event *event)
{
    const enum hoop_status status =
        join_request_decode(body, &decoded_request->join);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct join_request *join = &decoded_request->join;
    const uint64_t wanted_ns = join->deadline_ms * CLOCK_NS_PER_MS;

    event->kind = CLUSTER_JOIN;
    if (wanted_ns > 0 && event->now_ns + wanted_ns < event->deadline_ns)
        event->deadline_ns = event->now_ns + wanted_ns;
    event->join = (struct cluster_join){
        .incarnation = join->incarnation,
        .protocol_version = join->protocol,
        .rank = join->rank,
        .least_accepted_rank = join->least_accepted_rank,
        .world_size = join->world_size,
        .size_min = join->size_min,
        .settle_ms = join->settle_ms,
        .pid = join->pid,
        .pid_namespace_id = join->pid_namespace_id,
        .ended_epoch = join->ended_epoch,
        .ended = join->ended.bytes,
        .n_ended = join->ended.n_bytes,
        .root = text_or_null(join->root),
        .membership = join->membership,
        .prefers_rank = join->rank_use == JOIN_RANK_PREFERRED,
        .host = join->host,
        .host_id = text_or_null(join->host_id),
        .address = join->address,
    };
    return HOOP_OK;
}

static enum hoop_status
member_to_event(struct decoded_request *decoded_request,
                struct message_span body,
                struct cluster_event *event)
{
    const enum hoop_status status =
        member_request_decode(body, &decoded_request->member);
    if (status != HOOP_OK)
        return error_pass(status);

    event->member = member_id(&decoded_request->member);
    return HOOP_OK;
}

static enum hoop_status
renew_to_event(struct decoded_request *decoded_request,
               struct message_span body,
               struct cluster_event *event)
{
    const enum hoop_status status =
        renew_request_decode(body, &decoded_request->renew);
    if (status != HOOP_OK)
        return error_pass(status);

    event->renewal = (struct cluster_member_renewal){
        .member = member_id(&decoded_request->renew.member),
        .question = decoded_request->renew.question,
        .views = decoded_request->renew.views.bytes,
        .n_views = decoded_request->renew.views.n_bytes,
        .activity_query = decoded_request->renew.activity_query,
        .activity = {.call = decoded_request->renew.activity.call,
                     .communicator =
                         decoded_request->renew.activity.communicator,
                     .waits_for = decoded_request->renew.activity.waits_for,
                     .number = decoded_request->renew.activity.number,
                     .age_ms = decoded_request->renew.activity.age_ms,
                     .n_calls = decoded_request->renew.activity.n_calls},
    };
    return HOOP_OK;
}

static enum hoop_status
report_to_event(struct decoded_request *decoded_request,
                struct message_span body,
                struct cluster_event *event)
{
    const enum hoop_status status =
        report_request_decode(body, &decoded_request->report);
    if (status != HOOP_OK)
        return error_pass(status);

    event->report = (struct cluster_failure_report){
        .reporter = member_id(&decoded_request->report.reporter),
        .rank = decoded_request->report.rank,
        .identity = decoded_request->report.incarnation,
        .reason = decoded_request->report.reason,
        .evidence = decoded_request->report.evidence,
        .slack_ms = decoded_request->report.slack_ms,
    };
    return HOOP_OK;
}

static enum hoop_status
rendezvous_watch_to_event(struct decoded_request *decoded_request,
                          struct message_span body,
                          struct cluster_event *event)
{
    const enum hoop_status status =
        watch_request_decode(body, &decoded_request->watch);
    if (status != HOOP_OK)
        return error_pass(status);

    event->watch = (struct cluster_change_watch){
        .epoch = decoded_request->watch.epoch,
        .since = decoded_request->watch.since,
        .question = decoded_request->watch.question,
        .activity_query = decoded_request->watch.activity_query,
    };
    return HOOP_OK;
}

static enum hoop_status
store_set_request_to_event(struct decoded_request *decoded_request,
                           struct message_span body,
                           struct cluster_event *event)
{
    const enum hoop_status status =
        store_set_request_decode(body, &decoded_request->set);
    if (status != HOOP_OK)
        return error_pass(status);

    event->write = (struct cluster_store_write){
        .key = decoded_request->set.key,
        .value = decoded_request->set.value.bytes,
        .n_bytes = decoded_request->set.value.n_bytes,
        .ttl_ms = decoded_request->set.ttl_ms,
    };
    return HOOP_OK;
}

static enum hoop_status
store_add_to_event(struct decoded_request *decoded_request,
                   struct message_span body,
                   struct cluster_event *event)
{
    const enum hoop_status status =
        store_add_request_decode(body, &decoded_request->add);
    if (status != HOOP_OK)
        return error_pass(status);

    event->write = (struct cluster_store_write){
        .key = decoded_request->add.key,
        .delta = decoded_request->add.delta,
        .ttl_ms = decoded_request->add.ttl_ms,
    };
    return HOOP_OK;
}

static enum hoop_status
store_swap_to_event(struct decoded_request *decoded_request,
                    struct message_span body,
                    struct cluster_event *event)
{
    const enum hoop_status status =
        store_swap_request_decode(body, &decoded_request->swap);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct store_swap_request *swap = &decoded_request->swap;
    event->write = (struct cluster_store_write){
        .key = swap->key,
        .value = swap->value.bytes,
        .n_bytes = swap->value.n_bytes,
        .ttl_ms = swap->ttl_ms,
        .expect =
            swap->expects_absent ? CLUSTER_EXPECT_ABSENT : CLUSTER_EXPECT_VALUE,
        .expected = swap->expected.bytes,
        .n_expected = swap->expected.n_bytes,
    };
    return HOOP_OK;
}

static enum hoop_status
store_keys_to_event(struct decoded_request *decoded_request,
                    struct message_span body,
                    struct cluster_event *event)
{
    const enum hoop_status status =
        store_keys_request_decode(body, &decoded_request->keys);
    if (status != HOOP_OK)
        return error_pass(status);

    event->keys = (struct cluster_store_keys){
        .keys = decoded_request->keys.keys,
        .n_keys = decoded_request->keys.n_keys,
    };
    return HOOP_OK;
}

static enum hoop_status
store_list_to_event(struct decoded_request *decoded_request,
                    struct message_span body,
                    struct cluster_event *event)
{
    const enum hoop_status status =
        store_list_request_decode(body, &decoded_request->list);
    if (status != HOOP_OK)
        return error_pass(status);

    event->scan = (struct cluster_store_scan){
        .prefix = decoded_request->list.prefix,
        .match = CLUSTER_MATCH_PREFIX,
        .after = text_or_null(decoded_request->list.after),
        .n_max = decoded_request->list.n_max,
    };
    return HOOP_OK;
}

static enum hoop_status
store_watch_to_event(struct decoded_request *decoded_request,
                     struct message_span body,
                     struct cluster_event *event)
{
    const enum hoop_status status =
        store_watch_request_decode(body, &decoded_request->store_watch);
    if (status != HOOP_OK)
        return error_pass(status);

    event->scan = (struct cluster_store_scan){
        .prefix = decoded_request->store_watch.prefix,
        .match = decoded_request->store_watch.is_whole ? CLUSTER_MATCH_KEY
                                                       : CLUSTER_MATCH_PREFIX,
        .since = decoded_request->store_watch.since,
    };
    return HOOP_OK;
}

static enum hoop_status
group_create_to_event(struct decoded_request *decoded_request,
                      struct message_span body,
                      struct cluster_event *event)
{
    const enum hoop_status status =
        group_create_request_decode(body, &decoded_request->group);
    if (status != HOOP_OK)
        return error_pass(status);

    event->group = (struct cluster_group_call){
        .creator = member_id(&decoded_request->group.creator),
        .key = decoded_request->group.key,
        .ranks = decoded_request->group.ranks,
        .n_ranks = (uint32_t)decoded_request->group.n_ranks,
    };
    return HOOP_OK;
}

static enum hoop_status
group_join_to_event(struct decoded_request *decoded_request,
                    struct message_span body,
                    struct cluster_event *event)
{
    const enum hoop_status status =
        group_join_request_decode(body, &decoded_request->group_join);
    if (status != HOOP_OK)
        return error_pass(status);

    event->group_slot = (struct cluster_group_slot_call){
        .member = member_id(&decoded_request->group_join.member),
        .ranks = decoded_request->group_join.ranks,
        .n_ranks = (uint32_t)decoded_request->group_join.n_ranks,
        .number = decoded_request->group_join.number,
    };
    return HOOP_OK;
}

static enum hoop_status
group_leave_to_event(struct decoded_request *decoded_request,
                     struct message_span body,
                     struct cluster_event *event)
{
    const enum hoop_status status =
        group_leave_request_decode(body, &decoded_request->group_leave);
    if (status != HOOP_OK)
        return error_pass(status);

    event->group_slot = (struct cluster_group_slot_call){
        .member = member_id(&decoded_request->group_leave.member),
        .numbers = decoded_request->group_leave.numbers,
        .n_numbers = decoded_request->group_leave.n_numbers,
        .is_withdrawal = decoded_request->group_leave.is_withdrawal != 0,
    };
    return HOOP_OK;
}

static enum hoop_status
group_agree_to_event(struct decoded_request *decoded_request,
                     struct message_span body,
                     struct cluster_event *event)
{
    const enum hoop_status status =
        group_agree_request_decode(body, &decoded_request->agree);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct group_agree_request *agree = &decoded_request->agree;
    event->vote = (struct cluster_vote_call){
        .member = member_id(&agree->member),
        .communicator = agree->communicator,
        .kind = agree->kind,
        .turn = agree->turn,
        .flags = agree->flags,
        .least = agree->least,
        .number = agree->number,
    };
    return HOOP_OK;
}

static enum hoop_status
group_awaited_to_event(struct decoded_request *decoded_request,
                       struct message_span body,
                       struct cluster_event *event)
{
    struct group_awaited_request request;
    const enum hoop_status status =
        group_awaited_request_decode(body, &request);

    (void)decoded_request;
    if (status != HOOP_OK)
        return error_pass(status);
    event->pending = (struct cluster_missing_query){
        .member = member_id(&request.member),
        .number = request.number,
    };
    return HOOP_OK;
}

static enum hoop_status
group_key_to_event(struct decoded_request *decoded_request,
                   struct message_span body,
                   struct cluster_event *event)
{
    const enum hoop_status status =
        group_key_request_decode(body, &decoded_request->group_key);
    if (status != HOOP_OK)
        return error_pass(status);

    event->group = (struct cluster_group_call){
        .key = decoded_request->group_key.key,
    };
    return HOOP_OK;
}

static enum hoop_status
job_to_event(struct decoded_request *decoded_request,
             struct message_span body,
             struct cluster_event *event)
{
    struct job_request request = {0};

    (void)decoded_request;
    if (body.n_bytes > 0) {
        const enum hoop_status status = job_request_decode(body, &request);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    event->view =
        request.is_brief ? CLUSTER_VIEW_BRIEF : CLUSTER_VIEW_WITH_MEMBERS;
    if (request.asks && !request.is_brief)
        event->view = CLUSTER_VIEW_ACTIVITY;
    return HOOP_OK;
}

/* A request without arguments. */
static enum hoop_status
empty_body_to_event(struct decoded_request *decoded_request,
                    struct message_span body,
                    struct cluster_event *event)
{
    (void)decoded_request;
    (void)body;
    (void)event;
    return HOOP_OK;
}

enum decoded_request_effect {
    REQUEST_NEEDED_TO_CONTINUE, /* a member needs it in order to continue */
    REQUEST_STORES_DATA, /* stores something, and can be asked again later */
};

struct decoded_request_method_row {
    enum cluster_event_kind kind;
    request_to_event_fn *read; /* NULL: the core does not serve it */
    enum decoded_request_effect effect;
};

static const struct decoded_request_method_row decoded_request_rows[] = {
    [METHOD_RENDEZVOUS_JOIN] = {CLUSTER_JOIN, join_to_event,
                                REQUEST_STORES_DATA},
    [METHOD_RENDEZVOUS_LEAVE] = {CLUSTER_LEAVE, member_to_event,
                                 REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_RENDEZVOUS_RENEW] = {CLUSTER_RENEW, renew_to_event,
                                 REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_RENDEZVOUS_REPORT] = {CLUSTER_REPORT, report_to_event,
                                  REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_RENDEZVOUS_WATCH] = {CLUSTER_WATCH, rendezvous_watch_to_event,
                                 REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_RENDEZVOUS_MEMBERS] = {CLUSTER_JOB, job_to_event,
                                   REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_STORE_SET] = {CLUSTER_STORE_SET, store_set_request_to_event,
                          REQUEST_STORES_DATA},
    [METHOD_STORE_GET] = {CLUSTER_STORE_GET, store_keys_to_event,
                          REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_STORE_WAIT] = {CLUSTER_STORE_WAIT, store_keys_to_event,
                           REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_STORE_ADD] = {CLUSTER_STORE_ADD, store_add_to_event,
                          REQUEST_STORES_DATA},
    [METHOD_STORE_COMPARE_SET] = {CLUSTER_STORE_SWAP, store_swap_to_event,
                                  REQUEST_STORES_DATA},
    [METHOD_STORE_DELETE] = {CLUSTER_STORE_DELETE, store_keys_to_event,
                             REQUEST_STORES_DATA},
    [METHOD_STORE_MULTI_GET] = {CLUSTER_STORE_GET, store_keys_to_event,
                                REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_STORE_LIST] = {CLUSTER_STORE_LIST, store_list_to_event,
                           REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_STORE_WATCH] = {CLUSTER_STORE_WATCH, store_watch_to_event,
                            REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_GROUPS_CREATE] = {CLUSTER_GROUP_CREATE, group_create_to_event,
                              REQUEST_STORES_DATA},
    [METHOD_GROUPS_GET] = {CLUSTER_GROUP_GET, group_key_to_event,
                           REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_GROUPS_LIST] = {CLUSTER_GROUP_LIST, group_key_to_event,
                            REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_GROUPS_JOIN] = {CLUSTER_GROUP_JOIN, group_join_to_event,
                            REQUEST_STORES_DATA},
    [METHOD_GROUPS_LEAVE] = {CLUSTER_GROUP_LEAVE, group_leave_to_event,
                             REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_GROUPS_AGREE] = {CLUSTER_VOTE, group_agree_to_event,
                             REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_GROUPS_AWAITED] = {CLUSTER_QUERY_MISSING, group_awaited_to_event,
                               REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_HEALTH_CHECK] = {0},
    [METHOD_STATUS_JOBS] = {CLUSTER_JOBS, empty_body_to_event,
                            REQUEST_NEEDED_TO_CONTINUE},
    [METHOD_STATUS_JOB] = {CLUSTER_JOB, job_to_event,
                           REQUEST_NEEDED_TO_CONTINUE},
};

enum hoop_status
decoded_request_to_event(struct decoded_request *decoded_request,
                         enum method_id method,
                         const struct envelope_request *envelope,
                         struct cluster_event *event)
{
    if ((size_t)method >= COUNT_OF(decoded_request_rows) ||
        !decoded_request_rows[method].read)
        return error_raise(HOOP_E_UNIMPLEMENTED,
                           "this coordinator does not serve %s",
                           envelope->method);

    event->kind = decoded_request_rows[method].kind;
    event->job = decoded_request_job_name(envelope);
    event->role = method_by_id(method)->role;

    const enum hoop_status status = decoded_request_rows[method].read(
        decoded_request, envelope->body, event);
    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

const char *
decoded_request_job_name(const struct envelope_request *envelope)
{
    return envelope->job[0] ? envelope->job : "default";
}

bool
decoded_request_is_storing(enum method_id method)
{
    return (size_t)method < COUNT_OF(decoded_request_rows) &&
           decoded_request_rows[method].effect == REQUEST_STORES_DATA;
}

uint64_t
decoded_request_reply_by_ns(uint64_t deadline_ns, uint64_t now_ns)
{
    if (deadline_ns == CLOCK_NEVER || deadline_ns <= now_ns)
        return deadline_ns;

    const uint64_t tenth_ns = (deadline_ns - now_ns) / 10;
    const uint64_t most_ns = REPLY_MARGIN_MS * CLOCK_NS_PER_MS;
    return deadline_ns - (tenth_ns < most_ns ? tenth_ns : most_ns);
}

void
decoded_request_deinit(struct decoded_request *decoded_request)
{
    store_keys_request_deinit(&decoded_request->keys);
    group_create_request_deinit(&decoded_request->group);
    group_join_request_deinit(&decoded_request->group_join);
    group_leave_request_deinit(&decoded_request->group_leave);
}
