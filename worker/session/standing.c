/*
 * session/standing.c - a member's standing: its lease, and who else has lost it
 *
 *   GOOD -> OVER   the coordinator does not know this membership any more: the
 *                  job goes on over its connections, and nothing is renewed
 */

#include "session/standing.h"

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
#include "base/wait_notice.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/method.h"
#include "wire/pack.h"

enum {
    RENEWALS_PER_LEASE = 3,
    WATCH_MS = 30000, /* of one long poll */
    BACKOFF_FIRST_MS = 100,
    BACKOFF_MAX_MS = 5000,
};

/* Handed from the driver to the loop. */
struct report {
    STAILQ_ENTRY(report) link;
    uint32_t rank;
    enum evidence evidence;
    uint32_t slack_ms;
    char why[LIMIT_REASON];
    uint64_t question;               /* an answer to it, and no report */
    uint8_t *views;                  /* then: [rank] */
    uint64_t activity_query;         /* likewise */
    struct engine_activity activity; /* then */
};

STAILQ_HEAD(report_list, report);

enum standing_state {
    STANDING_GOOD,
    STANDING_OVER,
};

struct standing {
    struct standing_options options;
    enum standing_state state;
    struct member_request self;
    struct loop_timer *renewal;
    struct loop_timer *retry;              /* of the watch */
    uint64_t renewals[RENEWALS_PER_LEASE]; /* ids of the last calls */
    unsigned n_renewals;                   /* ever */
    uint64_t watch_call;                   /* 0: none */
    uint64_t revision;
    uint64_t question;       /* the last that was asked */
    uint64_t activity_query; /* likewise */
    uint64_t backoff_ms;
    bool *is_known; /* [rank]: the coordinator has told of its end */

    struct wait_notice wait; /* for an answer, while it is under way */
    bool was_away; /* the connection broke, and no renewal is answered yet */
    bool is_waiting;
    bool has_told; /* that it waits */
    struct loop_timer *notice;

    pthread_mutex_t lock; /* of reports */
    struct report_list reports;
};

static void
watch_begin(void *owner);

static void
question_take(struct standing *standing, uint64_t question);

static void
activity_query_take(struct standing *standing, uint64_t query);

/* Whether trying again is pointless. */
static bool
is_final(enum hoop_status status)
{
    return status == HOOP_E_NOT_FOUND || status == HOOP_E_PRECONDITION ||
           status == HOOP_E_UNAUTHENTICATED || status == HOOP_E_DENIED ||
           status == HOOP_E_UNIMPLEMENTED;
}

/* Of a coordinator that was gone, and has come back without the job. */
static void
forgotten_say(const struct standing *standing, const char *why)
{
    if (standing->options.wait_notice_ms > 0)
        log_write(LOG_WARNING, "wait",
                  "hoopd at %s is back, but does not know this job: %.300s; "
                  "collectives and messages go on, without leases and verdicts "
                  "on the dead; hoopd keeps its jobs with --data-dir",
                  standing->options.coordinator, why);
}

static void
standing_end(struct standing *standing, const char *why)
{
    if (standing->state == STANDING_OVER)
        return;
    standing->state = STANDING_OVER;
    loop_timer_stop(standing->renewal);
    loop_timer_stop(standing->retry);
    loop_timer_stop(standing->notice);
    standing->is_waiting = false;
    log_warning("session", "the coordinator has ended this membership: %s",
                why);
}

static void
standing_refuse(struct standing *standing, const struct rpc_answer *answer)
{
    if (standing->was_away && answer->status == HOOP_E_NOT_FOUND &&
        standing->state != STANDING_OVER)
        forgotten_say(standing, answer->message);
    standing_end(standing, answer->message);
}

static enum hoop_status
call_send(struct standing *standing,
          struct rpc_call call,
          struct pack *pack,
          uint64_t *out_id)
{
    CLEANUP(free) uint8_t *bytes = NULL;

    enum hoop_status status = pack_take(pack, &bytes, &call.body.n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    call.body.bytes = bytes;
    call.owner = standing;
    status = rpc_client_call(standing->options.client, &call, out_id);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* A coordinator that does not answer. */

static void
notice_plan(struct standing *standing)
{
    const int left_ms = wait_notice_left_ms(&standing->wait);

    if (left_ms >= 0)
        loop_timer_start(standing->notice, (uint64_t)left_ms);
}

static void
wait_begin(struct standing *standing)
{
    const struct standing_options *options = &standing->options;

    if (standing->is_waiting || options->wait_notice_ms == 0)
        return;
    standing->is_waiting = true;
    standing->has_told = false;
    wait_notice_begin(&standing->wait, options->wait_notice_ms, NULL, 0);
    notice_plan(standing);
}

static void
wait_end(struct standing *standing)
{
    if (!standing->is_waiting)
        return;
    standing->is_waiting = false;
    loop_timer_stop(standing->notice);
    if (standing->has_told)
        log_write(LOG_WARNING, "wait", "hoopd at %s is back after %.1f s",
                  standing->options.coordinator,
                  (double)(clock_now_ns() - standing->wait.began_ns) /
                      (double)CLOCK_NS_PER_S);
}

static void
notice_on_timer(void *owner)
{
    struct standing *standing = owner;
    const char *trouble = rpc_client_trouble(standing->options.client);
    char text[LIMIT_ERROR_TEXT];

    if (trouble && !trouble[0])
        trouble = "no answer yet";
    snprintf(text, sizeof(text),
             "waiting for hoopd at %s: %.500s; collectives and messages go on, "
             "what asks the coordinator waits",
             standing->options.coordinator,
             trouble ? trouble : "it is connected, but does not answer");
    standing->has_told = true;
    wait_notice_say(&standing->wait, text);
    notice_plan(standing);
}

/* The lease. */

static void
renewal_on_answer(void *owner, const struct rpc_answer *answer)
{
    struct standing *standing = owner;

    if (answer->status == HOOP_OK) {
        standing->was_away = false;
        wait_end(standing);
        return;
    }
    if (is_final(answer->status))
        standing_refuse(standing, answer);
    else
        log_debug("session", "the lease was not renewed: %s", answer->message);
}

static void
renewal_begin(void *owner)
{
    struct standing *standing = owner;
    const struct rpc_call call = {
        .method = method_of(METHOD_RENDEZVOUS_RENEW)->name,
        .timeout_ms = standing->options.lease_ms,
        .on_answer = renewal_on_answer,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    const uint64_t period_ms = standing->options.lease_ms / RENEWALS_PER_LEASE;

    loop_timer_start(standing->renewal, period_ms > 0 ? period_ms : 1);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    renew_request_encode(&(struct renew_request){.member = standing->self},
                         &pack);
    /* Also when the last one is not answered yet: it may be the answer that
     * is late. Whatever falls out of the ring has expired. */
    uint64_t *id =
        &standing
             ->renewals[standing->n_renewals++ % COUNT_OF(standing->renewals)];
    rpc_client_cancel(standing->options.client, *id);
    if (call_send(standing, call, &pack, id) != HOOP_OK)
        log_debug("session", "the lease was not renewed: %s", error_text());
    wait_begin(standing);
}

/* A renewal that waits for the connection shows when it is back, and whether it
 * knows the job. */
static void
away_on_change(void *owner)
{
    struct standing *standing = owner;

    if (standing->state != STANDING_GOOD)
        return;
    if (!rpc_client_is_away(standing->options.client))
        return;
    standing->was_away = true;
    renewal_begin(standing);
}

/* Verdicts of the coordinator. */

static void
watch_take(struct standing *standing, const struct watch_event *event)
{
    const struct roster *roster = standing->options.roster;

    if (event->kind != WATCH_LOST || event->rank >= roster->size ||
        event->incarnation != roster->members[event->rank].incarnation)
        return;
    /* This rank itself: the others have gone on without it. */
    if (event->rank == roster->rank)
        standing_end(standing, event->reason);
    if (standing->is_known[event->rank])
        return;
    standing->is_known[event->rank] = true;
    standing->options.on_lost(standing->options.owner, event->rank,
                              event->evidence == EVIDENCE_GIVEN_UP
                                  ? EVIDENCE_GIVEN_UP
                                  : EVIDENCE_TOLD,
                              event->reason);
}

static void
watch_again(struct standing *standing, const char *why)
{
    log_debug("session", "watching again in %u ms: %s",
              (unsigned)standing->backoff_ms, why);
    loop_timer_start(standing->retry, standing->backoff_ms);
    standing->backoff_ms *= 2;
    if (standing->backoff_ms > BACKOFF_MAX_MS)
        standing->backoff_ms = BACKOFF_MAX_MS;
}

static void
watch_on_answer(void *owner, const struct rpc_answer *answer)
{
    CLEANUP(watch_reply_deinit) struct watch_reply reply = {0};
    struct standing *standing = owner;

    standing->watch_call = 0;
    if (standing->state != STANDING_GOOD)
        return;
    if (is_final(answer->status)) {
        standing_refuse(standing, answer);
        return;
    }
    if (answer->status != HOOP_OK) {
        watch_again(standing, answer->message);
        return;
    }
    if (watch_reply_decode(answer->body, &reply) != HOOP_OK) {
        watch_again(standing, error_text());
        return;
    }
    standing->backoff_ms = BACKOFF_FIRST_MS;
    standing->revision = reply.revision;
    for (size_t i = 0; i < reply.n_events; i++)
        watch_take(standing, &reply.events[i]);
    question_take(standing, reply.question);
    activity_query_take(standing, reply.activity_query);
    if (standing->state == STANDING_GOOD)
        watch_begin(standing);
}

static void
watch_begin(void *owner)
{
    struct standing *standing = owner;
    const struct watch_request request = {
        .epoch = standing->self.epoch,
        .since = standing->revision,
        .question = standing->question,
        .activity_query = standing->activity_query,
    };
    const struct rpc_call call = {
        .method = method_of(METHOD_RENDEZVOUS_WATCH)->name,
        .timeout_ms = WATCH_MS,
        .on_answer = watch_on_answer,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    watch_request_encode(&request, &pack);
    if (call_send(standing, call, &pack, &standing->watch_call) != HOOP_OK)
        watch_again(standing, error_text());
}

/* Verdicts of our own. */

static void
report_on_answer(void *owner, const struct rpc_answer *answer)
{
    (void)owner;
    if (answer->status != HOOP_OK)
        log_debug("session", "a report was not heard: %s", answer->message);
}

static bool
is_verdict(const struct report *report)
{
    return evidence_rows[report->evidence].decider != EVIDENCE_COORDINATOR;
}

static void
report_send(struct standing *standing, const struct report *report)
{
    const struct roster *roster = standing->options.roster;
    struct report_request request = {
        .reporter = standing->self,
        .rank = report->rank,
        .incarnation = roster->members[report->rank].incarnation,
        .evidence = report->evidence,
        .slack_ms = report->slack_ms,
    };
    const struct rpc_call call = {
        .method = method_of(METHOD_RENDEZVOUS_REPORT)->name,
        .timeout_ms = standing->options.lease_ms,
        .on_answer = report_on_answer,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};

    if (standing->is_known[report->rank] || standing->state != STANDING_GOOD)
        return;
    snprintf(request.reason, sizeof(request.reason), "%s", report->why);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    report_request_encode(&request, &pack);
    if (call_send(standing, call, &pack, NULL) != HOOP_OK)
        log_debug("session", "a report was not sent: %s", error_text());
}

static void
complaint_send(struct standing *standing, const struct report *report)
{
    if (standing->state != STANDING_GOOD ||
        rpc_client_is_away(standing->options.client))
        standing->options.on_undecided(standing->options.owner, report->rank);
    else
        report_send(standing, report);
}

static struct rank_activity
activity_of(const struct engine_activity *from)
{
    struct rank_activity activity = {
        .number = from->number,
        .age_ms = from->age_ms,
        .n_calls = from->n_calls,
    };

    snprintf(activity.call, sizeof(activity.call), "%s", from->call);
    snprintf(activity.communicator, sizeof(activity.communicator), "%s",
             from->communicator);
    snprintf(activity.waits_for, sizeof(activity.waits_for), "%s",
             from->waits_for);
    return activity;
}

/* A renewal, too. */
static void
answer_send(struct standing *standing, const struct report *report)
{
    const struct renew_request request = {
        .member = standing->self,
        .question = report->question,
        .views = {report->views,
                  report->views ? standing->options.roster->size : 0},
        .activity_query = report->activity_query,
        .activity = activity_of(&report->activity),
    };
    const struct rpc_call call = {
        .method = method_of(METHOD_RENDEZVOUS_RENEW)->name,
        .timeout_ms = EVIDENCE_LEASE_MS,
        .on_answer = report_on_answer,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};

    if (standing->state != STANDING_GOOD)
        return;
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    renew_request_encode(&request, &pack);
    if (call_send(standing, call, &pack, NULL) != HOOP_OK)
        log_debug("session", "an answer was not sent: %s", error_text());
}

static void
question_take(struct standing *standing, uint64_t question)
{
    if (question == 0 || question == standing->question)
        return;
    standing->question = question;
    /* First, that this rank lives: its peers may take longer to answer. */
    answer_send(standing, &(struct report){.question = question});
    standing->options.on_asked(standing->options.owner, question);
}

static void
activity_query_take(struct standing *standing, uint64_t query)
{
    if (query == 0 || query == standing->activity_query)
        return;
    standing->activity_query = query;
    standing->options.on_activity_query(standing->options.owner, query);
}

/* The others have given this rank up, or it has itself: what it asks for, it does not
 * get. */
static void
expulsion_take(struct standing *standing, const struct report *report)
{
    const bool is_own = report->evidence == EVIDENCE_GIVEN_UP;
    char text[LIMIT_ERROR_TEXT];

    if (is_own)
        snprintf(text, sizeof(text), "this rank %s", report->why);
    else
        engine_describe_expulsion(report->why, text);
    standing_end(standing, text);
    rpc_client_answer_all(
        standing->options.client,
        &(struct rpc_answer){.status =
                                 is_own ? HOOP_E_RANK_FAILED : HOOP_E_ABORTED,
                             .message = text});
}

static void
report_open(struct standing *standing, const struct report *report)
{
    if (report->question > 0 || report->activity_query > 0)
        answer_send(standing, report);
    else if (report->rank == standing->options.roster->rank)
        expulsion_take(standing, report);
    else if (is_verdict(report))
        report_send(standing, report);
    else
        complaint_send(standing, report);
}

static void
report_free(struct report *report)
{
    if (report)
        free(report->views);
    free(report);
}

static struct report *
report_take(struct standing *standing)
{
    pthread_mutex_lock(&standing->lock);
    struct report *report = STAILQ_FIRST(&standing->reports);

    if (report)
        STAILQ_REMOVE_HEAD(&standing->reports, link);
    pthread_mutex_unlock(&standing->lock);
    return report;
}

static void
reports_send(void *owner)
{
    struct standing *standing = owner;
    struct report *report;

    while ((report = report_take(standing))) {
        report_open(standing, report);
        report_free(report);
    }
}

/* Takes report; NULL: there was no memory. */
static void
report_post(struct standing *standing, struct report *report)
{
    if (!report)
        return;
    pthread_mutex_lock(&standing->lock);
    STAILQ_INSERT_TAIL(&standing->reports, report, link);
    pthread_mutex_unlock(&standing->lock);
    if (loop_post(standing->options.loop, reports_send, standing) != HOOP_OK)
        log_debug("session", "a report was not sent: %s", error_text());
}

static struct report *
report_create(uint32_t rank, enum evidence evidence, const char *why)
{
    struct report *report = calloc(1, sizeof(*report));

    if (!report)
        return NULL;
    report->rank = rank;
    report->evidence = evidence;
    snprintf(report->why, sizeof(report->why), "%s", why);
    return report;
}

void
standing_report(struct standing *standing,
                uint32_t rank,
                enum evidence evidence,
                const char *why)
{
    report_post(standing, report_create(rank, evidence, why));
}

/* An answer that is not HOOP_OK is the thread's error. */
static enum hoop_status
report_ask(struct standing *standing,
           enum evidence evidence,
           const char *why,
           uint64_t timeout_ms)
{
    const struct roster *roster = standing->options.roster;
    struct report_request request = {
        .reporter = standing->self,
        .rank = roster->rank,
        .incarnation = roster->members[roster->rank].incarnation,
        .evidence = evidence,
    };
    struct rpc_call call = {
        .method = method_of(METHOD_RENDEZVOUS_REPORT)->name,
        .timeout_ms = timeout_ms,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *bytes = NULL;
    CLEANUP(free) uint8_t *body = NULL;
    size_t n_body = 0;

    snprintf(request.reason, sizeof(request.reason), "%s", why);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    report_request_encode(&request, &pack);
    enum hoop_status status = pack_take(&pack, &bytes, &call.body.n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    call.body.bytes = bytes;
    status =
        rpc_client_call_wait(standing->options.client, &call, &body, &n_body);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

bool
standing_give_up(struct standing *standing,
                 const char *why,
                 uint64_t timeout_ms)
{
    const uint64_t deadline_ns = clock_deadline_ns(timeout_ms);
    enum hoop_status status =
        report_ask(standing, EVIDENCE_GIVEN_UP, why, timeout_ms);

    /* An older coordinator knows no such evidence, but that it is lost. */
    const int left_ms = clock_left_ms(deadline_ns);
    if (status == HOOP_E_INVALID && left_ms > 0)
        status = report_ask(standing, EVIDENCE_TOLD, why, (uint64_t)left_ms);
    if (status != HOOP_OK)
        log_debug("session",
                  "the coordinator may not know that this rank has "
                  "given up: %s",
                  error_text());
    standing_report(standing, standing->options.roster->rank, EVIDENCE_GIVEN_UP,
                    why);
    return status == HOOP_OK;
}

void
standing_complain(struct standing *standing,
                  uint32_t rank,
                  const struct engine_suspicion *suspicion)
{
    struct report *report =
        report_create(rank, suspicion->evidence, suspicion->why);

    if (!report)
        return;
    report->slack_ms = suspicion->slack_ms;
    report_post(standing, report);
}

void
standing_answer(struct standing *standing,
                uint64_t question,
                const uint8_t *views)
{
    const uint32_t size = standing->options.roster->size;
    struct report *report = report_create(0, EVIDENCE_TOLD, "");

    if (!report)
        return;
    report->question = question;
    report->views = malloc(size);
    if (!report->views) {
        report_free(report);
        return;
    }
    memcpy(report->views, views, size);
    report_post(standing, report);
}

void
standing_tell_activity(struct standing *standing,
                       uint64_t query,
                       const struct engine_activity *activity)
{
    struct report *report = report_create(0, EVIDENCE_TOLD, "");

    if (!report)
        return;
    report->activity_query = query;
    report->activity = *activity;
    report_post(standing, report);
}

static enum hoop_status
standing_open(struct standing *standing)
{
    const struct standing_options *options = &standing->options;

    standing->is_known =
        calloc(options->roster->size, sizeof(*standing->is_known));
    if (!standing->is_known)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u members",
                           options->roster->size);
    enum hoop_status status = loop_timer_create(options->loop, renewal_begin,
                                                standing, &standing->renewal);
    if (status == HOOP_OK)
        status = loop_timer_create(options->loop, watch_begin, standing,
                                   &standing->retry);
    if (status == HOOP_OK)
        status = loop_timer_create(options->loop, notice_on_timer, standing,
                                   &standing->notice);
    if (status == HOOP_OK)
        rpc_client_watch(options->client, away_on_change, standing);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
standing_create(const struct standing_options *options,
                struct standing **out_standing)
{
    struct standing *standing = calloc(1, sizeof(*standing));

    if (!standing)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the membership");
    standing->options = *options;
    standing->self = (struct member_request){
        .epoch = options->roster->epoch,
        .incarnation = options->roster->credential,
    };
    standing->revision = options->revision;
    standing->backoff_ms = BACKOFF_FIRST_MS;
    pthread_mutex_init(&standing->lock, NULL);
    STAILQ_INIT(&standing->reports);

    const enum hoop_status status = standing_open(standing);
    if (status != HOOP_OK) {
        standing_destroy(standing);
        return error_pass(status);
    }
    loop_timer_start(standing->renewal, 0);
    loop_timer_start(standing->retry, 0);
    *out_standing = standing;
    return HOOP_OK;
}

void
standing_destroy(struct standing *standing)
{
    struct report *report;

    if (!standing)
        return;
    for (size_t i = 0; i < COUNT_OF(standing->renewals); i++)
        rpc_client_cancel(standing->options.client, standing->renewals[i]);
    rpc_client_cancel(standing->options.client, standing->watch_call);
    rpc_client_watch(standing->options.client, NULL, NULL);
    loop_cancel_posts(standing->options.loop, standing);
    while ((report = report_take(standing)))
        report_free(report);
    loop_timer_destroy(standing->renewal);
    loop_timer_destroy(standing->retry);
    loop_timer_destroy(standing->notice);
    pthread_mutex_destroy(&standing->lock);
    free(standing->is_known);
    free(standing);
}
