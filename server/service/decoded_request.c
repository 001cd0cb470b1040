/* service/decoded_request.c - turn a request into an event of the core */

#include "service/decoded_request.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"

enum {
    /* A parked reply leaves this long before its caller stops waiting, or a
     * tenth of the time if that is less, so that the caller gets a text that
     * says what is missing instead of a bare timeout. */
    REPLY_MARGIN_MS = 500,
};

/* Fill in the arguments of the event from the decoded body of a request. */
typedef void
request_to_event_fn(const void *body, struct cluster_event *event);

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

static void
join_request_to_event(const void *body, struct cluster_event *event)
{
    const struct join_request *request = body;
    const uint64_t wanted_ns = request->deadline_ms * CLOCK_NS_PER_MS;

    if (wanted_ns > 0 && event->now_ns + wanted_ns < event->deadline_ns)
        event->deadline_ns = event->now_ns + wanted_ns;
    event->join = (struct cluster_join){
        .incarnation = request->incarnation,
        .protocol_version = request->protocol,
        .rank = request->rank,
        .least_accepted_rank = request->least_accepted_rank,
        .world_size = request->world_size,
        .size_min = request->size_min,
        .settle_ms = request->settle_ms,
        .pid = request->pid,
        .pid_namespace_id = request->pid_namespace_id,
        .ended_epoch = request->ended_epoch,
        .ended = request->ended.bytes,
        .n_ended = request->ended.n_bytes,
        .root = text_or_null(request->root),
        .membership = request->membership,
        .prefers_rank = request->rank_use == JOIN_RANK_PREFERRED,
        .host = request->host,
        .host_id = text_or_null(request->host_id),
        .address = request->address,
    };
}

static void
leave_request_to_event(const void *body, struct cluster_event *event)
{
    const struct leave_request *request = body;

    event->leave = (struct cluster_member_leave){
        .member = member_id(&request->member),
        .totals = request->totals,
        .failure = request->failure.bytes,
        .n_failure = request->failure.n_bytes,
    };
}

static void
renew_request_to_event(const void *body, struct cluster_event *event)
{
    const struct renew_request *request = body;

    event->renewal = (struct cluster_member_renewal){
        .member = member_id(&request->member),
        .question = request->question,
        .views = request->views.bytes,
        .n_views = request->views.n_bytes,
        .activity_query = request->activity_query,
        .activity = {.call = request->activity.call,
                     .communicator = request->activity.communicator,
                     .waits_for = request->activity.waits_for,
                     .number = request->activity.number,
                     .age_ms = request->activity.age_ms,
                     .n_calls = request->activity.n_calls,
                     .details = request->activity.details.bytes,
                     .n_details = request->activity.details.n_bytes},
        .totals = request->totals,
    };
}

static void
report_request_to_event(const void *body, struct cluster_event *event)
{
    const struct report_request *request = body;

    event->report = (struct cluster_failure_report){
        .reporter = member_id(&request->reporter),
        .rank = request->rank,
        .identity = request->incarnation,
        .reason = request->reason,
        .evidence = request->evidence,
        .slack_ms = request->slack_ms,
    };
}

static void
recording_answer_to_event(const void *body, struct cluster_event *event)
{
    const struct recording_answer *answer = body;

    event->passed = (struct cluster_recording_answer){
        .member = member_id(&answer->member),
        .query = answer->query,
        .bytes = answer->memory.bytes,
        .n_bytes = answer->memory.n_bytes,
        .why = answer->why,
    };
}

static void
watch_request_to_event(const void *body, struct cluster_event *event)
{
    const struct watch_request *request = body;

    event->watch = (struct cluster_change_watch){
        .epoch = request->epoch,
        .since = request->since,
        .question = request->question,
        .activity_query = request->activity_query,
        .recording_query = request->recording_query,
    };
}

static void
store_set_request_to_event(const void *body, struct cluster_event *event)
{
    const struct store_set_request *request = body;

    event->write = (struct cluster_store_write){
        .key = request->key,
        .value = request->value.bytes,
        .n_bytes = request->value.n_bytes,
        .ttl_ms = request->ttl_ms,
    };
}

static void
store_add_request_to_event(const void *body, struct cluster_event *event)
{
    const struct store_add_request *request = body;

    event->write = (struct cluster_store_write){
        .key = request->key,
        .delta = request->delta,
        .ttl_ms = request->ttl_ms,
    };
}

static void
store_swap_request_to_event(const void *body, struct cluster_event *event)
{
    const struct store_swap_request *request = body;

    event->write = (struct cluster_store_write){
        .key = request->key,
        .value = request->value.bytes,
        .n_bytes = request->value.n_bytes,
        .ttl_ms = request->ttl_ms,
        .expect = request->expects_absent ? CLUSTER_EXPECT_ABSENT
                                          : CLUSTER_EXPECT_VALUE,
        .expected = request->expected.bytes,
        .n_expected = request->expected.n_bytes,
    };
}

static void
store_keys_request_to_event(const void *body, struct cluster_event *event)
{
    const struct store_keys_request *request = body;

    event->keys = (struct cluster_store_keys){
        .keys = request->keys,
        .n_keys = request->n_keys,
    };
}

static void
store_list_request_to_event(const void *body, struct cluster_event *event)
{
    const struct store_list_request *request = body;

    event->scan = (struct cluster_store_scan){
        .prefix = request->prefix,
        .match = CLUSTER_MATCH_PREFIX,
        .after = text_or_null(request->after),
        .n_max = request->n_max,
    };
}

static void
store_watch_request_to_event(const void *body, struct cluster_event *event)
{
    const struct store_watch_request *request = body;

    event->scan = (struct cluster_store_scan){
        .prefix = request->prefix,
        .match = request->is_whole ? CLUSTER_MATCH_KEY : CLUSTER_MATCH_PREFIX,
        .since = request->since,
    };
}

static void
group_create_request_to_event(const void *body, struct cluster_event *event)
{
    const struct group_create_request *request = body;

    event->group = (struct cluster_group_call){
        .creator = member_id(&request->creator),
        .key = request->key,
        .ranks = request->ranks,
        .n_ranks = (uint32_t)request->n_ranks,
    };
}

static void
group_join_request_to_event(const void *body, struct cluster_event *event)
{
    const struct group_join_request *request = body;

    event->group_slot = (struct cluster_group_slot_call){
        .member = member_id(&request->member),
        .ranks = request->ranks,
        .n_ranks = (uint32_t)request->n_ranks,
        .number = request->number,
    };
}

static void
group_leave_request_to_event(const void *body, struct cluster_event *event)
{
    const struct group_leave_request *request = body;

    event->group_slot = (struct cluster_group_slot_call){
        .member = member_id(&request->member),
        .numbers = request->numbers,
        .n_numbers = request->n_numbers,
        .is_withdrawal = request->is_withdrawal != 0,
    };
}

static void
group_agree_request_to_event(const void *body, struct cluster_event *event)
{
    const struct group_agree_request *request = body;

    event->vote = (struct cluster_vote_call){
        .member = member_id(&request->member),
        .communicator = request->communicator,
        .kind = request->kind,
        .turn = request->turn,
        .flags = request->flags,
        .least = request->least,
        .number = request->number,
    };
}

static void
group_awaited_request_to_event(const void *body, struct cluster_event *event)
{
    const struct group_awaited_request *request = body;

    event->pending = (struct cluster_missing_query){
        .member = member_id(&request->member),
        .number = request->number,
    };
}

static void
group_key_request_to_event(const void *body, struct cluster_event *event)
{
    const struct group_key_request *request = body;

    event->group = (struct cluster_group_call){
        .key = request->key,
    };
}

static void
job_request_to_event(const void *body, struct cluster_event *event)
{
    const struct job_request *request = body;

    event->view =
        request->is_brief ? CLUSTER_VIEW_BRIEF : CLUSTER_VIEW_WITH_MEMBERS;
    if (request->asks && !request->is_brief)
        event->view = CLUSTER_VIEW_ACTIVITY;
    else if (request->totals && !request->is_brief)
        event->view = CLUSTER_VIEW_TOTALS;
}

static void
recording_request_to_event(const void *body, struct cluster_event *event)
{
    const struct recording_request *request = body;

    event->wanted = (struct cluster_recording_request){
        .rank = request->rank,
        .via = request->via,
    };
}

/* A request without arguments. */
static void
empty_body_to_event(const void *body, struct cluster_event *event)
{
    (void)body;
    (void)event;
}

struct event_row {
    enum cluster_event_kind kind;
    request_to_event_fn *read; /* NULL: the core does not serve the method */
};

/* The name of a body's function follows from the name of its struct. */
#define EVENT_ROW(number, name, effect, need, answer, role, request, reply,    \
                  text, event)                                                 \
    [number] = {event, request##_to_event},
#define NO_EVENT_ROW(...)
static const struct event_row event_rows[METHOD_COUNT] = {
    METHODS(EVENT_ROW, NO_EVENT_ROW)};

/* A body of which every field may be missing may be missing itself. */
static bool
body_is_left_out(const struct message_descriptor *descriptor,
                 struct message_span body)
{
    return body.n_bytes == 0 && descriptor->fields[0].kind == FIELD_OPTIONAL;
}

static enum hoop_status
body_decode(struct decoded_request *decoded_request,
            const struct message_descriptor *descriptor,
            struct message_span body)
{
    if (!descriptor || body_is_left_out(descriptor, body))
        return HOOP_OK;
    const enum hoop_status status =
        message_decode(descriptor, body, &decoded_request->body);
    if (status != HOOP_OK)
        return error_pass(status);
    decoded_request->descriptor = descriptor;
    return HOOP_OK;
}

enum hoop_status
decoded_request_to_event(struct decoded_request *decoded_request,
                         enum method_id method,
                         const struct envelope_request *envelope,
                         struct cluster_event *event)
{
    if (!event_rows[method].read)
        return error_raise(HOOP_E_UNIMPLEMENTED,
                           "this coordinator does not serve %s",
                           envelope->method);

    event->kind = event_rows[method].kind;
    event->job = decoded_request_job_name(envelope);
    event->role = method_by_id(method)->role;

    const enum hoop_status status = body_decode(
        decoded_request, method_by_id(method)->request(), envelope->body);
    if (status != HOOP_OK)
        return error_pass(status);
    event_rows[method].read(&decoded_request->body, event);
    return HOOP_OK;
}

const char *
decoded_request_job_name(const struct envelope_request *envelope)
{
    return envelope->job[0] ? envelope->job : "default";
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
    if (decoded_request->descriptor)
        message_deinit(decoded_request->descriptor, &decoded_request->body);
    decoded_request->descriptor = NULL;
}
