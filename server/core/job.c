/* core/job.c - the life of a job and of its name */

#include "core/job.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/change.h"
#include "core/forming.h"
#include "core/journal.h"
#include "core/key_call.h"
#include "core/memory.h"

/*
 * FORMING -> RUNNING -> ENDED
 *        \--------------^
 */
static const struct {
    const char *name;
    unsigned int next;
} job_states[] = {
    [CLUSTER_JOB_FORMING] = {"forming", 1U << CLUSTER_JOB_RUNNING |
                                            1U << CLUSTER_JOB_ENDED},
    [CLUSTER_JOB_RUNNING] = {"running", 1U << CLUSTER_JOB_ENDED},
    [CLUSTER_JOB_ENDED] = {"ended", 0},
};

const char *
cluster_job_state_name(enum cluster_job_state state)
{
    return job_states[state].name;
}

void
job_set_state(struct job *job, enum cluster_job_state state)
{
    assert(job_states[job->state].next & 1U << state);
    job->state = state;
}

bool
job_name_is_valid(const char *name)
{
    if (!name || !*name || strnlen(name, LIMIT_NAME) == LIMIT_NAME)
        return false;
    for (const char *at = name; *at; at++) {
        const unsigned char letter = (unsigned char)*at;

        if (letter >= 128 || (!isalnum(letter) && !strchr("._:+@/-", letter)))
            return false;
    }
    return true;
}

struct job *
job_find(struct cluster *cluster, const char *name)
{
    struct job *job = NULL;

    HASH_FIND_STR(cluster->jobs, name, job);
    return job;
}

struct job *
job_recover(struct cluster *cluster,
            const char *name,
            const char *token,
            uint64_t number)
{
    struct memory_account memory = {.all = &cluster->memory};
    struct job *job = memory_alloc_charged(&memory, 1, sizeof(*job));

    assert(strlen(name) < LIMIT_NAME);
    job->memory = memory;
    strcpy(job->name, name);
    const enum hoop_status status = token_derive_roles(&job->token, token);
    assert(status == HOOP_OK);
    (void)status;

    job->number = number;
    job->state = CLUSTER_JOB_FORMING;
    job->job_created_ns = cluster->now_ns;
    job->settle.kind = TIMER_SETTLE;
    job->grace.kind = TIMER_RECOVERY_GRACE;
    TAILQ_INIT(&job->arrivals);
    TAILQ_INIT(&job->waiters);
    LIST_INIT(&job->grown);
    store_init(&job->store, &job->memory);
    HASH_ADD_STR(cluster->jobs, name, job);
    cluster->counters.jobs++;
    return job;
}

struct job *
job_create(struct cluster *cluster, const char *name, const char *token)
{
    struct job *job =
        job_recover(cluster, name, token, ++cluster->last_job_number);

    journal_write_cluster(cluster);
    journal_write_job(cluster, job);
    return job;
}

void
job_attach_to_root(struct cluster *cluster, struct job *job, struct job *root)
{
    job->root = root;
    cluster->counters.jobs--; /* it counts as one job with root */
    LIST_INSERT_HEAD(&root->grown, job, grown_link);
    root->n_grown++;
}

struct job *
job_create_grown(struct cluster *cluster, const char *name, struct job *root)
{
    struct job *job = job_recover(cluster, name, root->token.texts[ROLE_WORKER],
                                  ++cluster->last_job_number);

    job_attach_to_root(cluster, job, root);
    journal_write_cluster(cluster);
    journal_write_job(cluster, job);
    return job;
}

struct member *
job_find_member(const struct job *job, uint64_t incarnation)
{
    struct member *member = NULL;

    HASH_FIND(hh, job->members, &incarnation, sizeof(incarnation), member);
    return member;
}

const struct member *
job_find_rank_requester(const struct job *job, uint32_t rank)
{
    const struct member *member = NULL;

    HASH_FIND(hh_rank, job->requests, &rank, sizeof(rank), member);
    return member;
}

struct job *
job_root(struct job *job)
{
    return job->root ? job->root : job;
}

struct job *
job_newest_world(struct job *job)
{
    struct job *grown = NULL;

    LIST_FOREACH(grown, &job->grown, grown_link)
    {
        if (grown->state == CLUSTER_JOB_RUNNING && grown->n_members > 0)
            return grown;
    }
    return job;
}

const char *
job_public_name(const struct job *job)
{
    return job->root ? job->root->name : job->name;
}

void
job_on_grace_expired(struct cluster *cluster, struct job *job)
{
    timer_heap_remove(&cluster->timer_heap, &job->grace);
    job_mark_touched(cluster, job);
}

/* Return the bytes of a hash table, given the handle of one of its elements, or
 * NULL. */
static size_t
hash_table_bytes(const UT_hash_handle *handle)
{
    return handle ? sizeof(UT_hash_table) + sizeof(size_t) +
                        handle->tbl->num_buckets * sizeof(UT_hash_bucket) +
                        sizeof(size_t)
                  : 0;
}

void
job_recount_table_bytes(struct job *job)
{
    const size_t n_bytes =
        hash_table_bytes(job->members ? &job->members->hh : NULL) +
        hash_table_bytes(job->requests ? &job->requests->hh_rank : NULL) +
        hash_table_bytes(job->groups.group_table ? &job->groups.group_table->hh
                                                 : NULL) +
        hash_table_bytes(job->votes ? &job->votes->hh : NULL) +
        hash_table_bytes(job->workers ? &job->workers->hh : NULL);

    memory_replace_charge(&job->memory, job->n_table_bytes, n_bytes);
    job->n_table_bytes = n_bytes;
}

static void
job_destroy(struct job *job)
{
    struct member *member = TAILQ_FIRST(&job->arrivals);

    HASH_CLEAR(hh, job->members);
    HASH_CLEAR(hh_rank, job->requests);
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
    memory_free_charged(&job->memory, job->ranks);
    memory_free_charged(&job->memory, job->roster);
    memory_free_charged(&job->memory, job->join_timeout_text);
    memory_free_charged(&job->memory, job->changes);

    struct memory_account memory = job->memory;

    assert(memory.n_bytes == memory_allocated_size(job));
    memory_free_charged(&memory, job);
}

void
job_mark_touched(struct cluster *cluster, struct job *job)
{
    if (job->is_touched)
        return;
    job->is_touched = true;
    STAILQ_INSERT_TAIL(&cluster->touched, job, link);
}

static void
job_add_to_ended(struct cluster *cluster, const struct job *job)
{
    struct ended_job ended_job = {
        .when_ns = cluster->now_ns,
        .epoch = job->epoch,
        .size = job->size,
        .n_joined = job->size,
        .n_left = job->n_workers_left,
        .n_lost = job->n_workers_lost,
    };

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
                                     .epoch = job->epoch,
                                     .rank = CLUSTER_RANK_ANY},
        "job \"%s\" has ended, epoch %llu: %u of %u left, %u lost", job->name,
        (unsigned long long)job->epoch, job->n_workers_left,
        job->n_workers_left + job->n_workers_lost, job->n_workers_lost);
}

static void
job_end_and_retire(struct cluster *cluster, struct job *job)
{
    if (job->epoch && !job->root) {
        job_add_to_ended(cluster, job);
        job_log_end(cluster, job);
    }
    waiters_fail_all(cluster, job, HOOP_E_NOT_FOUND, "job \"%s\" has ended",
                     job->name);
    timer_heap_remove(&cluster->timer_heap, &job->settle);
    timer_heap_remove(&cluster->timer_heap, &job->grace);
    timer_heap_remove(&cluster->timer_heap, &job->lease_check.entry);
    suspicion_close_query(cluster, job);
    store_remove_timers(cluster, job);
    journal_erase_job(cluster, job);
    job_set_state(job, CLUSTER_JOB_ENDED);
    HASH_DEL(cluster->jobs, job);
    cluster->counters.jobs -= job->root == NULL;
    if (job->root) {
        LIST_REMOVE(job, grown_link);
        job->root->n_grown--;
        job_mark_touched(cluster, job->root);
    }
    STAILQ_INSERT_TAIL(&cluster->retired, job, link);
}

void
jobs_update_touched(struct cluster *cluster)
{
    while (!STAILQ_EMPTY(&cluster->touched)) {
        struct job *job = STAILQ_FIRST(&cluster->touched);

        STAILQ_REMOVE_HEAD(&cluster->touched, link);
        job->is_touched = false;
        growth_fail_memberless(cluster, job);
        activities_answer_complete(cluster, job);
        changes_answer_watches(cluster, job);
        key_watches_answer(cluster, job);
        if (!job->n_members && !job->grace.place && LIST_EMPTY(&job->grown))
            job_end_and_retire(cluster, job);
    }
}

void
jobs_free_retired(struct cluster *cluster)
{
    while (!STAILQ_EMPTY(&cluster->retired)) {
        struct job *job = STAILQ_FIRST(&cluster->retired);

        STAILQ_REMOVE_HEAD(&cluster->retired, link);
        job_destroy(job);
    }
}

void
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

struct cluster_job_summary
job_summarize(const struct cluster *cluster, struct job *job)
{
    const struct job *present = job_newest_world(job);

    return (struct cluster_job_summary){
        .name = job_public_name(job),
        .state = job->state,
        .epoch = present->epoch,
        .size = job->epoch ? present->size : job_max_world_size(cluster, job),
        .n_members = job->root ? job->n_members : job->n_workers,
        .n_lost = job->root ? job->n_lost : job->n_workers_lost,
        .n_left = job->root ? job->n_left : job->n_workers_left,
        .age_ns = cluster->now_ns - job->job_created_ns,
    };
}
