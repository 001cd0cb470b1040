/* core/forming.c - how waiting workers become a world with ranks */

#include "core/forming.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "core/change.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/member.h"
#include "core/memory.h"
#include "core/rank_assignment.h"
#include "core/recovery_lease_check.h"
#include "core/status_query.h"

/* The worlds that a job grows by, and who joins which of them. */

/* Find a membership in any world of root. */
static struct member *
growth_find_member(const struct job *root, uint64_t incarnation)
{
    struct member *member = job_find_member(root, incarnation);
    const struct job *job = NULL;

    LIST_FOREACH(job, &root->grown, grown_link)
    {
        if (!member)
            member = job_find_member(job, incarnation);
    }
    return member;
}

static enum hoop_status
growth_check_member(const struct job *root, uint64_t incarnation)
{
    const struct member *member = growth_find_member(root, incarnation);

    if (!member || member->state == CLUSTER_MEMBER_JOINING)
        return error_raise(HOOP_E_ABORTED,
                           "a worker that is no member of job \"%s\" wants it "
                           "to grow",
                           root->name);
    return member->state == CLUSTER_MEMBER_ACTIVE ? HOOP_OK
                                                  : member_raise_ended(member);
}

enum hoop_status
growth_check_join(struct cluster *cluster,
                  const struct job *job,
                  const struct cluster_event *event,
                  struct job **out_root)
{
    struct job *root = job_find(cluster, event->join.root);

    if (!root || root->root || root->state != CLUSTER_JOB_RUNNING)
        return error_raise(HOOP_E_NOT_FOUND,
                           "there is no job \"%s\" to grow: it has ended",
                           event->join.root);
    if (token_find_role(&root->token, event->token) != ROLE_WORKER)
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "the token is not that of job \"%s\"", root->name);
    if (job && job->root != root)
        return error_raise(HOOP_E_EXISTS,
                           "the world that job \"%s\" is to grow by has the "
                           "name of another job",
                           root->name);
    if (!job && root->n_grown >= LIMIT_JOB_WORLDS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "job \"%s\" has grown %d times and is in all of "
                           "these worlds still, the limit: free the "
                           "communicators of hoop_comm_grow() that are not "
                           "needed",
                           root->name, LIMIT_JOB_WORLDS);

    const enum hoop_status status =
        growth_check_member(root, event->join.membership);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_root = root;
    return HOOP_OK;
}

uint64_t
growth_worker_id(const struct job *job, const struct cluster_join *join)
{
    const struct member *member =
        job->root && join->membership
            ? growth_find_member(job->root, join->membership)
            : NULL;

    return member ? member->worker->id : join->incarnation;
}

void
growth_log_begin(struct cluster *cluster, const struct job *job)
{
    action_list_add_notice(
        &cluster->action_list,
        &(struct cluster_log_notice){.kind = CLUSTER_NOTICE_JOINED,
                                     .job = job_public_name(job),
                                     .rank = CLUSTER_RANK_ANY},
        "job \"%s\" is to grow from %u to %u ranks", job_public_name(job),
        job_growth_needed_members(job), job_max_world_size(cluster, job));
}

static bool
world_has_newcomer_room(const struct job *job)
{
    const uint32_t size = job->joins.sizes[MEMBER_REQUEST_SIZE].value;

    return job->state == CLUSTER_JOB_FORMING &&
           job_growth_needed_members(job) > 0 &&
           job_growth_needed_members(job) + job->joins.n_newcomers < size;
}

struct job *
growth_find_world(const struct job *root, uint64_t incarnation)
{
    struct job *found = NULL;
    struct job *job = NULL;

    /* The list has the newest world first; the loop ends with the oldest that
     * has room. */
    LIST_FOREACH(job, &root->grown, grown_link)
    {
        if (job_find_member(job, incarnation))
            return job;
        if (world_has_newcomer_room(job))
            found = job;
    }
    return found;
}

static enum hoop_status
growth_rank_check(const struct job *job, uint32_t rank)
{
    const uint32_t n_members = job_growth_needed_members(job);
    const uint32_t size = job->joins.sizes[MEMBER_REQUEST_SIZE].value;
    const struct member *holder = job_find_rank_requester(job, rank);

    if (rank >= size)
        return error_raise(HOOP_E_INVALID,
                           "rank %u is out of range: job \"%s\" grows from %u "
                           "to %u ranks, and those who come have %u to %u: "
                           "give one of these as HOOP_RANK, or none",
                           rank, job->root->name, n_members, size, n_members,
                           size - 1);
    if (rank < n_members)
        return error_raise(HOOP_E_EXISTS,
                           "rank %u is a member's: job \"%s\" grows from %u to "
                           "%u ranks, and those who come have %u to %u: give "
                           "one of these as HOOP_RANK, or none",
                           rank, job->root->name, n_members, size, n_members,
                           size - 1);
    return holder ? member_raise_rank_taken(holder) : HOOP_OK;
}

enum hoop_status
growth_adapt_join(const struct job *job,
                  const struct cluster_join *join,
                  struct cluster_join *out_join)
{
    enum hoop_status status = HOOP_OK;
    struct cluster_join admitted = *join;

    if (join->rank != CLUSTER_RANK_ANY)
        status = growth_rank_check(job, join->rank);
    if (status != HOOP_OK && !join->prefers_rank)
        return error_pass(status);
    if (status != HOOP_OK)
        admitted.rank = CLUSTER_RANK_ANY;
    admitted.membership = 0;
    admitted.least_accepted_rank = 0;
    admitted.world_size = 0;
    admitted.size_min = 0;
    admitted.settle_ms = 0;
    *out_join = admitted;
    return HOOP_OK;
}

/* Return whether the join deadline of a member, not only of a newcomer, has
 * passed. */
static bool
growth_is_past_deadline(const struct cluster *cluster, const struct job *job)
{
    const struct member *member = NULL;

    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (!member->is_newcomer &&
            member->waiter->timer.deadline_ns <= cluster->now_ns)
            return true;
    }
    return false;
}

/* A member's join deadline has passed: fail every parked join with this text,
 * members with HOOP_E_TIMEOUT and newcomers with HOOP_E_UNAVAILABLE, so that
 * these ask again. */
static void
growth_fail_joins(struct cluster *cluster, struct job *job, const char *text)
{
    struct member *member = TAILQ_FIRST(&job->arrivals);

    while (member) {
        struct member *next = TAILQ_NEXT(member, arrival);

        forming_fail_join(
            cluster, member,
            member->is_newcomer ? HOOP_E_UNAVAILABLE : HOOP_E_TIMEOUT, text);
        member = next;
    }
}

void
growth_fail_memberless(struct cluster *cluster, struct job *job)
{
    if (job->state == CLUSTER_JOB_FORMING && job->joins.n_newcomers > 0 &&
        job->n_members == job->joins.n_newcomers)
        growth_fail_joins(cluster, job,
                          "the members who wanted the job to grow have gone");
}

/* Joins that began together have deadlines this close, even on a busy
 * machine. */
static const uint64_t JOIN_TIMEOUT_TEXT_SHARED_NS = 2 * CLOCK_NS_PER_S;

struct host {
    uint32_t number;
    const char *id;
    UT_hash_handle hh;
};

/* Number the hosts of the members in the order of arrival. hosts has room for
 * one per member. Returns the number of hosts. */
static uint32_t
hosts_assign_numbers(const struct job *job,
                     struct host *hosts,
                     struct member_placement *assigned)
{
    struct host *by_id = NULL;
    const struct member *member = NULL;
    uint32_t n_hosts = 0;

    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        struct host *host = NULL;

        HASH_FIND_STR(by_id, member->host_id, host);
        if (!host) {
            host = &hosts[n_hosts];
            host->number = n_hosts++;
            host->id = member->host_id;
            HASH_ADD_KEYPTR(hh, by_id, host->id, strlen(host->id), host);
        }
        assigned->host = host->number;
        assigned->rank = member->rank;
        assigned++;
    }
    HASH_CLEAR(hh, by_id);
    return n_hosts;
}

/* A member that requested a rank this world does not have gets one that nobody
 * requested. */
static void
rank_requests_resolve(struct job *job)
{
    struct member *member = NULL;

    HASH_CLEAR(hh_rank, job->joins.requests);
    job_recount_table_bytes(job);
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (member->rank >= job->world.size)
            member->rank = CLUSTER_RANK_ANY;
    }
}

/* Give the members their ranks. Returns the number of hosts. */
static uint32_t
ranks_assign_members(struct job *job)
{
    struct host *hosts = memory_calloc(job->n_members, sizeof(*hosts));
    struct member_placement *assigned =
        memory_calloc(job->n_members, sizeof(*assigned));
    const uint32_t n_hosts = hosts_assign_numbers(job, hosts, assigned);
    struct member *member = NULL;
    uint32_t n_given = 0;

    assign_ranks(assigned, job->n_members);
    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        member->rank = assigned[n_given++].rank;
        assert(!job->world.ranks[member->rank]);
        job->world.ranks[member->rank] = member;
    }
    free(hosts);
    free(assigned);
    return n_hosts;
}

static void
members_activate(struct cluster *cluster, struct job *job)
{
    const uint64_t lease_ns = cluster->lease_ms * CLOCK_NS_PER_MS;

    for (uint32_t rank = 0; rank < job->world.size; rank++) {
        struct member *member = job->world.ranks[rank];

        member_set_state(member, CLUSTER_MEMBER_ACTIVE);
        job_metrics_set_state(member->worker, CLUSTER_MEMBER_ACTIVE);
        member->renewed_ns = cluster->now_ns;
        timer_heap_set(&cluster->timer_heap, &member->lease,
                       cluster->now_ns + lease_ns);
        job->world.roster[rank] = member_public_view(member, cluster->now_ns);
        job->world.roster[rank].lease_left_ns = lease_ns;
        journal_write_member(cluster, member);
    }
}

static void
joins_answer_world(struct cluster *cluster, struct job *job)
{
    struct member *member = NULL;

    TAILQ_FOREACH(member, &job->arrivals, arrival)
    forming_fill_world_reply(cluster, member,
                             waiter_end_with_reply(cluster, member->waiter));
}

static void
world_form(struct cluster *cluster, struct job *job)
{
    job->world.size = job->n_members;
    job->world.size_max = job_max_world_size(cluster, job);
    job->world.ranks = memory_alloc_charged(&job->memory, job->world.size,
                                            sizeof(struct member *));
    job->world.roster = memory_alloc_charged(&job->memory, job->world.size,
                                             sizeof(*job->world.roster));
    job->world.changes = memory_alloc_charged(
        &job->memory, 1 + (size_t)job->world.size, sizeof(*job->world.changes));

    rank_requests_resolve(job);
    const uint32_t n_hosts = ranks_assign_members(job);

    timer_heap_remove(&cluster->timer_heap, &job->joins.settle);
    recovery_lease_check_end(cluster, job);
    job_set_state(job, CLUSTER_JOB_RUNNING);
    change_add_world_formed(cluster, job);
    job->world.epoch = job->world.membership_epoch;
    journal_write_job(cluster, job);
    members_activate(cluster, job);
    joins_answer_world(cluster, job);
    cluster->counters.worlds_formed++;
    action_list_add_notice(
        &cluster->action_list,
        &(struct cluster_log_notice){.kind = job->root ? CLUSTER_NOTICE_GROWN
                                                       : CLUSTER_NOTICE_FORMED,
                                     .job = job_public_name(job),
                                     .epoch = job->world.epoch,
                                     .rank = CLUSTER_RANK_ANY},
        "job \"%s\" has %s: %u %s on %u %s, epoch %llu", job_public_name(job),
        job->root ? "grown" : "formed", job->world.size,
        job->world.size == 1 ? "rank" : "ranks", n_hosts,
        n_hosts == 1 ? "host" : "hosts", (unsigned long long)job->world.epoch);
}

/* Return the first rank that no member requested. */
static uint32_t
first_unrequested_rank(const struct job *job)
{
    uint32_t rank = 0;

    while (job_find_rank_requester(job, rank))
        rank++;
    return rank;
}

/* Return whether a world of the present members may form. A member whose
 * requested rank is too high must accept any free rank. */
static bool
world_can_form(const struct cluster *cluster, const struct job *job)
{
    const uint32_t size_min = job_min_world_size(cluster, job);
    const uint32_t first_free = first_unrequested_rank(job);

    if (!size_min || job->n_members < size_min ||
        !job_growth_has_all_members(job))
        return false;
    for (const struct member *member = job->joins.requests; member;
         member = member->hh_rank.next)
        if (member->rank >= job->n_members &&
            (!member->least_accepted_rank ||
             member->least_accepted_rank > first_free))
            return false;
    return true;
}

void
forming_fail_join(struct cluster *cluster,
                  struct member *member,
                  enum hoop_status status,
                  const char *text)
{
    struct job *job = member->job;

    HASH_DEL(job->members, member);
    if (member->rank != CLUSTER_RANK_ANY)
        HASH_DELETE(hh_rank, job->joins.requests, member);
    job_recount_table_bytes(job);
    TAILQ_REMOVE(&job->arrivals, member, arrival);
    job_remove_requested_sizes(cluster, job, member);
    action_list_fail_reply(&cluster->action_list,
                           waiter_end_with_reply(cluster, member->waiter),
                           status, "%s", text);
    job->joins.n_newcomers -= member->is_newcomer;
    worker_end_member(cluster, member);
    member_destroy(member);
    job->n_members--;
    job->joins.n_timed_out++;
    cluster->counters.replies_expired += status == HOOP_E_TIMEOUT;
}

/* No worker waits any more: remember the failed attempt. */
static void
failed_attempt_remember(struct cluster *cluster,
                        struct job *job,
                        struct ended_job *ended_job)
{
    strcpy(ended_job->name, job->name);
    ended_job->when_ns = cluster->now_ns;
    ended_jobs_add(&cluster->ended_jobs, ended_job);
    journal_write_ended_job(cluster, ended_job);
    timer_heap_remove(&cluster->timer_heap, &job->joins.settle);
    cluster->counters.worlds_failed++;
}

void
forming_clear_timeout_text(struct job *job)
{
    memory_free_charged(&job->memory, job->joins.timeout_text);
    job->joins.timeout_text = NULL;
}

/* Workers that give up together get the same text, which counts all of them as
 * present, until another worker joins. */
static const char *
join_timeout_text(const struct cluster *cluster, struct job *job)
{
    if (cluster->now_ns - job->joins.last_timeout_ns >
        JOIN_TIMEOUT_TEXT_SHARED_NS)
        forming_clear_timeout_text(job);
    if (!job->joins.timeout_text) {
        const struct text_buffer why = roster_text_summary(cluster, job);

        job->joins.last_timeout_ns = cluster->now_ns;
        job->joins.timeout_text = memory_strdup_charged(&job->memory, why.text);
    }
    return job->joins.timeout_text;
}

/* Fail the joins whose deadline has passed, all with the same text. The others
 * keep waiting: another worker may take a free place. */
static void
expired_joins_fail(struct cluster *cluster, struct job *job)
{
    const char *why = join_timeout_text(cluster, job);
    struct ended_job ended_job = {
        .size = job_max_world_size(cluster, job),
        .n_joined = job->n_members,
    };
    struct member *member = TAILQ_FIRST(&job->arrivals);

    action_list_add_notice(
        &cluster->action_list,
        &(struct cluster_log_notice){.kind = CLUSTER_NOTICE_FORM_FAILED,
                                     .job = job_public_name(job),
                                     .rank = CLUSTER_RANK_ANY},
        "%s", why);
    if (job->root && growth_is_past_deadline(cluster, job)) {
        growth_fail_joins(cluster, job, why);
        job_mark_touched(cluster, job);
        cluster->counters.worlds_failed++;
        return;
    }
    while (member) {
        struct member *next = TAILQ_NEXT(member, arrival);

        if (member->waiter->timer.deadline_ns <= cluster->now_ns)
            forming_fail_join(cluster, member, HOOP_E_TIMEOUT, why);
        member = next;
    }
    if (job->n_members == 0 && !job->root)
        failed_attempt_remember(cluster, job, &ended_job);
    else
        forming_set_settle_timer(cluster, job);
    job_mark_touched(cluster, job);
}

void
forming_form_if_full(struct cluster *cluster, struct job *job)
{
    const uint32_t size = job_max_world_size(cluster, job);

    forming_clear_timeout_text(job);

    assert(!size || job->n_members <= size);
    if (size && job->n_members == size)
        world_form(cluster, job);
    else
        forming_set_settle_timer(cluster, job);
}

void
forming_set_settle_timer(struct cluster *cluster, struct job *job)
{
    const uint32_t size_min = job_min_world_size(cluster, job);

    if (size_min && job->n_members >= size_min)
        timer_heap_set(&cluster->timer_heap, &job->joins.settle,
                       job->joins.last_ns + job_settle_time_ns(cluster, job));
    else
        timer_heap_remove(&cluster->timer_heap, &job->joins.settle);
}

void
forming_on_settle_timer(struct cluster *cluster, struct job *job)
{
    timer_heap_remove(&cluster->timer_heap, &job->joins.settle);
    if (world_can_form(cluster, job))
        world_form(cluster, job);
}

void
forming_on_join_deadline(struct cluster *cluster, struct job *job)
{
    if (world_can_form(cluster, job))
        world_form(cluster, job);
    else
        expired_joins_fail(cluster, job);
}

void
forming_fill_world_reply(struct cluster *cluster,
                         const struct member *member,
                         struct cluster_reply *reply)
{
    const struct job *job = member->job;

    reply->kind = CLUSTER_REPLY_WORLD;
    reply->world = (struct cluster_join_result){
        .rank = member->rank,
        .size = job->world.size,
        .epoch = job->world.epoch,
        .revision = job->world.n_changes,
        .seed = job->world.seed,
        .lease_ms = cluster->lease_ms,
        .roster = job->world.roster,
        .job = job->name,
    };
}
