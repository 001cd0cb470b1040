/*
 * session/rendezvous.c - joining a job and leaving it
 *
 * The unit test covers the pauses only;
 * tests/integration/session/worker_join_test.c covers real joins.
 */

#include "session/rendezvous.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/identity.h"
#include "base/log.h"
#include "base/process.h"
#include "base/random.h"
#include "rpc/messages/status_messages.h"
#include "rpc/method.h"
#include "session/comm.h"
#include "session/join_notice.h"
#include "session/launcher.h"
#include "wire/pack.h"

DEFINE_CLEANUP(struct roster *, roster_destroy)

enum {
    /* How long the coordinator may take to answer after the deadline of a join
     * that has reached it. */
    JOIN_ANSWER_GRACE_MS = 1000,
    /* Pause before a join that may succeed later is repeated. */
    JOIN_RETRY_PAUSE_MS = 50,
    /* Interval between two checks whether a rank that the join waits for has
     * ended. Two checks must find it: then the answer was not already on its
     * way when the rank ended. */
    ABSENCE_CHECK_INTERVAL_MS = 100,
    ABSENCE_CONFIRMATIONS = 2,
    /* Interval between two checks whether the members that hold the places have
     * ended, and how long the coordinator may take to name them. */
    ENDED_MEMBERS_CHECK_INTERVAL_MS = 500,
    ENDED_MEMBERS_QUERY_TIMEOUT_MS = 1000,
};

/* One call, during which the calling thread runs the loop. */
struct sync_call {
    struct loop *loop;
    enum hoop_status status;
    char text[LIMIT_ERROR_TEXT];
    struct join_reply *reply; /* NULL: not wanted */
    struct job_reply *job;    /* NULL: not wanted */
    uint64_t call;
    bool is_leave_call; /* the call that leaves; signals do not interrupt it */
};

static void
sync_call_on_answer(void *owner, const struct rpc_answer *answer)
{
    struct sync_call *sync_call = owner;

    sync_call->status = answer->status;
    snprintf(sync_call->text, sizeof(sync_call->text), "%s", answer->message);
    if (answer->status == HOOP_OK && sync_call->reply)
        sync_call->status = join_reply_decode(answer->body, sync_call->reply);
    if (answer->status == HOOP_OK && sync_call->job)
        sync_call->status = job_reply_decode(answer->body, sync_call->job);
    if (sync_call->status != answer->status)
        snprintf(sync_call->text, sizeof(sync_call->text), "%s", error_text());
    loop_stop(sync_call->loop);
}

/* Send what pack holds and run the loop until the answer has arrived. Returns
 * the answer's status; if that is not HOOP_OK, sync_call->text says why. */
static enum hoop_status
sync_call_run(struct sync_call *sync_call,
              const struct rendezvous *rendezvous,
              struct rpc_call call,
              struct pack *pack)
{
    CLEANUP(free) uint8_t *bytes = NULL;

    call.on_answer = sync_call_on_answer;
    call.owner = sync_call;
    sync_call->loop = rendezvous->loop;
    enum hoop_status status = pack_take(pack, &bytes, &call.body.n_bytes);
    if (status == HOOP_OK) {
        call.body.bytes = bytes;
        status = rpc_client_call(rendezvous->client, &call, &sync_call->call);
    }
    if (status != HOOP_OK) {
        snprintf(sync_call->text, sizeof(sync_call->text), "%s", error_text());
        return status;
    }
    if (sync_call->is_leave_call) {
        loop_run(sync_call->loop);
        return sync_call->status;
    }
    status = loop_run_interruptible(sync_call->loop);
    if (status != HOOP_OK) {
        rpc_client_cancel(rendezvous->client, sync_call->call);
        snprintf(sync_call->text, sizeof(sync_call->text), "%s", error_text());
        return status;
    }
    return sync_call->status;
}

static enum hoop_status
join_request_fill(const struct config *config,
                  const struct advertised_address *advertised,
                  struct join_request *request)
{
    *request = (struct join_request){
        .protocol = RENDEZVOUS_PROTOCOL,
        .rank = config->rank,
        .rank_use = config->place.prefers_rank ? JOIN_RANK_PREFERRED
                                               : JOIN_RANK_DEMANDED,
        .membership = config->place.membership,
        .world_size = config->world_size,
        .size_min = config->place.size_min,
        .settle_ms = config->place.settle_ms,
        .deadline_ms = config->join_timeout_ms,
        .pid = (uint32_t)getpid(),
        .pid_namespace_id = pid_namespace_id(),
    };
    snprintf(request->root, sizeof(request->root), "%s", config->place.root);
    host_name(request->host);
    host_id(config->node, request->host_id);
    address_format(&advertised->address, request->address);
    while (request->incarnation == 0) {
        const enum hoop_status status =
            random_fill(&request->incarnation, sizeof(request->incarnation));

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static enum hoop_status
join_reply_check(const struct join_reply *reply, uint64_t incarnation)
{
    if (reply->size == 0 || reply->size > LIMIT_RANKS ||
        reply->n_members != reply->size || reply->rank >= reply->size ||
        reply->lease_ms == 0 ||
        reply->roster[reply->rank].incarnation !=
            identity_of_incarnation(incarnation))
        return error_raise(HOOP_E_DATA_LOSS,
                           "the coordinator's answer makes no sense: rank %u "
                           "of %u, %zu members, lease %u ms",
                           reply->rank, reply->size, reply->n_members,
                           reply->lease_ms);
    return HOOP_OK;
}

/* Checks, while a join waits, whether a rank that it needs has ended. */
struct ended_rank_watch {
    const struct config *config;
    struct sync_call *sync_call;
    struct loop_timer *timer;
    unsigned int n_seen;
    bool is_absence_certain;
};

static void
ended_rank_watch_on_timer(void *owner)
{
    struct ended_rank_watch *absence = owner;
    struct sync_call *sync_call = absence->sync_call;
    char text[LIMIT_NAME];

    if (exit_status_find_ended_rank(absence->config->exit_status,
                                    absence->config->world_size, text) &&
        ++absence->n_seen == ABSENCE_CONFIRMATIONS) {
        absence->is_absence_certain = true;
        sync_call->status = HOOP_E_PEER_LOST;
        snprintf(sync_call->text, sizeof(sync_call->text),
                 "%s before it joined", text);
        loop_stop(sync_call->loop);
        return;
    }
    loop_timer_start(absence->timer, ABSENCE_CHECK_INTERVAL_MS);
}

/* Watch only if the world needs every rank and a launcher records how ranks
 * end. */
static enum hoop_status
ended_rank_watch_start(struct ended_rank_watch *absence, struct loop *loop)
{
    const struct config *config = absence->config;

    if (!config->exit_status[0] || !config->world_size ||
        config->place.root[0] ||
        (config->place.size_min && config->place.size_min < config->world_size))
        return HOOP_OK;

    const enum hoop_status status = loop_timer_create(
        loop, ended_rank_watch_on_timer, absence, &absence->timer);

    if (status != HOOP_OK)
        return error_pass(status);
    loop_timer_start(absence->timer, ABSENCE_CHECK_INTERVAL_MS);
    return HOOP_OK;
}

/* Reach the coordinator, and tell peers the local address by which it was
 * reached: a coordinator whose name has several addresses may answer at one of
 * them only. */
static enum hoop_status
join_request_update_address(const struct rendezvous *rendezvous,
                            struct join_request *request,
                            struct sync_call *sync_call)
{
    const uint64_t deadline_ns = clock_deadline_ns(request->deadline_ms);
    const struct rpc_call call = {
        .method = method_by_id(METHOD_HEALTH_CHECK)->name,
        .timeout_ms = request->deadline_ms,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    struct sync_call question = {0};
    struct address local;
    struct address guess;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    health_request_encode(&(struct health_request){""}, &pack);
    const enum hoop_status status =
        sync_call_run(&question, rendezvous, call, &pack);
    if (status != HOOP_OK) {
        memcpy(sync_call->text, question.text, sizeof(sync_call->text));
        return status;
    }
    if (rpc_client_local_address(rendezvous->client, &local) &&
        address_parse(request->address, &guess) == HOOP_OK) {
        address_set_port(&local, address_port(&guess));
        address_format(&local, request->address);
    }
    const int left_ms = clock_left_ms(deadline_ns);
    request->deadline_ms = left_ms > 0 ? (uint32_t)left_ms : 1;
    return HOOP_OK;
}

static enum hoop_status
join_rpc_run(const struct rendezvous *rendezvous,
             const struct join_request *request,
             struct sync_call *sync_call)
{
    const struct rpc_call call = {
        .method = method_by_id(METHOD_RENDEZVOUS_JOIN)->name,
        .timeout_ms = request->deadline_ms,
        .grace_ms = JOIN_ANSWER_GRACE_MS,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};

    struct ended_rank_watch absence = {.config = rendezvous->config,
                                       .sync_call = sync_call};

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    join_request_encode(request, &pack);
    enum hoop_status status =
        ended_rank_watch_start(&absence, rendezvous->loop);
    if (status == HOOP_OK)
        status = sync_call_run(sync_call, rendezvous, call, &pack);
    else
        snprintf(sync_call->text, sizeof(sync_call->text), "%s", error_text());
    if (absence.is_absence_certain)
        rpc_client_cancel(rendezvous->client, sync_call->call);
    loop_timer_destroy(absence.timer);
    return status;
}

static enum hoop_status
join_attempt(const struct rendezvous *rendezvous,
             const struct advertised_address *advertised,
             struct join_request *request,
             struct sync_call *sync_call)
{
    if (advertised->is_guess) {
        const enum hoop_status status =
            join_request_update_address(rendezvous, request, sync_call);

        if (status != HOOP_OK)
            return status;
    }
    return join_rpc_run(rendezvous, request, sync_call);
}

static void
join_pause_on_timer(void *owner)
{
    loop_stop(owner);
}

uint64_t
rendezvous_retry_delay_ms(uint64_t left_ms)
{
    return left_ms < JOIN_RETRY_PAUSE_MS ? left_ms : JOIN_RETRY_PAUSE_MS;
}

/* Pause before the next attempt. On failure, text becomes that of the
 * failure. */
static enum hoop_status
join_retry_delay(struct loop *loop,
                 uint64_t deadline_ns,
                 char text[LIMIT_ERROR_TEXT])
{
    const uint64_t left_ms = (uint64_t)clock_left_ms(deadline_ns);
    struct loop_timer *timer = NULL;
    enum hoop_status status =
        loop_timer_create(loop, join_pause_on_timer, loop, &timer);

    if (status == HOOP_OK) {
        loop_timer_start(timer, rendezvous_retry_delay_ms(left_ms));
        status = loop_run_interruptible(loop);
    }
    loop_timer_destroy(timer);
    if (status != HOOP_OK)
        snprintf(text, LIMIT_ERROR_TEXT, "%s", error_text());
    return status;
}

/* Which members were seen to have ended, of the world that holds the job's
 * places. */
struct ended_members {
    uint8_t *ranks; /* [rank]: 1 if ended; request->ended refers to it; owned */
    uint64_t last_query_ns;
};

/* Add to request the members that have ended since the last check. Only members
 * in this process's PID namespace can be checked. Returns whether there are
 * any. */
static bool
ended_members_add_to_request(struct ended_members *ended,
                             const struct job_reply *job,
                             struct join_request *request)
{
    bool has_news = false;

    if (request->pid_namespace_id == 0 || job->n_members == 0)
        return false;
    if (request->ended_epoch != job->line.epoch) {
        free(ended->ranks);
        ended->ranks = calloc(job->n_members, 1);
        request->ended_epoch = ended->ranks ? job->line.epoch : 0;
        request->ended = (struct message_span){
            ended->ranks, ended->ranks ? job->n_members : 0};
    }
    for (size_t i = 0; ended->ranks && i < job->n_members; i++) {
        const struct job_member *member = &job->members[i];

        if (member->rank >= request->ended.n_bytes ||
            ended->ranks[member->rank] ||
            member->pid_namespace_id != request->pid_namespace_id ||
            strcmp(member->state, "active") != 0 ||
            !process_has_ended(member->pid))
            continue;
        ended->ranks[member->rank] = 1;
        has_news = true;
    }
    return has_news;
}

/* The places of the world are taken: ask the coordinator who holds them.
 * Returns whether a holder has ended that the coordinator may not know of. */
static bool
ended_members_query(struct ended_members *ended,
                    const struct rendezvous *rendezvous,
                    struct join_request *request)
{
    CLEANUP(job_reply_deinit) struct job_reply job = {0};
    CLEANUP(pack_deinit) struct pack pack = {0};
    struct sync_call question = {.job = &job};
    const struct rpc_call call = {
        .method = method_by_id(METHOD_RENDEZVOUS_MEMBERS)->name,
        .timeout_ms = request->deadline_ms < ENDED_MEMBERS_QUERY_TIMEOUT_MS
                          ? request->deadline_ms
                          : ENDED_MEMBERS_QUERY_TIMEOUT_MS,
    };
    const uint64_t now_ns = clock_now_ns();

    if (ended->last_query_ns > 0 &&
        now_ns - ended->last_query_ns <
            ENDED_MEMBERS_CHECK_INTERVAL_MS * CLOCK_NS_PER_MS)
        return false;
    ended->last_query_ns = now_ns;
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    job_request_encode(&(struct job_request){0}, &pack);
    if (sync_call_run(&question, rendezvous, call, &pack) != HOOP_OK ||
        job.line.epoch == 0) {
        log_debug("session", "who has the places is not known: %s",
                  question.text);
        return false;
    }
    return ended_members_add_to_request(ended, &job, request);
}

/* Whether the status may be due to a member that has ended and that the
 * coordinator believes to be alive. */
static bool
may_be_due_to_ended_member(enum hoop_status status)
{
    return status == HOOP_E_UNAVAILABLE || status == HOOP_E_PRECONDITION ||
           status == HOOP_E_EXISTS;
}

/* Repeat the join until the answer is final: a job may have to end before it
 * can form again. */
static enum hoop_status
join_with_retries(const struct rendezvous *rendezvous,
                  const struct advertised_address *advertised,
                  struct join_request *request,
                  struct sync_call *sync_call)
{
    const uint64_t deadline_ns = clock_deadline_ns(request->deadline_ms);
    CLEANUP(join_notice_destroy)
    struct join_notice *notice =
        join_notice_create(rendezvous, sync_call->text);
    struct ended_members ended = {0};
    enum hoop_status status =
        join_attempt(rendezvous, advertised, request, sync_call);

    /* A world by which a job grows forms only once, so that join is not
     * repeated. If the coordinator could not be reached, no time is left. */
    while (may_be_due_to_ended_member(status) &&
           !rendezvous->config->place.root[0] && !clock_is_past(deadline_ns)) {
        if (!ended_members_query(&ended, rendezvous, request)) {
            if (status != HOOP_E_UNAVAILABLE)
                break;
            status = join_retry_delay(rendezvous->loop, deadline_ns,
                                      sync_call->text);
            if (status != HOOP_OK)
                break;
        }
        const int left_ms = clock_left_ms(deadline_ns);

        request->deadline_ms = left_ms > 0 ? (uint32_t)left_ms : 1;
        status = join_attempt(rendezvous, advertised, request, sync_call);
    }
    free(ended.ranks);
    request->ended = (struct message_span){0};
    return status;
}

enum hoop_status
rendezvous_join(const struct rendezvous *rendezvous,
                const struct advertised_address *advertised,
                struct join_reply *out_reply)
{
    const struct config *config = rendezvous->config;
    CLEANUP(join_reply_deinit) struct join_reply reply = {0};
    struct sync_call sync_call = {.reply = &reply};
    struct join_request request;

    enum hoop_status status = join_request_fill(config, advertised, &request);
    if (status != HOOP_OK)
        return error_pass(status);
    status = join_with_retries(rendezvous, advertised, &request, &sync_call);
    if (status != HOOP_OK)
        return error_raise(status, "cannot join job '%s' at %s: %s",
                           config_job_name(config), config->coordinator,
                           sync_call.text);
    status = join_reply_check(&reply, request.incarnation);
    if (status != HOOP_OK)
        return error_pass(status);
    *rendezvous->credential = request.incarnation;
    *out_reply = reply;
    reply = (struct join_reply){0};
    return HOOP_OK;
}

static enum hoop_status
roster_member_fill(const struct roster_member *told, struct member *member)
{
    member->incarnation = told->incarnation;
    member->rank = told->rank;
    member->pid = told->pid;
    snprintf(member->host, sizeof(member->host), "%s", told->host);
    snprintf(member->host_id, sizeof(member->host_id), "%s", told->host_id);
    const enum hoop_status status =
        address_parse(told->address, &member->address);
    if (status != HOOP_OK)
        return error_raise(HOOP_E_DATA_LOSS,
                           "rank %u (%s:%u) is said to be at '%s', which is no "
                           "address",
                           told->rank, told->host, told->pid, told->address);
    return HOOP_OK;
}

/* Whether this process can see the other's. With hidepid, or if they run as
 * different users, it may never be able to. Checking each process would take
 * too long for thousands, so shows_all skips it. */
static bool
process_is_visible(const struct roster_member *self,
                   const struct roster_member *told,
                   bool shows_all)
{
    if (told->pid_namespace_id == 0 ||
        told->pid_namespace_id != self->pid_namespace_id)
        return false;
    if (shows_all)
        return true;
    const enum process_state state = process_get_state(told->pid);

    return state == PROCESS_RUNS || state == PROCESS_STOPPED;
}

/* Warn, before a connection fails, of a member that other hosts cannot
 * reach. */
static void
member_warn_if_loopback(const struct roster *roster,
                        const struct member *member)
{
    const struct member *self = &roster->members[roster->rank];
    char name[ROSTER_NAME_MAX];

    if (address_is_loopback(&member->address) &&
        strcmp(member->host_id, self->host_id) != 0)
        log_warning("session",
                    "%s is on another host and advertises a loopback address; "
                    "set HOOP_ADVERTISE or HOOP_INTERFACE there",
                    roster_format_name(roster, member->rank, name));
}

enum hoop_status
rendezvous_roster_create(const struct config *config,
                         const struct join_reply *reply,
                         struct roster **out_roster)
{
    CLEANUP(roster_destroy) struct roster *roster = NULL;
    const bool shows_all = process_all_are_visible();

    enum hoop_status status = roster_create(reply->size, &roster);
    if (status != HOOP_OK)
        return error_pass(status);
    snprintf(roster->job, sizeof(roster->job), "%s", config->job);
    roster->epoch = reply->epoch;
    roster->seed = reply->seed;
    roster->rank = reply->rank;
    for (uint32_t rank = 0; rank < reply->size; rank++) {
        if (reply->roster[rank].rank != rank)
            return error_raise(HOOP_E_DATA_LOSS,
                               "the coordinator's roster has rank %u in place "
                               "of %u",
                               reply->roster[rank].rank, rank);
        status =
            roster_member_fill(&reply->roster[rank], &roster->members[rank]);
        if (status != HOOP_OK)
            return error_pass(status);
        roster->members[rank].is_visible = process_is_visible(
            &reply->roster[reply->rank], &reply->roster[rank], shows_all);
    }
    for (uint32_t rank = 0; rank < reply->size; rank++)
        member_warn_if_loopback(roster, &roster->members[rank]);
    *out_roster = STEAL(roster);
    return HOOP_OK;
}

void
rendezvous_leave(const struct rendezvous *rendezvous,
                 const struct roster *roster,
                 enum evidence evidence,
                 const char *why,
                 uint64_t timeout_ms)
{
    struct report_request report = {
        .reporter = {.epoch = roster->epoch, .incarnation = roster->credential},
        .rank = roster->rank,
        .incarnation = roster->members[roster->rank].incarnation,
        .evidence = evidence,
    };
    const struct rpc_call call = {
        .method = method_by_id(why[0] ? METHOD_RENDEZVOUS_REPORT
                                      : METHOD_RENDEZVOUS_LEAVE)
                      ->name,
        .timeout_ms = timeout_ms,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    struct sync_call sync_call = {.is_leave_call = true};

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    snprintf(report.reason, sizeof(report.reason), "%s", why);
    if (why[0])
        report_request_encode(&report, &pack);
    else
        leave_request_encode(&(struct leave_request){report.reporter,
                                                     rendezvous->totals,
                                                     rendezvous->failure},
                             &pack);
    if (sync_call_run(&sync_call, rendezvous, call, &pack) != HOOP_OK)
        log_debug("session", "leaving without a notice to the coordinator: %s",
                  sync_call.text);
}
