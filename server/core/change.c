/*
 * core/change.c - the list of membership changes of a world, and its watches
 *
 * A member ends only once, so the list is allocated for all possible changes,
 * and entries that have been handed out never move.
 */

#include "core/change.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/memory.h"

/* A ring of the jobs that ended last. */

enum ended_call {
    ENDED_CALL_WELL,
    ENDED_CALL_FAILED,
};

void
ended_job_deinit(struct ended_job *ended_job)
{
    for (size_t i = 0; i < ended_job->n_members; i++)
        free(ended_job->members[i].failure);
    free(ended_job->members);
    explicit_bzero(ended_job, sizeof(*ended_job));
}

void
ended_jobs_add(struct ended_jobs *ended_jobs, const struct ended_job *ended_job)
{
    struct ended_job *place =
        &ended_jobs->ring[ended_jobs->n_added % LIMIT_ENDED_JOBS];

    ended_job_deinit(place);
    *place = *ended_job;
    ended_jobs->n_added++;
}

void
ended_jobs_deinit(struct ended_jobs *ended_jobs)
{
    for (size_t i = 0; i < LIMIT_ENDED_JOBS; i++)
        ended_job_deinit(&ended_jobs->ring[i]);
}

static void
ended_job_add_member(struct ended_job *ended_job, const struct member *member)
{
    if (ended_job->n_members == ENDED_MEMBERS_MAX)
        return;
    struct ended_member *ended = &ended_job->members[ended_job->n_members++];

    *ended = (struct ended_member){
        .rank = member->rank,
        .pid = member->pid,
        .state = member->state,
        .lost_revision = member->lost_revision,
    };
    snprintf(ended->host, sizeof(ended->host), "%s", member->host);
    snprintf(ended->reason, sizeof(ended->reason), "%s",
             member->reason ? member->reason : "");
    if (member->n_failure == 0)
        return;
    ended->failure = memory_calloc(1, member->n_failure);
    ended->n_failure = member->n_failure;
    memcpy(ended->failure, member->failure, member->n_failure);
}

/* Remember the members that were not lost, and whose last call did or did not
 * fail. */
static void
ended_job_add_left(struct ended_job *ended_job,
                   const struct job *job,
                   enum ended_call last_call)
{
    for (uint32_t rank = 0; rank < job->world.size; rank++) {
        const struct member *member = job->world.ranks[rank];
        const enum ended_call its =
            member->failure ? ENDED_CALL_FAILED : ENDED_CALL_WELL;

        if (member->state != CLUSTER_MEMBER_LOST && its == last_call)
            ended_job_add_member(ended_job, member);
    }
}

/* Return whether members left before the coordinator's last start, which does
 * not know how their last calls ended. */
static bool
has_forgotten_ends(const struct job *job)
{
    for (uint32_t rank = 0; rank < job->world.size; rank++) {
        if (job->world.ranks[rank]->has_left_before_recovery)
            return true;
    }
    return false;
}

void
ended_job_take_world(struct ended_job *ended_job, const struct job *job)
{
    const struct cluster_membership_change *changes = job->world.changes;

    ended_job_deinit(ended_job);
    ended_job->epoch = job->world.epoch;
    ended_job->size = job->world.size;
    ended_job->n_joined = job->world.size;
    ended_job->token = job->token;
    ended_job->members =
        memory_calloc(ENDED_MEMBERS_MAX, sizeof(*ended_job->members));
    for (size_t i = 0; i < job->world.n_changes; i++) {
        if (changes[i].kind == CLUSTER_CHANGE_LOST &&
            changes[i].rank < job->world.size)
            ended_job_add_member(ended_job, job->world.ranks[changes[i].rank]);
    }
    ended_job_add_left(ended_job, job, ENDED_CALL_FAILED);
    if (!has_forgotten_ends(job))
        ended_job_add_left(ended_job, job, ENDED_CALL_WELL);
}

size_t
ended_jobs_count(const struct ended_jobs *ended_jobs)
{
    return ended_jobs->n_added < LIMIT_ENDED_JOBS ? ended_jobs->n_added
                                                  : LIMIT_ENDED_JOBS;
}

const struct ended_job *
ended_jobs_at(const struct ended_jobs *ended_jobs, size_t index)
{
    assert(index < ended_jobs_count(ended_jobs));
    return &ended_jobs
                ->ring[(ended_jobs->n_added - 1 - index) % LIMIT_ENDED_JOBS];
}

const struct ended_job *
ended_jobs_find(const struct ended_jobs *ended_jobs, const char *name)
{
    for (size_t i = 0; i < ended_jobs_count(ended_jobs); i++)
        if (strcmp(ended_jobs_at(ended_jobs, i)->name, name) == 0)
            return ended_jobs_at(ended_jobs, i);
    return NULL;
}

/* A ring of the last changes of a store. */

struct history_record {
    enum cluster_key_change_kind kind;
    char *key;
};

void
history_deinit(struct history *history)
{
    for (size_t i = 0; history->ring && i < LIMIT_STORE_HISTORY; i++)
        memory_free_charged(history->memory, history->ring[i].key);
    memory_free_charged(history->memory, history->ring);
}

uint64_t
history_add(struct history *history,
            enum cluster_key_change_kind kind,
            const char *key)
{
    const size_t n_bytes = strlen(key) + 1;

    if (!history->ring)
        history->ring = memory_alloc_charged(
            history->memory, LIMIT_STORE_HISTORY, sizeof(*history->ring));

    const uint64_t revision = ++history->revision;
    struct history_record *record =
        &history->ring[revision % LIMIT_STORE_HISTORY];

    record->kind = kind;
    history->n_key_bytes -= memory_allocated_size(record->key);
    record->key =
        memory_realloc_charged(history->memory, record->key, n_bytes, 1);
    history->n_key_bytes += memory_allocated_size(record->key);
    memcpy(record->key, key, n_bytes);
    return revision;
}

void
history_trim(struct history *history)
{
    while (history->n_key_bytes > LIMIT_STORE_HISTORY_BYTES) {
        const uint64_t oldest = history_first_revision(history);
        struct history_record *record =
            &history->ring[oldest % LIMIT_STORE_HISTORY];

        history->n_key_bytes -= memory_allocated_size(record->key);
        memory_free_charged(history->memory, record->key);
        record->key = NULL;
        history->forgotten = oldest;
    }
}

void
history_recover(struct history *history, uint64_t revision)
{
    assert(!history->ring);
    history->revision = revision;
    history->forgotten = revision;
}

uint64_t
history_first_revision(const struct history *history)
{
    const uint64_t n_kept = history->revision - history->forgotten;

    return n_kept < LIMIT_STORE_HISTORY
               ? history->forgotten + 1
               : history->revision - LIMIT_STORE_HISTORY + 1;
}

struct cluster_key_change
history_change_at(const struct history *history, uint64_t revision)
{
    assert(revision >= history_first_revision(history));
    assert(revision <= history->revision);

    const struct history_record *record =
        &history->ring[revision % LIMIT_STORE_HISTORY];

    return (struct cluster_key_change){
        .revision = revision,
        .kind = record->kind,
        .key = record->key,
    };
}

static struct cluster_membership_change *
membership_change_append(struct cluster *cluster,
                         struct job *job,
                         enum cluster_membership_change_kind kind)
{
    struct cluster_membership_change *change =
        &job->world.changes[job->world.n_changes++];

    assert(job->world.n_changes <= 1 + (size_t)job->world.size);
    job->world.membership_epoch = ++cluster->last_epoch;
    change->revision = job->world.n_changes;
    change->kind = kind;
    change->membership_epoch = job->world.membership_epoch;
    change->when_ns = cluster->now_ns;
    change->host = "";
    change->reason = "";
    journal_write_cluster(cluster);
    job_mark_touched(cluster, job);
    return change;
}

void
change_add_world_formed(struct cluster *cluster, struct job *job)
{
    struct cluster_membership_change *change =
        membership_change_append(cluster, job, CLUSTER_CHANGE_FORMED);

    change->rank = job->world.size;
    journal_write_membership_change(cluster, job, change);
}

void
change_add_member_end(struct cluster *cluster, struct member *member)
{
    const bool is_lost = member->state == CLUSTER_MEMBER_LOST;
    struct cluster_membership_change *change = membership_change_append(
        cluster, member->job,
        is_lost ? CLUSTER_CHANGE_LOST : CLUSTER_CHANGE_LEFT);

    change->rank = member->rank;
    change->incarnation = member->incarnation;
    change->host = member->host;
    change->pid = member->pid;
    if (member->reason)
        change->reason = member->reason;
    change->has_reported_own_failure = member->has_reported_own_failure;
    member->lost_revision = is_lost ? change->revision : 0;
    journal_write_membership_change(cluster, member->job, change);
    journal_write_job(cluster, member->job);
}

/* Tell the watcher whose connection is client all changes after since. */
static void
membership_changes_reply(const struct job *job,
                         uint64_t client,
                         uint64_t since,
                         struct cluster_reply *reply)
{
    const struct recording_query *recording = recording_query_find(job, client);
    size_t n_items = job->world.n_changes - (size_t)since;

    if (n_items > LIMIT_LIST_PAGE_ENTRIES)
        n_items = LIMIT_LIST_PAGE_ENTRIES;
    reply->kind = CLUSTER_REPLY_CHANGES;
    reply->changes = (struct cluster_membership_changes){
        .world_epoch = job->world.epoch,
        .revision = since + n_items,
        .question = job->suspicion.number,
        .activity_query = job_pending_query_number(job),
        .recording_query = recording ? recording->number : 0,
        .recording_rank = recording ? recording->rank : 0,
        .items = n_items ? job->world.changes + since : NULL,
        .n_items = n_items,
    };
}

/* Return whether there is an open question that a watch has not seen, and its
 * member answers questions. */
static bool
query_is_new(uint64_t question, uint64_t seen)
{
    return question != 0 && seen != CLUSTER_NO_QUESTION && seen != question;
}

/* Return whether the watcher whose connection is client has not seen one of the
 * questions to it. */
static bool
watch_has_new_query(const struct job *job,
                    uint64_t client,
                    const struct cluster_change_watch *seen)
{
    const struct recording_query *recording = recording_query_find(job, client);

    return query_is_new(job->suspicion.number, seen->question) ||
           query_is_new(job_pending_query_number(job), seen->activity_query) ||
           (recording &&
            query_is_new(recording->number, seen->recording_query));
}

enum hoop_status
change_watch_request(struct cluster *cluster,
                     struct job *job,
                     const struct cluster_event *event)
{
    const struct cluster_change_watch *watch = &event->watch;
    struct waiter *waiter = NULL;

    if (watch->epoch && watch->epoch != job->world.epoch)
        return error_raise(HOOP_E_PRECONDITION,
                           "the world of epoch %llu has ended: job \"%s\" is "
                           "at epoch %llu",
                           (unsigned long long)watch->epoch, job->name,
                           (unsigned long long)job->world.epoch);
    if (watch->since > job->world.n_changes)
        return error_raise(HOOP_E_RANGE,
                           "job \"%s\" is at revision %zu, before revision "
                           "%llu to watch from",
                           job->name, job->world.n_changes,
                           (unsigned long long)watch->since);
    if (watch->since < job->world.n_changes ||
        watch_has_new_query(job, event->client, watch)) {
        membership_changes_reply(
            job, event->client, watch->since,
            action_list_add_reply(&cluster->action_list, event->ticket));
        return HOOP_OK;
    }

    const enum hoop_status status = waiter_park(cluster, job, event, &waiter);

    if (status != HOOP_OK)
        return error_pass(status);
    waiter->since = watch->since;
    waiter->seen = *watch;
    return HOOP_OK;
}

/* Answer a parked watch, which ends it. */
static void
watch_answer(struct cluster *cluster, struct waiter *watch)
{
    const struct job *job = watch->job;
    const uint64_t client = watch->client;
    const uint64_t since = watch->since;

    membership_changes_reply(job, client, since,
                             waiter_end_with_reply(cluster, watch));
}

/* A recording is asked of one member, so the watches of the others stay. */
static void
recording_queries_announce(struct cluster *cluster, struct job *job)
{
    const struct recording_query *query;

    TAILQ_FOREACH(query, &job->recording_queries, link)
    {
        struct waiter *watch = member_parked_watch(cluster, query->via);

        if (watch && watch_has_new_query(job, watch->client, &watch->seen))
            watch_answer(cluster, watch);
    }
}

void
changes_answer_watches(struct cluster *cluster, struct job *job)
{
    recording_queries_announce(cluster, job);
    if (job->world.n_changes_answered == job->world.n_changes &&
        job->suspicion.announced == job->suspicion.number &&
        job->activities.announced == job_pending_query_number(job))
        return;
    job->world.n_changes_answered = job->world.n_changes;
    job->suspicion.announced = job->suspicion.number;
    job->activities.announced = job_pending_query_number(job);
    struct waiter *waiter = TAILQ_FIRST(&job->waiters);
    while (waiter) {
        struct waiter *next = TAILQ_NEXT(waiter, link);

        if (waiter->kind == WAITER_MEMBERSHIP_WATCH &&
            (waiter->since < job->world.n_changes ||
             watch_has_new_query(job, waiter->client, &waiter->seen)))
            watch_answer(cluster, waiter);
        waiter = next;
    }
}

void
change_watch_on_deadline(struct cluster *cluster, struct waiter *waiter)
{
    watch_answer(cluster, waiter);
}
