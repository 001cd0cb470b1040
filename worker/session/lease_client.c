/*
 * session/lease_client.c - keeps a member's lease and receives failure notices
 *
 *   GOOD -> OVER   the coordinator has ended this membership, or does not know
 *                  it: the job goes on over its connections, and nothing is
 *                  renewed
 */

#include "session/lease_client.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/evidence.h"
#include "base/log.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/method.h"
#include "session/activity_details.h"
#include "session/away_notice.h"
#include "session/recordings.h"
#include "wire/pack.h"

enum {
    LEASE_RENEWALS_PER_PERIOD = 3,
    CLOCK_RENEWALS = 8, /* at once, for the best of so many round trips */
    FAILURE_WATCH_TIMEOUT_MS = 30000, /* of one long poll */
    WATCH_BACKOFF_FIRST_MS = 100,
    WATCH_BACKOFF_MAX_MS = 5000,
};

/* Passed from any thread to the loop: a report of a lost or suspected rank, an
 * answer to a question, or an answer to an activity query. */
struct coordinator_report {
    STAILQ_ENTRY(coordinator_report) link;
    uint32_t rank;
    enum evidence evidence;
    bool must_tell; /* of this rank's loss: the coordinator does not know it */
    uint32_t slack_ms;
    char why[LIMIT_REPORT_REASON];
    uint64_t question; /* not 0: the question that this answers */
    uint8_t *views;    /* [rank] of the answer; NULL: only "this rank lives" */
    uint64_t activity_query;         /* not 0: the query that this answers */
    struct engine_activity activity; /* the answer to it */
};

STAILQ_HEAD(report_list, coordinator_report);

enum lease_client_state {
    LEASE_CLIENT_IS_MEMBER,
    LEASE_CLIENT_MEMBERSHIP_ENDED,
};

/* A call that may not have been answered yet. */
struct lease_renewal {
    struct lease_client *lease_client;
    uint64_t id;
    uint64_t sent_ns;
};

struct lease_client {
    struct lease_client_options options;
    enum lease_client_state state;
    struct member_request self;
    struct loop_timer *renewal;
    struct loop_timer *retry; /* of the watch call */
    struct lease_renewal renewals[LEASE_RENEWALS_PER_PERIOD]; /* the last */
    unsigned n_renewals_sent;                                 /* sent so far */
    unsigned n_clocks;      /* how many of them have brought the clock */
    uint64_t watch_call_id; /* 0: no call is pending */
    uint64_t revision;
    uint64_t question;       /* the last one asked */
    uint64_t activity_query; /* the last one asked */
    struct recordings recordings;
    uint64_t backoff_ms;
    bool *is_loss_known; /* [rank]: the coordinator has reported its end */

    struct away_notice away;
    /* the connection broke, and no renewal has been answered since */
    bool was_disconnected;

    pthread_mutex_t lock; /* guards reports */
    struct report_list reports;
    /* Reserved for the case that this rank gives up for lack of memory. */
    struct coordinator_report *own_report;
};

static void
failure_watch_request_send(void *owner);

static void
peer_views_query_handle(struct lease_client *lease_client, uint64_t question);

static void
activity_query_handle(struct lease_client *lease_client, uint64_t query);

static void
reports_dispatch_all(void *owner);

/* Whether repeating the call is pointless. */
static bool
rpc_failure_is_permanent(enum hoop_status status)
{
    return status == HOOP_E_NOT_FOUND || status == HOOP_E_PRECONDITION ||
           status == HOOP_E_UNAUTHENTICATED || status == HOOP_E_DENIED ||
           status == HOOP_E_UNIMPLEMENTED;
}

/* Report that the coordinator was away and has come back without this job. */
static void
lease_client_warn_job_forgotten(const struct lease_client *lease_client,
                                const char *why)
{
    if (lease_client->options.config->wait_notice_ms > 0)
        log_write(LOG_WARNING, "wait",
                  "hoopd at %s is back, but does not know this job: %.300s; "
                  "collectives and messages go on, without leases and verdicts "
                  "on the dead; hoopd keeps its jobs with --data-dir",
                  lease_client->options.config->coordinator, why);
}

static void
lease_client_end_membership(struct lease_client *lease_client, const char *why)
{
    if (lease_client->state == LEASE_CLIENT_MEMBERSHIP_ENDED)
        return;
    lease_client->state = LEASE_CLIENT_MEMBERSHIP_ENDED;
    loop_timer_stop(lease_client->renewal);
    loop_timer_stop(lease_client->retry);
    away_notice_stop(&lease_client->away);
    log_warning("session", "this membership has ended: %s", why);
}

static void
lease_client_on_rejection(struct lease_client *lease_client,
                          const struct rpc_answer *answer)
{
    if (lease_client->was_disconnected && answer->status == HOOP_E_NOT_FOUND &&
        lease_client->state != LEASE_CLIENT_MEMBERSHIP_ENDED)
        lease_client_warn_job_forgotten(lease_client, answer->message);
    lease_client_end_membership(lease_client, answer->message);
}

/* The client itself is the call's owner if it has none. */
static enum hoop_status
lease_client_call(struct lease_client *lease_client,
                  struct rpc_call call,
                  struct pack *pack,
                  uint64_t *out_id)
{
    CLEANUP(free) uint8_t *bytes = NULL;

    enum hoop_status status = pack_take(pack, &bytes, &call.body.n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    call.body.bytes = bytes;
    if (!call.owner)
        call.owner = lease_client;
    status = rpc_client_call(lease_client->options.client, &call, out_id);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Renew the lease. */

/* Pass on what the coordinator's clock showed while the renewal was under
 * way. */
static void
lease_renewal_take_clock(const struct lease_renewal *renewal,
                         struct message_span body)
{
    struct lease_client *lease_client = renewal->lease_client;
    const struct lease_client_options *options = &lease_client->options;
    const uint64_t answered_ns = clock_now_ns();
    struct lease_reply reply;

    if (!options->on_clock || lease_reply_decode(body, &reply) != HOOP_OK ||
        reply.clock_ns == 0)
        return;
    options->on_clock(options->owner, &(struct recorder_round_trip){
                                          .asked_ns = renewal->sent_ns,
                                          .answered_ns = answered_ns,
                                          .clock_ns = reply.clock_ns,
                                      });
    if (lease_client->state == LEASE_CLIENT_IS_MEMBER &&
        ++lease_client->n_clocks < CLOCK_RENEWALS)
        loop_timer_start(lease_client->renewal, 0);
}

static void
lease_renewal_on_answer(void *owner, const struct rpc_answer *answer)
{
    const struct lease_renewal *renewal = owner;
    struct lease_client *lease_client = renewal->lease_client;

    if (answer->status == HOOP_OK) {
        lease_client->was_disconnected = false;
        away_notice_end(&lease_client->away);
        lease_renewal_take_clock(renewal, answer->body);
        return;
    }
    if (rpc_failure_is_permanent(answer->status))
        lease_client_on_rejection(lease_client, answer);
    else
        log_debug("session", "the lease was not renewed: %s", answer->message);
}

static void
lease_renewal_send(void *owner)
{
    struct lease_client *lease_client = owner;
    struct lease_renewal *renewal =
        &lease_client->renewals[lease_client->n_renewals_sent %
                                COUNT_OF(lease_client->renewals)];
    const struct rpc_call call = {
        .method = method_by_id(METHOD_RENDEZVOUS_RENEW)->name,
        .timeout_ms = lease_client->options.lease_ms,
        .on_answer = lease_renewal_on_answer,
        .owner = renewal,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    const uint64_t period_ms =
        lease_client->options.lease_ms / LEASE_RENEWALS_PER_PERIOD;

    /* There may have been no memory to post them. */
    reports_dispatch_all(lease_client);
    if (lease_client->state != LEASE_CLIENT_IS_MEMBER)
        return;
    loop_timer_start(lease_client->renewal, period_ms > 0 ? period_ms : 1);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    renew_request_encode(
        &(struct renew_request){.member = lease_client->self,
                                .totals = lease_client->options.totals(
                                    lease_client->options.owner)},
        &pack);
    /* Renew even if the last renewal is unanswered: only the answer may be
     * late. A call that drops out of the ring has expired. */
    lease_client->n_renewals_sent++;
    rpc_client_cancel(lease_client->options.client, renewal->id);
    renewal->lease_client = lease_client;
    renewal->sent_ns = clock_now_ns();
    if (lease_client_call(lease_client, call, &pack, &renewal->id) != HOOP_OK)
        log_debug("session", "the lease was not renewed: %s", error_text());
    away_notice_begin(&lease_client->away);
}

/* A renewal that waits for the connection shows when the coordinator is back,
 * and whether it knows the job. */
static void
lease_client_on_coordinator_away(void *owner)
{
    struct lease_client *lease_client = owner;

    if (lease_client->state != LEASE_CLIENT_IS_MEMBER)
        return;
    if (!rpc_client_is_disconnected(lease_client->options.client))
        return;
    lease_client->was_disconnected = true;
    lease_renewal_send(lease_client);
}

/* Failure notices from the coordinator. */

static void
failure_notice_handle(struct lease_client *lease_client,
                      const struct watch_event *event)
{
    const struct roster *roster = lease_client->options.roster;

    if (event->kind != WATCH_LOST || event->rank >= roster->size ||
        event->incarnation != roster->members[event->rank].incarnation)
        return;
    /* This rank itself was declared dead: the others have gone on without
     * it. */
    if (event->rank == roster->rank)
        lease_client_end_membership(lease_client, event->reason);
    if (lease_client->is_loss_known[event->rank])
        return;
    lease_client->is_loss_known[event->rank] = true;
    lease_client->options.on_lost(lease_client->options.owner, event->rank,
                                  event->evidence == EVIDENCE_GIVEN_UP
                                      ? EVIDENCE_GIVEN_UP
                                      : EVIDENCE_TOLD,
                                  event->reason);
}

static void
failure_watch_retry(struct lease_client *lease_client, const char *why)
{
    log_debug("session", "watching again in %u ms: %s",
              (unsigned)lease_client->backoff_ms, why);
    loop_timer_start(lease_client->retry, lease_client->backoff_ms);
    lease_client->backoff_ms *= 2;
    if (lease_client->backoff_ms > WATCH_BACKOFF_MAX_MS)
        lease_client->backoff_ms = WATCH_BACKOFF_MAX_MS;
}

static void
coordinator_report_on_answer(void *owner, const struct rpc_answer *answer)
{
    (void)owner;
    if (answer->status != HOOP_OK)
        log_debug("session", "a report was not heard: %s", answer->message);
}

static void
recording_query_handle(struct lease_client *lease_client,
                       const struct watch_reply *reply)
{
    const struct rpc_call call = {
        .method = method_by_id(METHOD_RENDEZVOUS_RECORDING)->name,
        .timeout_ms = lease_client->options.lease_ms,
        .on_answer = coordinator_report_on_answer,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};

    pack_init(&pack, LIMIT_RPC_BODY);
    if (recordings_answer(&lease_client->recordings, &lease_client->self, reply,
                          &pack) &&
        lease_client_call(lease_client, call, &pack, NULL) != HOOP_OK)
        log_debug("session", "a record was not passed on: %s", error_text());
}

static void
failure_watch_on_answer(void *owner, const struct rpc_answer *answer)
{
    CLEANUP(watch_reply_deinit) struct watch_reply reply = {0};
    struct lease_client *lease_client = owner;

    lease_client->watch_call_id = 0;
    if (lease_client->state != LEASE_CLIENT_IS_MEMBER)
        return;
    if (rpc_failure_is_permanent(answer->status)) {
        lease_client_on_rejection(lease_client, answer);
        return;
    }
    if (answer->status != HOOP_OK) {
        failure_watch_retry(lease_client, answer->message);
        return;
    }
    if (watch_reply_decode(answer->body, &reply) != HOOP_OK) {
        failure_watch_retry(lease_client, error_text());
        return;
    }
    lease_client->backoff_ms = WATCH_BACKOFF_FIRST_MS;
    lease_client->revision = reply.revision;
    for (size_t i = 0; i < reply.n_events; i++)
        failure_notice_handle(lease_client, &reply.events[i]);
    peer_views_query_handle(lease_client, reply.question);
    activity_query_handle(lease_client, reply.activity_query);
    recording_query_handle(lease_client, &reply);
    if (lease_client->state == LEASE_CLIENT_IS_MEMBER)
        failure_watch_request_send(lease_client);
}

static void
failure_watch_request_send(void *owner)
{
    struct lease_client *lease_client = owner;
    const struct watch_request request = {
        .epoch = lease_client->self.epoch,
        .since = lease_client->revision,
        .question = lease_client->question,
        .activity_query = lease_client->activity_query,
        .recording_query = lease_client->recordings.query,
    };
    const struct rpc_call call = {
        .method = method_by_id(METHOD_RENDEZVOUS_WATCH)->name,
        .timeout_ms = FAILURE_WATCH_TIMEOUT_MS,
        .on_answer = failure_watch_on_answer,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    watch_request_encode(&request, &pack);
    if (lease_client_call(lease_client, call, &pack,
                          &lease_client->watch_call_id) != HOOP_OK)
        failure_watch_retry(lease_client, error_text());
}

/* Reports to the coordinator. */

static bool
report_needs_decision(const struct coordinator_report *report)
{
    return evidence_rows[report->evidence].decider == EVIDENCE_COORDINATOR;
}

static void
report_pack(const struct lease_client *lease_client,
            const struct coordinator_report *report,
            struct pack *pack)
{
    struct report_request request = {
        .reporter = lease_client->self,
        .rank = report->rank,
        .incarnation =
            lease_client->options.roster->members[report->rank].incarnation,
        .evidence = report->evidence,
        .slack_ms = report->slack_ms,
    };

    snprintf(request.reason, sizeof(request.reason), "%s", report->why);
    pack_init(pack, LIMIT_RPC_MESSAGE);
    report_request_encode(&request, pack);
}

static void
report_request_send(struct lease_client *lease_client,
                    const struct coordinator_report *report)
{
    const struct rpc_call call = {
        .method = method_by_id(METHOD_RENDEZVOUS_REPORT)->name,
        .timeout_ms = lease_client->options.lease_ms,
        .on_answer = coordinator_report_on_answer,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};

    report_pack(lease_client, report, &pack);
    if (lease_client_call(lease_client, call, &pack, NULL) != HOOP_OK)
        log_debug("session", "a report was not sent: %s", error_text());
}

/* Answers travel in a renewal, which also renews the lease. */
static void
query_answer_report_send(struct lease_client *lease_client,
                         const struct coordinator_report *report)
{
    struct renew_request request = {
        .member = lease_client->self,
        .question = report->question,
        .views = {report->views,
                  report->views ? lease_client->options.roster->size : 0},
        .activity_query = report->activity_query,
        .activity = report->activity.line,
        .totals = lease_client->options.totals(lease_client->options.owner),
    };
    const struct rpc_call call = {
        .method = method_by_id(METHOD_RENDEZVOUS_RENEW)->name,
        .timeout_ms = EVIDENCE_LEASE_MS,
        .on_answer = coordinator_report_on_answer,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *details = NULL;
    size_t n_details = 0;

    if (lease_client->state != LEASE_CLIENT_IS_MEMBER)
        return;
    if (report->activity_query &&
        activity_details_pack(lease_client->options.roster, &report->activity,
                              &details, &n_details) == HOOP_OK)
        request.activity.details = (struct message_span){details, n_details};
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    renew_request_encode(&request, &pack);
    if (lease_client_call(lease_client, call, &pack, NULL) != HOOP_OK)
        log_debug("session", "an answer was not sent: %s", error_text());
}

static void
peer_views_query_handle(struct lease_client *lease_client, uint64_t question)
{
    if (question == 0 || question == lease_client->question)
        return;
    lease_client->question = question;
    /* Answer at once that this rank lives: the engine may take longer to say
     * which peers it hears. */
    query_answer_report_send(
        lease_client, &(struct coordinator_report){.question = question});
    lease_client->options.on_peer_views_query(lease_client->options.owner,
                                              question);
}

static void
activity_query_handle(struct lease_client *lease_client, uint64_t query)
{
    if (query == 0 || query == lease_client->activity_query)
        return;
    lease_client->activity_query = query;
    lease_client->options.on_activity_query(lease_client->options.owner, query);
}

/* The others have declared this rank lost, or it has given up: end the
 * membership and fail every call to the coordinator, who may have to be told. */
static void
own_loss_notice_handle(struct lease_client *lease_client,
                       const struct coordinator_report *report)
{
    const bool is_own = report->evidence == EVIDENCE_GIVEN_UP;
    char text[LIMIT_ERROR_TEXT];

    if (is_own)
        snprintf(text, sizeof(text), "this rank %s", report->why);
    else
        engine_describe_expulsion(report->why, text);
    lease_client_end_membership(lease_client, text);
    rpc_client_finish_all_calls(
        lease_client->options.client,
        &(struct rpc_answer){.status =
                                 is_own ? HOOP_E_RANK_FAILED : HOOP_E_ABORTED,
                             .message = text});
    if (report->must_tell)
        report_request_send(lease_client, report);
}

static void
coordinator_report_send(struct lease_client *lease_client,
                        const struct coordinator_report *report)
{
    if (report->question > 0 || report->activity_query > 0)
        query_answer_report_send(lease_client, report);
    else if (report->rank == lease_client->options.roster->rank)
        own_loss_notice_handle(lease_client, report);
    else if (report_needs_decision(report) &&
             (lease_client->state != LEASE_CLIENT_IS_MEMBER ||
              rpc_client_is_disconnected(lease_client->options.client)))
        lease_client->options.on_suspicion_undecided(
            lease_client->options.owner, report->rank);
    else if (!lease_client->is_loss_known[report->rank] &&
             lease_client->state == LEASE_CLIENT_IS_MEMBER)
        report_request_send(lease_client, report);
}

static void
coordinator_report_free(struct coordinator_report *report)
{
    if (report)
        free(report->views);
    free(report);
}

static struct coordinator_report *
coordinator_report_dequeue(struct lease_client *lease_client)
{
    pthread_mutex_lock(&lease_client->lock);
    struct coordinator_report *report = STAILQ_FIRST(&lease_client->reports);

    if (report)
        STAILQ_REMOVE_HEAD(&lease_client->reports, link);
    pthread_mutex_unlock(&lease_client->lock);
    return report;
}

static void
reports_dispatch_all(void *owner)
{
    struct lease_client *lease_client = owner;
    struct coordinator_report *report;

    while ((report = coordinator_report_dequeue(lease_client))) {
        coordinator_report_send(lease_client, report);
        coordinator_report_free(report);
    }
}

/* Takes ownership of report. NULL (there was no memory) is ignored. */
static void
coordinator_report_enqueue(struct lease_client *lease_client,
                           struct coordinator_report *report)
{
    if (!report)
        return;
    pthread_mutex_lock(&lease_client->lock);
    STAILQ_INSERT_TAIL(&lease_client->reports, report, link);
    pthread_mutex_unlock(&lease_client->lock);
    if (loop_post(lease_client->options.loop, reports_dispatch_all,
                  lease_client) != HOOP_OK)
        log_debug("session", "a report was not sent: %s", error_text());
}

static struct coordinator_report *
coordinator_report_create(uint32_t rank,
                          enum evidence evidence,
                          const char *why)
{
    struct coordinator_report *report = calloc(1, sizeof(*report));

    if (!report)
        return NULL;
    report->rank = rank;
    report->evidence = evidence;
    snprintf(report->why, sizeof(report->why), "%s", why);
    return report;
}

void
lease_client_report_lost(struct lease_client *lease_client,
                         uint32_t rank,
                         enum evidence evidence,
                         const char *why)
{
    coordinator_report_enqueue(lease_client,
                               coordinator_report_create(rank, evidence, why));
}

void
lease_client_report_gave_up(struct lease_client *lease_client, const char *why)
{
    struct coordinator_report *report = STEAL(lease_client->own_report);

    if (!report)
        return;
    report->must_tell = true;
    snprintf(report->why, sizeof(report->why), "%s", why);
    coordinator_report_enqueue(lease_client, report);
}

/* Tell the coordinator that this rank is lost, and wait for the answer. A status
 * other than HOOP_OK comes with the thread's last error. */
static enum hoop_status
own_loss_report_and_wait(struct lease_client *lease_client,
                         const struct coordinator_report *report,
                         uint64_t timeout_ms)
{
    struct rpc_call call = {
        .method = method_by_id(METHOD_RENDEZVOUS_REPORT)->name,
        .timeout_ms = timeout_ms,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *bytes = NULL;

    report_pack(lease_client, report, &pack);
    enum hoop_status status = pack_take(&pack, &bytes, &call.body.n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    call.body.bytes = bytes;
    status =
        rpc_client_call_wait(lease_client->options.client, &call, NULL, NULL);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

bool
lease_client_report_give_up(struct lease_client *lease_client,
                            const char *why,
                            uint64_t timeout_ms)
{
    const uint64_t deadline_ns = clock_deadline_ns(timeout_ms);
    struct coordinator_report report = {
        .rank = lease_client->options.roster->rank,
        .evidence = EVIDENCE_GIVEN_UP,
    };

    snprintf(report.why, sizeof(report.why), "%s", why);
    enum hoop_status status =
        own_loss_report_and_wait(lease_client, &report, timeout_ms);

    /* An older coordinator does not know EVIDENCE_GIVEN_UP. It is told that
     * this rank is lost. */
    const int left_ms = clock_left_ms(deadline_ns);
    report.evidence = EVIDENCE_TOLD;
    if (status == HOOP_E_INVALID && left_ms > 0)
        status =
            own_loss_report_and_wait(lease_client, &report, (uint64_t)left_ms);
    if (status != HOOP_OK)
        log_debug("session",
                  "the coordinator may not know that this rank has "
                  "given up: %s",
                  error_text());
    lease_client_report_lost(lease_client, report.rank, EVIDENCE_GIVEN_UP, why);
    return status == HOOP_OK;
}

void
lease_client_report_suspicion(struct lease_client *lease_client,
                              uint32_t rank,
                              const struct engine_suspicion *suspicion)
{
    struct coordinator_report *report =
        coordinator_report_create(rank, suspicion->evidence, suspicion->why);

    if (!report)
        return;
    report->slack_ms = suspicion->slack_ms;
    coordinator_report_enqueue(lease_client, report);
}

void
lease_client_send_peer_views(struct lease_client *lease_client,
                             uint64_t question,
                             const uint8_t *views)
{
    const uint32_t size = lease_client->options.roster->size;
    struct coordinator_report *report =
        coordinator_report_create(0, EVIDENCE_TOLD, "");

    if (report)
        report->views = malloc(size);
    if (!report || !report->views) {
        coordinator_report_free(report);
        return;
    }
    report->question = question;
    memcpy(report->views, views, size);
    coordinator_report_enqueue(lease_client, report);
}

void
lease_client_send_activity(struct lease_client *lease_client,
                           uint64_t query,
                           const struct engine_activity *activity)
{
    struct coordinator_report *report =
        coordinator_report_create(0, EVIDENCE_TOLD, "");

    if (!report)
        return;
    report->activity_query = query;
    report->activity = *activity;
    coordinator_report_enqueue(lease_client, report);
}

static enum hoop_status
lease_client_create_timers(struct lease_client *lease_client)
{
    const struct lease_client_options *options = &lease_client->options;

    lease_client->is_loss_known =
        calloc(options->roster->size, sizeof(*lease_client->is_loss_known));
    lease_client->own_report =
        coordinator_report_create(options->roster->rank, EVIDENCE_GIVEN_UP, "");
    if (!lease_client->is_loss_known || !lease_client->own_report)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u members",
                           options->roster->size);
    enum hoop_status status =
        loop_timer_create(options->loop, lease_renewal_send, lease_client,
                          &lease_client->renewal);
    if (status == HOOP_OK)
        status = loop_timer_create(options->loop, failure_watch_request_send,
                                   lease_client, &lease_client->retry);
    if (status == HOOP_OK)
        status = away_notice_init(&lease_client->away, options->loop,
                                  options->client, options->config);
    if (status == HOOP_OK)
        rpc_client_watch_connection(
            options->client, lease_client_on_coordinator_away, lease_client);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
lease_client_create(const struct lease_client_options *options,
                    struct lease_client **out_client)
{
    struct lease_client *lease_client = calloc(1, sizeof(*lease_client));

    if (!lease_client)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the membership");
    lease_client->options = *options;
    lease_client->self = (struct member_request){
        .epoch = options->roster->epoch,
        .incarnation = options->roster->credential,
    };
    lease_client->revision = options->revision;
    recordings_open(&lease_client->recordings, options->config,
                    options->roster);
    lease_client->backoff_ms = WATCH_BACKOFF_FIRST_MS;
    pthread_mutex_init(&lease_client->lock, NULL);
    STAILQ_INIT(&lease_client->reports);

    const enum hoop_status status = lease_client_create_timers(lease_client);
    if (status != HOOP_OK) {
        lease_client_destroy(lease_client);
        return error_pass(status);
    }
    loop_timer_start(lease_client->renewal, 0);
    loop_timer_start(lease_client->retry, 0);
    *out_client = lease_client;
    return HOOP_OK;
}

void
lease_client_destroy(struct lease_client *lease_client)
{
    struct coordinator_report *report;

    if (!lease_client)
        return;
    for (size_t i = 0; i < COUNT_OF(lease_client->renewals); i++)
        rpc_client_cancel(lease_client->options.client,
                          lease_client->renewals[i].id);
    rpc_client_cancel(lease_client->options.client,
                      lease_client->watch_call_id);
    rpc_client_watch_connection(lease_client->options.client, NULL, NULL);
    loop_cancel_posts(lease_client->options.loop, lease_client);
    while ((report = coordinator_report_dequeue(lease_client)))
        coordinator_report_free(report);
    coordinator_report_free(lease_client->own_report);
    loop_timer_destroy(lease_client->renewal);
    loop_timer_destroy(lease_client->retry);
    away_notice_deinit(&lease_client->away);
    recordings_close(&lease_client->recordings);
    pthread_mutex_destroy(&lease_client->lock);
    free(lease_client->is_loss_known);
    free(lease_client);
}
