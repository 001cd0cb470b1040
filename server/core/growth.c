/* core/growth.c - the worlds that a job grows by, and who joins which of
 * them */

#include "core/growth.h"

#include "base/error.h"
#include "core/forming.h"
#include "core/job.h"
#include "core/requested_size.h"
#include "core/state.h"
#include "core/token.h"
#include "core/worker.h"

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

uint32_t
growth_needed_members(const struct job *job)
{
    const uint32_t size_min =
        job->requested_sizes[MEMBER_REQUEST_SIZE_MIN].value;

    return job->root && size_min > 0 ? size_min - 1 : 0;
}

bool
growth_has_all_members(const struct job *job)
{
    return job->n_members - job->n_newcomers >= growth_needed_members(job);
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
        growth_needed_members(job), job_max_world_size(cluster, job));
}

static bool
world_has_newcomer_room(const struct job *job)
{
    const uint32_t size = job->requested_sizes[MEMBER_REQUEST_SIZE].value;

    return job->state == CLUSTER_JOB_FORMING &&
           growth_needed_members(job) > 0 &&
           growth_needed_members(job) + job->n_newcomers < size;
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
    const uint32_t n_members = growth_needed_members(job);
    const uint32_t size = job->requested_sizes[MEMBER_REQUEST_SIZE].value;
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
growth_fit_join(const struct job *job,
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
    admitted.rank_min = 0;
    admitted.world_size = 0;
    admitted.size_min = 0;
    admitted.settle_ms = 0;
    *out_join = admitted;
    return HOOP_OK;
}

bool
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

void
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
    if (job->state == CLUSTER_JOB_FORMING && job->n_newcomers > 0 &&
        job->n_members == job->n_newcomers)
        growth_fail_joins(cluster, job,
                          "the members who wanted the job to grow have gone");
}
