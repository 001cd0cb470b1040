/* core/job.c - the life of a job and of its name */

#include "core/job.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "core/change.h"
#include "core/journal.h"
#include "core/member.h"
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
    job->joins.settle.kind = TIMER_SETTLE;
    job->grace.kind = TIMER_RECOVERY_GRACE;
    TAILQ_INIT(&job->arrivals);
    TAILQ_INIT(&job->waiters);
    TAILQ_INIT(&job->recording_queries);
    LIST_INIT(&job->grown);
    job->store.history.memory = &job->memory;
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

    HASH_FIND(hh_rank, job->joins.requests, &rank, sizeof(rank), member);
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
        hash_table_bytes(job->joins.requests ? &job->joins.requests->hh_rank
                                             : NULL) +
        hash_table_bytes(job->groups.group_table ? &job->groups.group_table->hh
                                                 : NULL) +
        hash_table_bytes(job->votes ? &job->votes->hh : NULL) +
        hash_table_bytes(job->workers ? &job->workers->hh : NULL);

    memory_replace_charge(&job->memory, job->n_table_bytes, n_bytes);
    job->n_table_bytes = n_bytes;
}

void
job_mark_touched(struct cluster *cluster, struct job *job)
{
    if (job->is_touched)
        return;
    job->is_touched = true;
    STAILQ_INSERT_TAIL(&cluster->touched, job, link);
}

/* The sizes of the world that workers request. */

static uint32_t
requested_size_value(const struct job *job,
                     enum member_requested_value requested_size)
{
    return job->joins.sizes[requested_size].value;
}

uint32_t
job_max_world_size(const struct cluster *cluster, const struct job *job)
{
    const uint32_t said = requested_size_value(job, MEMBER_REQUEST_SIZE);

    if (said)
        return said;
    if (cluster->world_size)
        return cluster->world_size;
    return requested_size_value(job, MEMBER_REQUEST_SIZE_MIN) ? LIMIT_RANKS : 0;
}

uint32_t
job_min_world_size(const struct cluster *cluster, const struct job *job)
{
    const uint32_t size = job_max_world_size(cluster, job);
    uint32_t size_min = requested_size_value(job, MEMBER_REQUEST_SIZE_MIN);

    if (!size_min && !requested_size_value(job, MEMBER_REQUEST_SIZE))
        size_min = cluster->size_min;
    return size_min && size_min < size ? size_min : size;
}

uint64_t
job_settle_time_ns(const struct cluster *cluster, const struct job *job)
{
    const uint32_t said = requested_size_value(job, MEMBER_REQUEST_SETTLE_MS);

    return (said ? said : cluster->settle_ms) * CLOCK_NS_PER_MS;
}

static enum hoop_status
requested_size_check_same(const struct job *job,
                          enum member_requested_value requested_size,
                          uint32_t value)
{
    static const char *const names[] = {
        [MEMBER_REQUEST_SIZE] = "world size",
        [MEMBER_REQUEST_SIZE_MIN] = "smallest world size",
        [MEMBER_REQUEST_SETTLE_MS] = "settle time in ms",
    };
    const uint32_t said = requested_size_value(job, requested_size);

    if (!value || !said || value == said)
        return HOOP_OK;
    return error_raise(HOOP_E_PRECONDITION,
                       "this worker says that the %s of job \"%s\" is %u, but "
                       "%s said %u: use one value for all workers",
                       names[requested_size], job->name, value,
                       job->joins.sizes[requested_size].source.text, said);
}

/* Check that the members that joined before the size was known fit into it. */
static enum hoop_status
requested_size_check_members(const struct job *job, uint32_t size)
{
    if (job->n_members >= size)
        return error_raise(HOOP_E_PRECONDITION,
                           "this worker says that the world size of job "
                           "\"%s\" is %u, but %u workers wait in it already",
                           job->name, size, job->n_members);
    for (const struct member *member = job->joins.requests; member;
         member = member->hh_rank.next)
        if (member->rank >= size)
            return error_raise(HOOP_E_PRECONDITION,
                               "this worker says that the world size of job "
                               "\"%s\" is %u, but %s waits in it already",
                               job->name, size, member_label(member).text);
    return HOOP_OK;
}

enum hoop_status
job_check_requested_sizes(const struct cluster *cluster,
                          const struct job *job,
                          const struct cluster_join *join)
{
    const uint32_t requested_sizes[MEMBER_N_REQUESTED_VALUES] = {
        [MEMBER_REQUEST_SIZE] = join->world_size,
        [MEMBER_REQUEST_SIZE_MIN] = join->size_min,
        [MEMBER_REQUEST_SETTLE_MS] = join->settle_ms,
    };

    for (unsigned int requested_size = 0;
         requested_size < MEMBER_N_REQUESTED_VALUES; requested_size++) {
        const enum hoop_status status = requested_size_check_same(
            job, (enum member_requested_value)requested_size,
            requested_sizes[requested_size]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (join->world_size &&
        join->world_size != job_max_world_size(cluster, job))
        return requested_size_check_members(job, join->world_size);
    return HOOP_OK;
}

static void
requested_size_adopt(struct job *job,
                     const struct member *member,
                     enum member_requested_value requested_size)
{
    struct requested_size *taken = &job->joins.sizes[requested_size];

    if (taken->value || !member->requested_sizes[requested_size])
        return;
    taken->value = member->requested_sizes[requested_size];
    taken->source = member_label(member);
}

void
job_add_requested_sizes(struct job *job, const struct member *member)
{
    for (unsigned int requested_size = 0;
         requested_size < MEMBER_N_REQUESTED_VALUES; requested_size++)
        requested_size_adopt(job, member,
                             (enum member_requested_value)requested_size);
}

static void
requested_size_recompute(const struct cluster *cluster,
                         struct job *job,
                         enum member_requested_value requested_size)
{
    const struct requested_size former = job->joins.sizes[requested_size];
    const struct member *member = NULL;

    job->joins.sizes[requested_size] = (struct requested_size){0};
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        requested_size_adopt(job, member, requested_size);
        if (job->joins.sizes[requested_size].value)
            return;
    }

    const uint32_t size = job_max_world_size(cluster, job);

    if (size && requested_size_check_members(job, size) != HOOP_OK)
        job->joins.sizes[requested_size] = former;
}

void
job_remove_requested_sizes(const struct cluster *cluster,
                           struct job *job,
                           const struct member *gone)
{
    for (unsigned int requested_size = 0;
         requested_size < MEMBER_N_REQUESTED_VALUES; requested_size++)
        if (gone->requested_sizes[requested_size])
            requested_size_recompute(
                cluster, job, (enum member_requested_value)requested_size);
}

uint32_t
job_growth_needed_members(const struct job *job)
{
    const uint32_t size_min = job->joins.sizes[MEMBER_REQUEST_SIZE_MIN].value;

    return job->root && size_min > 0 ? size_min - 1 : 0;
}

bool
job_growth_has_all_members(const struct job *job)
{
    return job->n_members - job->joins.n_newcomers >=
           job_growth_needed_members(job);
}

enum hoop_status
job_find_member_by_id(struct job *job,
                      const struct cluster_member_id *id,
                      struct member **out_member)
{
    if (job->state != CLUSTER_JOB_RUNNING || id->epoch != job->world.epoch)
        return error_raise(HOOP_E_PRECONDITION,
                           "the world of epoch %llu has ended: job \"%s\" is "
                           "%s, epoch %llu",
                           (unsigned long long)id->epoch, job_public_name(job),
                           cluster_job_state_name(job->state),
                           (unsigned long long)job->world.epoch);
    struct member *member = job_find_member(job, id->incarnation);
    if (!member)
        return error_raise(HOOP_E_PRECONDITION,
                           "no member of job \"%s\" has incarnation %016llx",
                           job_public_name(job),
                           (unsigned long long)id->incarnation);
    *out_member = member;
    return HOOP_OK;
}

enum hoop_status
job_find_active_member(struct job *job,
                       const struct cluster_member_id *id,
                       struct member **out_member)
{
    struct member *member = NULL;
    const enum hoop_status status = job_find_member_by_id(job, id, &member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (member->state == CLUSTER_MEMBER_LOST)
        return error_raise(
            HOOP_E_ABORTED, "%s of job \"%s\" %s%s", member_label(member).text,
            job_public_name(job),
            member->has_reported_own_failure ? "" : "has been declared lost: ",
            member->reason);
    if (member->state == CLUSTER_MEMBER_LEFT)
        return error_raise(HOOP_E_PRECONDITION, "%s has left job \"%s\"",
                           member_label(member).text, job_public_name(job));
    *out_member = member;
    return HOOP_OK;
}

uint64_t
job_pending_query_number(const struct job *job)
{
    return job->activities.answers ? job->activities.query : 0;
}
