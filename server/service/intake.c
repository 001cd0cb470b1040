/* service/intake.c - a request as an event of the core */

#include "service/intake.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "rpc/messages/status_messages.h"

enum {
    /* A parked reply leaves so much before its caller stops waiting, or a
     * tenth of the time if that is less: who and what is missing should
     * arrive, not a bare timeout. */
    REPLY_MARGIN_MS = 500,
};

typedef enum hoop_status
intake_fn(struct intake *intake,
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
join_read(struct intake *intake,
          struct message_span body,
          struct cluster_event *event)
{
    const enum hoop_status status = join_request_decode(body, &intake->join);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct join_request *join = &intake->join;
    const uint64_t wanted_ns = join->deadline_ms * CLOCK_NS_PER_MS;

    event->kind = CLUSTER_JOIN;
    if (wanted_ns > 0 && event->now_ns + wanted_ns < event->deadline_ns)
        event->deadline_ns = event->now_ns + wanted_ns;
    event->join = (struct cluster_join){
        .incarnation = join->incarnation,
        .protocol_version = join->protocol,
        .rank = join->rank,
        .rank_min = join->rank_min,
        .world_size = join->world_size,
        .size_min = join->size_min,
        .settle_ms = join->settle_ms,
        .pid = join->pid,
        .process_space = join->process_space,
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
member_read(struct intake *intake,
            struct message_span body,
            struct cluster_event *event)
{
    const enum hoop_status status =
        member_request_decode(body, &intake->member);
    if (status != HOOP_OK)
        return error_pass(status);

    event->member = member_id(&intake->member);
    return HOOP_OK;
}

static enum hoop_status
renew_read(struct intake *intake,
           struct message_span body,
           struct cluster_event *event)
{
    const enum hoop_status status = renew_request_decode(body, &intake->renew);
    if (status != HOOP_OK)
        return error_pass(status);

    event->renewal = (struct cluster_renewal){
        .member = member_id(&intake->renew.member),
        .question = intake->renew.question,
        .views = intake->renew.views.bytes,
        .n_views = intake->renew.views.n_bytes,
        .activity_query = intake->renew.activity_query,
        .activity = {.call = intake->renew.activity.call,
                     .communicator = intake->renew.activity.communicator,
                     .waits_for = intake->renew.activity.waits_for,
                     .number = intake->renew.activity.number,
                     .age_ms = intake->renew.activity.age_ms,
                     .n_calls = intake->renew.activity.n_calls},
    };
    return HOOP_OK;
}

static enum hoop_status
report_read(struct intake *intake,
            struct message_span body,
            struct cluster_event *event)
{
    const enum hoop_status status =
        report_request_decode(body, &intake->report);
    if (status != HOOP_OK)
        return error_pass(status);

    event->report = (struct cluster_report){
        .reporter = member_id(&intake->report.reporter),
        .rank = intake->report.rank,
        .identity = intake->report.incarnation,
        .reason = intake->report.reason,
        .evidence = intake->report.evidence,
        .slack_ms = intake->report.slack_ms,
    };
    return HOOP_OK;
}

static enum hoop_status
watch_read(struct intake *intake,
           struct message_span body,
           struct cluster_event *event)
{
    const enum hoop_status status = watch_request_decode(body, &intake->watch);
    if (status != HOOP_OK)
        return error_pass(status);

    event->watch = (struct cluster_watch){
        .epoch = intake->watch.epoch,
        .since = intake->watch.since,
        .question = intake->watch.question,
        .activity_query = intake->watch.activity_query,
    };
    return HOOP_OK;
}

static enum hoop_status
set_read(struct intake *intake,
         struct message_span body,
         struct cluster_event *event)
{
    const enum hoop_status status =
        store_set_request_decode(body, &intake->set);
    if (status != HOOP_OK)
        return error_pass(status);

    event->write = (struct cluster_write){
        .key = intake->set.key,
        .value = intake->set.value.bytes,
        .n_bytes = intake->set.value.n_bytes,
        .ttl_ms = intake->set.ttl_ms,
    };
    return HOOP_OK;
}

static enum hoop_status
add_read(struct intake *intake,
         struct message_span body,
         struct cluster_event *event)
{
    const enum hoop_status status =
        store_add_request_decode(body, &intake->add);
    if (status != HOOP_OK)
        return error_pass(status);

    event->write = (struct cluster_write){
        .key = intake->add.key,
        .delta = intake->add.delta,
        .ttl_ms = intake->add.ttl_ms,
    };
    return HOOP_OK;
}

static enum hoop_status
swap_read(struct intake *intake,
          struct message_span body,
          struct cluster_event *event)
{
    const enum hoop_status status =
        store_swap_request_decode(body, &intake->swap);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct store_swap_request *swap = &intake->swap;
    event->write = (struct cluster_write){
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
keys_read(struct intake *intake,
          struct message_span body,
          struct cluster_event *event)
{
    const enum hoop_status status =
        store_keys_request_decode(body, &intake->keys);
    if (status != HOOP_OK)
        return error_pass(status);

    event->keys = (struct cluster_keys){
        .keys = intake->keys.keys,
        .n_keys = intake->keys.n_keys,
    };
    return HOOP_OK;
}

static enum hoop_status
list_read(struct intake *intake,
          struct message_span body,
          struct cluster_event *event)
{
    const enum hoop_status status =
        store_list_request_decode(body, &intake->list);
    if (status != HOOP_OK)
        return error_pass(status);

    event->scan = (struct cluster_scan){
        .prefix = intake->list.prefix,
        .match = CLUSTER_MATCH_PREFIX,
        .after = text_or_null(intake->list.after),
        .n_max = intake->list.n_max,
    };
    return HOOP_OK;
}

static enum hoop_status
store_watch_read(struct intake *intake,
                 struct message_span body,
                 struct cluster_event *event)
{
    const enum hoop_status status =
        store_watch_request_decode(body, &intake->store_watch);
    if (status != HOOP_OK)
        return error_pass(status);

    event->scan = (struct cluster_scan){
        .prefix = intake->store_watch.prefix,
        .match = intake->store_watch.is_whole ? CLUSTER_MATCH_KEY
                                              : CLUSTER_MATCH_PREFIX,
        .since = intake->store_watch.since,
    };
    return HOOP_OK;
}

static enum hoop_status
group_create_read(struct intake *intake,
                  struct message_span body,
                  struct cluster_event *event)
{
    const enum hoop_status status =
        group_create_request_decode(body, &intake->group);
    if (status != HOOP_OK)
        return error_pass(status);

    event->group = (struct cluster_group_call){
        .creator = member_id(&intake->group.creator),
        .key = intake->group.key,
        .ranks = intake->group.ranks,
        .n_ranks = (uint32_t)intake->group.n_ranks,
    };
    return HOOP_OK;
}

static enum hoop_status
group_join_read(struct intake *intake,
                struct message_span body,
                struct cluster_event *event)
{
    const enum hoop_status status =
        group_join_request_decode(body, &intake->group_join);
    if (status != HOOP_OK)
        return error_pass(status);

    event->seat = (struct cluster_seat_call){
        .member = member_id(&intake->group_join.member),
        .ranks = intake->group_join.ranks,
        .n_ranks = (uint32_t)intake->group_join.n_ranks,
        .number = intake->group_join.number,
    };
    return HOOP_OK;
}

static enum hoop_status
group_leave_read(struct intake *intake,
                 struct message_span body,
                 struct cluster_event *event)
{
    const enum hoop_status status =
        group_leave_request_decode(body, &intake->group_leave);
    if (status != HOOP_OK)
        return error_pass(status);

    event->seat = (struct cluster_seat_call){
        .member = member_id(&intake->group_leave.member),
        .numbers = intake->group_leave.numbers,
        .n_numbers = intake->group_leave.n_numbers,
        .is_withdrawal = intake->group_leave.is_withdrawal != 0,
    };
    return HOOP_OK;
}

static enum hoop_status
group_agree_read(struct intake *intake,
                 struct message_span body,
                 struct cluster_event *event)
{
    const enum hoop_status status =
        group_agree_request_decode(body, &intake->agree);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct group_agree_request *agree = &intake->agree;
    event->council = (struct cluster_council_call){
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
group_awaited_read(struct intake *intake,
                   struct message_span body,
                   struct cluster_event *event)
{
    struct group_awaited_request request;
    const enum hoop_status status =
        group_awaited_request_decode(body, &request);

    (void)intake;
    if (status != HOOP_OK)
        return error_pass(status);
    event->awaited = (struct cluster_awaited_call){
        .member = member_id(&request.member),
        .number = request.number,
    };
    return HOOP_OK;
}

static enum hoop_status
group_key_read(struct intake *intake,
               struct message_span body,
               struct cluster_event *event)
{
    const enum hoop_status status =
        group_key_request_decode(body, &intake->group_key);
    if (status != HOOP_OK)
        return error_pass(status);

    event->group = (struct cluster_group_call){
        .key = intake->group_key.key,
    };
    return HOOP_OK;
}

static enum hoop_status
job_read(struct intake *intake,
         struct message_span body,
         struct cluster_event *event)
{
    struct job_request request = {0};

    (void)intake;
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

/* Questions without arguments. */
static enum hoop_status
nothing_read(struct intake *intake,
             struct message_span body,
             struct cluster_event *event)
{
    (void)intake;
    (void)body;
    (void)event;
    return HOOP_OK;
}

enum intake_wish {
    INTAKE_GOES_ON, /* what a member that is there cannot do without */
    INTAKE_ADDS,    /* something to keep, which can be asked for later */
};

struct intake_row {
    enum cluster_event_kind kind;
    intake_fn *read; /* NULL: not the core's */
    enum intake_wish wish;
};

static const struct intake_row intake_rows[] = {
    [METHOD_RENDEZVOUS_JOIN] = {CLUSTER_JOIN, join_read, INTAKE_ADDS},
    [METHOD_RENDEZVOUS_LEAVE] = {CLUSTER_LEAVE, member_read, INTAKE_GOES_ON},
    [METHOD_RENDEZVOUS_RENEW] = {CLUSTER_RENEW, renew_read, INTAKE_GOES_ON},
    [METHOD_RENDEZVOUS_REPORT] = {CLUSTER_REPORT, report_read, INTAKE_GOES_ON},
    [METHOD_RENDEZVOUS_WATCH] = {CLUSTER_WATCH, watch_read, INTAKE_GOES_ON},
    [METHOD_RENDEZVOUS_MEMBERS] = {CLUSTER_JOB, job_read, INTAKE_GOES_ON},
    [METHOD_STORE_SET] = {CLUSTER_STORE_SET, set_read, INTAKE_ADDS},
    [METHOD_STORE_GET] = {CLUSTER_STORE_GET, keys_read, INTAKE_GOES_ON},
    [METHOD_STORE_WAIT] = {CLUSTER_STORE_WAIT, keys_read, INTAKE_GOES_ON},
    [METHOD_STORE_ADD] = {CLUSTER_STORE_ADD, add_read, INTAKE_ADDS},
    [METHOD_STORE_COMPARE_SET] = {CLUSTER_STORE_SWAP, swap_read, INTAKE_ADDS},
    [METHOD_STORE_DELETE] = {CLUSTER_STORE_DELETE, keys_read, INTAKE_ADDS},
    [METHOD_STORE_MULTI_GET] = {CLUSTER_STORE_GET, keys_read, INTAKE_GOES_ON},
    [METHOD_STORE_LIST] = {CLUSTER_STORE_LIST, list_read, INTAKE_GOES_ON},
    [METHOD_STORE_WATCH] = {CLUSTER_STORE_WATCH, store_watch_read,
                            INTAKE_GOES_ON},
    [METHOD_GROUPS_CREATE] = {CLUSTER_GROUP_CREATE, group_create_read,
                              INTAKE_ADDS},
    [METHOD_GROUPS_GET] = {CLUSTER_GROUP_GET, group_key_read, INTAKE_GOES_ON},
    [METHOD_GROUPS_LIST] = {CLUSTER_GROUP_LIST, group_key_read, INTAKE_GOES_ON},
    [METHOD_GROUPS_JOIN] = {CLUSTER_GROUP_JOIN, group_join_read, INTAKE_ADDS},
    [METHOD_GROUPS_LEAVE] = {CLUSTER_GROUP_LEAVE, group_leave_read,
                             INTAKE_GOES_ON},
    [METHOD_GROUPS_AGREE] = {CLUSTER_COUNCIL, group_agree_read, INTAKE_GOES_ON},
    [METHOD_GROUPS_AWAITED] = {CLUSTER_AWAITED, group_awaited_read,
                               INTAKE_GOES_ON},
    [METHOD_HEALTH_CHECK] = {0},
    [METHOD_STATUS_JOBS] = {CLUSTER_JOBS, nothing_read, INTAKE_GOES_ON},
    [METHOD_STATUS_JOB] = {CLUSTER_JOB, job_read, INTAKE_GOES_ON},
};

enum hoop_status
intake_read(struct intake *intake,
            enum method_id method,
            const struct envelope_request *envelope,
            struct cluster_event *event)
{
    if ((size_t)method >= COUNT_OF(intake_rows) || !intake_rows[method].read)
        return error_raise(HOOP_E_UNIMPLEMENTED,
                           "this coordinator does not serve %s",
                           envelope->method);

    event->kind = intake_rows[method].kind;
    event->job = intake_job(envelope);
    event->role = method_of(method)->role;

    const enum hoop_status status =
        intake_rows[method].read(intake, envelope->body, event);
    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

const char *
intake_job(const struct envelope_request *envelope)
{
    return envelope->job[0] ? envelope->job : "default";
}

bool
intake_adds(enum method_id method)
{
    return (size_t)method < COUNT_OF(intake_rows) &&
           intake_rows[method].wish == INTAKE_ADDS;
}

uint64_t
intake_deadline_ns(uint64_t deadline_ns, uint64_t now_ns)
{
    if (deadline_ns == CLOCK_NEVER || deadline_ns <= now_ns)
        return deadline_ns;

    const uint64_t tenth_ns = (deadline_ns - now_ns) / 10;
    const uint64_t most_ns = REPLY_MARGIN_MS * CLOCK_NS_PER_MS;
    return deadline_ns - (tenth_ns < most_ns ? tenth_ns : most_ns);
}

void
intake_deinit(struct intake *intake)
{
    store_keys_request_deinit(&intake->keys);
    group_create_request_deinit(&intake->group);
    group_join_request_deinit(&intake->group_join);
    group_leave_request_deinit(&intake->group_leave);
}
