/*
 * core/cluster.c - one step: expired timers, then the event, then its
 * consequences
 *
 * First the expired timers are handled, as if the step had come in time; then
 * the event is applied to the current state. After each of the two, the touched
 * jobs are settled (see job.h). A request function either answers or parks the
 * request, or fails; then the failing reply is made here from the error.
 */

#include "core/cluster.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "core/admission.h"
#include "core/change.h"
#include "core/forming.h"
#include "core/group.h"
#include "core/group_slot.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/key_call.h"
#include "core/membership.h"
#include "core/memory.h"
#include "core/recording_query.h"
#include "core/recovery_lease_check.h"
#include "core/status_query.h"
#include "core/store.h"
#include "core/suspicion.h"
#include "core/vote.h"

enum {
    DEFAULT_SETTLE_MS = 1000,
    DEFAULT_LEASE_MS = 10000,
};

#define REQUEST_HANDLER(kind, handler, scope) [kind] = {handler, scope},
static const struct request_handler {
    request_handler_fn *answer;
    enum request_scope scope;
} request_handlers[] = {CLUSTER_REQUEST_LIST(REQUEST_HANDLER)};

static enum hoop_status
cluster_options_check(const struct cluster_options *options)
{
    if (options->world_size > LIMIT_RANKS)
        return error_raise(HOOP_E_INVALID,
                           "a world size of %u is over the limit of %d",
                           options->world_size, LIMIT_RANKS);
    if (options->size_min > options->world_size)
        return error_raise(HOOP_E_INVALID,
                           "a smallest world of %u needs a world size that is "
                           "not below it, but that is %u",
                           options->size_min, options->world_size);
    return HOOP_OK;
}

enum hoop_status
cluster_create(const struct cluster_options *options,
               struct cluster **out_cluster)
{
    struct token token = {0};
    enum hoop_status status = cluster_options_check(options);

    if (status == HOOP_OK)
        status = token_derive_roles(&token, options->token);
    if (status != HOOP_OK)
        return error_pass(status);

    struct cluster *cluster = memory_calloc(1, sizeof(*cluster));

    cluster->has_token = options->token != NULL;
    cluster->token = token;
    cluster->world_size = options->world_size;
    cluster->size_min = options->size_min;
    cluster->settle_ms =
        options->settle_ms ? options->settle_ms : DEFAULT_SETTLE_MS;
    cluster->lease_ms =
        options->lease_ms ? options->lease_ms : DEFAULT_LEASE_MS;
    cluster->keeps_records = options->keeps_records;
    cluster->wall_offset_ns = options->wall_offset_ns;
    cluster->now_ns = options->now_ns;
    STAILQ_INIT(&cluster->touched);
    STAILQ_INIT(&cluster->retired);
    STAILQ_INIT(&cluster->retired_groups);
    *out_cluster = cluster;
    return HOOP_OK;
}

/* How jobs end. */

static void
job_on_grace_expired(struct cluster *cluster, struct job *job)
{
    timer_heap_remove(&cluster->timer_heap, &job->grace);
    job_mark_touched(cluster, job);
}

static void
job_destroy(struct job *job)
{
    struct member *member = TAILQ_FIRST(&job->arrivals);

    HASH_CLEAR(hh, job->members);
    HASH_CLEAR(hh_rank, job->joins.requests);
    while (member) {
        struct member *next = TAILQ_NEXT(member, arrival);

        member_destroy(member);
        member = next;
    }
    votes_destroy(job);
    groups_deinit(&job->groups);
    store_deinit(&job->store);
    job_recount_table_bytes(job);
    memory_free_charged(&job->memory, job->suspicion.views);
    memory_free_charged(&job->memory, job->suspicion.ranks);
    activities_deinit(job);
    ended_job_deinit(&job->world.last_grown);
    recording_queries_deinit(job);
    memory_free_charged(&job->memory, job->world.ranks);
    memory_free_charged(&job->memory, job->world.roster);
    memory_free_charged(&job->memory, job->joins.timeout_text);
    memory_free_charged(&job->memory, job->world.changes);

    struct memory_account memory = job->memory;

    assert(memory.n_bytes == memory_allocated_size(job));
    memory_free_charged(&memory, job);
}

/* Remember a job with the members of its newest world. */
static void
job_add_to_ended(struct cluster *cluster, struct job *job)
{
    struct ended_job ended_job = job->world.last_grown;

    job->world.last_grown = (struct ended_job){0};
    if (!ended_job.epoch)
        ended_job_take_world(&ended_job, job);
    ended_job.when_ns = cluster->now_ns;
    ended_job.n_left = job->n_workers_left;
    ended_job.n_lost = job->n_workers_lost;
    strcpy(ended_job.name, job->name);
    ended_jobs_add(&cluster->ended_jobs, &ended_job);
    journal_write_ended_job(cluster, &ended_job);
}

static void
job_log_end(struct cluster *cluster, const struct job *job)
{
    action_list_add_notice(
        &cluster->action_list,
        &(struct cluster_log_notice){.kind = CLUSTER_NOTICE_ENDED,
                                     .job = job->name,
                                     .epoch = job->world.epoch,
                                     .rank = CLUSTER_RANK_ANY},
        "job \"%s\" has ended, epoch %llu: %u of %u left, %u lost", job->name,
        (unsigned long long)job->world.epoch, job->n_workers_left,
        job->n_workers_left + job->n_workers_lost, job->n_workers_lost);
}

static void
job_end_and_retire(struct cluster *cluster, struct job *job)
{
    if (job->world.epoch && !job->root) {
        job_add_to_ended(cluster, job);
        job_log_end(cluster, job);
    }
    if (job->root && job->world.epoch > job->root->world.last_grown.epoch)
        ended_job_take_world(&job->root->world.last_grown, job);
    waiters_fail_all(cluster, job, HOOP_E_NOT_FOUND, "job \"%s\" has ended",
                     job->name);
    timer_heap_remove(&cluster->timer_heap, &job->joins.settle);
    timer_heap_remove(&cluster->timer_heap, &job->grace);
    timer_heap_remove(&cluster->timer_heap, &job->lease_check.entry);
    suspicion_close_query(cluster, job);
    store_remove_timers(cluster, job);
    journal_erase_job(cluster, job);
    job_set_state(job, CLUSTER_JOB_ENDED);
    job_metrics_end(job->metrics, cluster->now_ns);
    HASH_DEL(cluster->jobs, job);
    cluster->counters.jobs -= job->root == NULL;
    if (job->root) {
        LIST_REMOVE(job, grown_link);
        job->root->n_grown--;
        job_mark_touched(cluster, job->root);
    }
    STAILQ_INSERT_TAIL(&cluster->retired, job, link);
}

static void
jobs_update_touched(struct cluster *cluster)
{
    while (!STAILQ_EMPTY(&cluster->touched)) {
        struct job *job = STAILQ_FIRST(&cluster->touched);

        STAILQ_REMOVE_HEAD(&cluster->touched, link);
        job->is_touched = false;
        growth_fail_memberless(cluster, job);
        activities_answer_complete(cluster, job);
        recording_queries_settle(cluster, job);
        changes_answer_watches(cluster, job);
        key_watches_answer(cluster, job);
        if (!job->n_members && !job->grace.place && LIST_EMPTY(&job->grown))
            job_end_and_retire(cluster, job);
    }
}

static void
jobs_free_retired(struct cluster *cluster)
{
    while (!STAILQ_EMPTY(&cluster->retired)) {
        struct job *job = STAILQ_FIRST(&cluster->retired);

        STAILQ_REMOVE_HEAD(&cluster->retired, link);
        job_destroy(job);
    }
}

static void
jobs_destroy(struct cluster *cluster)
{
    struct job *job = cluster->jobs;

    groups_free_retired(cluster);
    jobs_free_retired(cluster);
    HASH_CLEAR(hh, cluster->jobs);
    /* The account of the root is charged for the workers of all worlds, so
     * destroy the roots last. */
    while (job) {
        struct job *next = job->hh.next;

        if (job->root)
            job_destroy(job);
        else
            STAILQ_INSERT_TAIL(&cluster->retired, job, link);
        job = next;
    }
    jobs_free_retired(cluster);
}

static void
waiters_free_all(struct cluster *cluster)
{
    struct waiter *waiter = cluster->waiters;

    HASH_CLEAR(hh, cluster->waiters);
    HASH_CLEAR(hh_client, cluster->clients);
    while (waiter) {
        struct waiter *next = waiter->hh.next;

        memory_free_charged(&waiter->job->memory, waiter);
        waiter = next;
    }
}

void
cluster_destroy(struct cluster *cluster)
{
    if (!cluster)
        return;
    waiters_free_all(cluster);
    jobs_destroy(cluster);
    job_metrics_table_deinit(&cluster->job_metrics);
    ended_jobs_deinit(&cluster->ended_jobs);
    timer_heap_deinit(&cluster->timer_heap);
    action_list_deinit(&cluster->action_list);
    free(cluster);
}

static void
waiter_on_deadline(struct cluster *cluster, struct waiter *waiter)
{
    if (waiter->kind != WAITER_JOIN)
        cluster->counters.replies_expired++;
    switch (waiter->kind) {
    case WAITER_JOIN:
        forming_on_join_deadline(cluster, waiter->job);
        return;
    case WAITER_MEMBERSHIP_WATCH:
        change_watch_on_deadline(cluster, waiter);
        return;
    case WAITER_KEYS_EXIST:
        key_wait_on_deadline(cluster, waiter);
        return;
    case WAITER_KEY_WATCH:
        key_watch_on_deadline(cluster, waiter);
        return;
    case WAITER_GROUP_SLOT:
        group_slot_on_join_deadline(cluster, waiter);
        return;
    case WAITER_VOTE:
        vote_on_call_deadline(cluster, waiter);
        return;
    case WAITER_ACTIVITY:
        activities_on_deadline(cluster, waiter);
        return;
    case WAITER_RECORDING:
        recording_query_on_deadline(cluster, waiter);
        return;
    }
}

/* Handle an expired timer. Each handler removes the entry from the heap or sets
 * a later deadline. */
static void
expired_timer_handle(struct cluster *cluster, struct timer_entry *due)
{
    switch (due->kind) {
    case TIMER_WAITER:
        waiter_on_deadline(cluster, CONTAINER_OF(due, struct waiter, timer));
        return;
    case TIMER_LEASE:
        membership_on_lease_expired(cluster,
                                    CONTAINER_OF(due, struct member, lease));
        return;
    case TIMER_SETTLE:
        forming_on_settle_timer(cluster,
                                CONTAINER_OF(due, struct job, joins.settle));
        return;
    case TIMER_KEY_EXPIRY:
        store_on_key_expired(cluster,
                             CONTAINER_OF(due, struct store_entry, expiry));
        return;
    case TIMER_RECOVERY_GRACE:
        job_on_grace_expired(cluster, CONTAINER_OF(due, struct job, grace));
        return;
    case TIMER_LEASE_CHECK:
        recovery_lease_check_on_timer(
            cluster, CONTAINER_OF(due, struct job, lease_check.entry));
        return;
    case TIMER_SUSPICION:
        suspicion_on_timer(cluster,
                           CONTAINER_OF(due, struct job, suspicion.entry));
        return;
    }
}

/* Jobs are settled every LIMIT_LIST_PAGE_ENTRIES timers, so that no parked
 * watch falls behind its history. */
static void
expired_timers_run(struct cluster *cluster)
{
    struct timer_entry *due = timer_heap_first(&cluster->timer_heap);
    unsigned int n_happened = 0;

    while (due && due->deadline_ns <= cluster->now_ns) {
        expired_timer_handle(cluster, due);
        if (++n_happened % LIMIT_LIST_PAGE_ENTRIES == 0)
            jobs_update_touched(cluster);
        due = timer_heap_first(&cluster->timer_heap);
    }
    jobs_update_touched(cluster);
}

/* If the coordinator itself is stepped too late, members may have been unable
 * to renew: extend their leases. */
static void
late_step_extend_leases(struct cluster *cluster)
{
    const struct timer_entry *due = timer_heap_first(&cluster->timer_heap);
    const uint64_t lease_ns = cluster->lease_ms * CLOCK_NS_PER_MS;

    if (due && due->deadline_ns + lease_ns / 4 < cluster->now_ns)
        membership_extend_leases(cluster, cluster->now_ns - due->deadline_ns);
}

/* End a parked request; a parked join is withdrawn. */
static void
waiter_cancel(struct cluster *cluster, struct waiter *waiter)
{
    struct member *member = waiter->member;

    if (waiter->kind == WAITER_ACTIVITY || waiter->kind == WAITER_RECORDING)
        job_mark_touched(cluster, waiter->job);
    waiter_end_without_reply(cluster, waiter);
    if (member)
        admission_withdraw_join(cluster, member);
}

static void
client_cancel_requests(struct cluster *cluster, uint64_t client)
{
    struct waiter *waiter;

    while ((waiter = waiters_of_client(cluster, client)))
        waiter_cancel(cluster, waiter);
}

static void
cluster_drain(struct cluster *cluster)
{
    struct waiter *waiter = cluster->waiters;

    cluster->is_draining = true;
    while (waiter) {
        struct waiter *next = waiter->hh.next;
        struct member *member = waiter->member;

        action_list_fail_reply(
            &cluster->action_list, waiter_end_with_reply(cluster, waiter),
            HOOP_E_UNAVAILABLE, "the coordinator is shutting down");
        if (member)
            admission_withdraw_join(cluster, member);
        waiter = next;
    }
}

/* No token is configured and the job does not exist: the first join sets its
 * token. */
static enum hoop_status
new_job_token_check(struct cluster *cluster, const struct cluster_event *event)
{
    struct token fresh;

    if (event->kind != CLUSTER_JOIN)
        return HOOP_OK;

    const enum hoop_status status = token_derive_roles(&fresh, event->token);
    if (status != HOOP_OK)
        return error_pass(status);
    cluster->role = ROLE_WORKER;
    return HOOP_OK;
}

/* Return the ended job whose members the request may ask for, or NULL. */
static const struct ended_job *
request_find_ended_job(const struct cluster *cluster,
                       const struct cluster_event *event)
{
    const struct ended_job *ended_job =
        request_handlers[event->kind].scope == REQUEST_MAY_NAME_ENDED_JOB
            ? ended_jobs_find(&cluster->ended_jobs, event->job)
            : NULL;

    return ended_job && ended_job->members ? ended_job : NULL;
}

/* Check the token of a request. Handle: HOOP_E_UNAUTHENTICATED (no valid
 * token), HOOP_E_DENIED (a role with too few rights), HOOP_E_INVALID (the token
 * of a new job is too long). */
static enum hoop_status
request_token_check(struct cluster *cluster,
                    const struct job *job,
                    const struct cluster_event *event)
{
    const struct ended_job *ended_job =
        job ? NULL : request_find_ended_job(cluster, event);
    const struct token *token = job         ? &job->token
                                : ended_job ? &ended_job->token
                                            : &cluster->token;

    if (!job && !ended_job && !cluster->has_token)
        return new_job_token_check(cluster, event);

    const enum role role = token_find_role(token, event->token);
    const char *name = event->job ? event->job : "";
    if (role == ROLE_ANYBODY && (!event->token || !event->token[0]))
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "no token was given for job \"%s\", which needs "
                           "one: give the same HOOP_TOKEN or HOOP_TOKEN_FILE "
                           "everywhere",
                           name);
    if (role == ROLE_ANYBODY)
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "the token is not that of %s \"%s\": give the same "
                           "HOOP_TOKEN or HOOP_TOKEN_FILE everywhere",
                           job ? "job" : "the coordinator, for job", name);
    cluster->role = role;
    if (role <= event->role)
        return HOOP_OK;
    return error_raise(HOOP_E_DENIED,
                       "this needs role %s, and the token is for role %s: "
                       "give %s",
                       role_name(event->role), role_name(role),
                       event->role == ROLE_WORKER
                           ? "the job's own, as its workers have it"
                           : "one of hoopctl token operator");
}

bool
cluster_accepts_token(struct cluster *cluster,
                      const char *name,
                      const char *token,
                      enum role role)
{
    const struct job *job = job_find(cluster, name);

    if (!job && !cluster->has_token)
        return false;
    return token_find_role(job ? &job->token : &cluster->token, token) <= role;
}

/* Log every wrong token and every refused join. */
static enum hoop_status
request_log_refusal(struct cluster *cluster,
                    const struct cluster_event *event,
                    enum hoop_status status)
{
    struct job *job =
        job_name_is_valid(event->job) ? job_find(cluster, event->job) : NULL;

    if (status == HOOP_E_UNAUTHENTICATED)
        cluster->counters.tokens_refused++;
    if (event->kind != CLUSTER_JOIN || status != HOOP_E_UNAVAILABLE)
        job = NULL;
    if (status == HOOP_E_UNAUTHENTICATED || event->kind == CLUSTER_JOIN)
        admission_log_refusal(cluster, job, event, error_text());
    return status;
}

static enum hoop_status
request_dispatch(struct cluster *cluster, const struct cluster_event *event)
{
    const struct request_handler *request_handler =
        &request_handlers[event->kind];
    struct job *job = NULL;

    if (request_handler->scope != REQUEST_NEEDS_NO_JOB) {
        if (!job_name_is_valid(event->job))
            return error_raise(HOOP_E_INVALID,
                               "the name of a job has 1 to %d letters, digits "
                               "and . _ : + @ / -",
                               LIMIT_NAME - 1);
        job = job_find(cluster, event->job);
    }

    const enum hoop_status status = request_token_check(cluster, job, event);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!job && (request_handler->scope == REQUEST_NEEDS_JOB ||
                 (request_handler->scope == REQUEST_MAY_NAME_ENDED_JOB &&
                  !ended_jobs_find(&cluster->ended_jobs, event->job))))
        return error_raise(HOOP_E_NOT_FOUND,
                           "there is no job \"%s\": it begins when its first "
                           "worker joins and ends when all have left",
                           event->job);
    return request_handler->answer(cluster, job, event);
}

static void
request_handle(struct cluster *cluster, const struct cluster_event *event)
{
    const enum hoop_status status = request_dispatch(cluster, event);

    cluster->counters.joins += event->kind == CLUSTER_JOIN;
    if (status == HOOP_OK)
        return;
    action_list_fail_reply(
        &cluster->action_list,
        action_list_add_reply(&cluster->action_list, event->ticket), status,
        "%s", error_text());
    request_log_refusal(cluster, event, status);
}

static void
event_dispatch(struct cluster *cluster, const struct cluster_event *event)
{
    struct waiter *waiter = NULL;

    if (event->kind > CLUSTER_DRAIN) {
        assert((size_t)event->kind < COUNT_OF(request_handlers));
        request_handle(cluster, event);
        return;
    }
    if (event->kind == CLUSTER_CANCEL)
        waiter = waiter_find(cluster, event->ticket);
    if (waiter)
        waiter_cancel(cluster, waiter);
    if (event->kind == CLUSTER_DISCONNECT)
        client_cancel_requests(cluster, event->client);
    if (event->kind == CLUSTER_DRAIN)
        cluster_drain(cluster);
}

static void
replies_count(struct cluster *cluster)
{
    for (size_t i = 0; i < cluster->action_list.n_actions; i++)
        cluster->counters.replies +=
            cluster->action_list.actions[i].kind == CLUSTER_REPLY;
}

struct cluster_actions
cluster_step(struct cluster *cluster, const struct cluster_event *event)
{
    assert(event->now_ns >= cluster->now_ns);
    cluster->now_ns = event->now_ns;
    cluster->role = ROLE_ANYBODY;
    action_list_clear(&cluster->action_list);
    groups_free_retired(cluster); /* before the jobs, whose accounts are charged
                               for them */
    jobs_free_retired(cluster);

    late_step_extend_leases(cluster);
    expired_timers_run(cluster);
    event_dispatch(cluster, event);
    jobs_update_touched(cluster);
    expired_timers_run(cluster);

    replies_count(cluster);
    cluster->counters.job_bytes = cluster->memory.n_bytes;
    return (struct cluster_actions){
        .items = cluster->action_list.actions,
        .n_items = cluster->action_list.n_actions,
        .role = cluster->role,
    };
}

uint64_t
cluster_next_deadline_ns(const struct cluster *cluster)
{
    const struct timer_entry *due = timer_heap_first(&cluster->timer_heap);

    return due ? due->deadline_ns : UINT64_MAX;
}

const struct cluster_counters *
cluster_counters(const struct cluster *cluster)
{
    return &cluster->counters;
}

struct job_metrics_row *
cluster_job_metrics(const struct cluster *cluster,
                    uint64_t now_ns,
                    size_t *out_n_rows)
{
    return job_metrics_rows(&cluster->job_metrics, now_ns, out_n_rows);
}
