/* core/status_query.c - jobs and members as operators see them */

#include "core/status_query.h"

#include "base/error.h"
#include "core/activity.h"
#include "core/ended_job.h"
#include "core/job.h"
#include "core/requested_size.h"
#include "core/roster_text.h"
#include "core/state.h"

static struct cluster_job_summary
ended_job_summarize(struct cluster *cluster, const struct ended_job *ended_job)
{
    return (struct cluster_job_summary){
        .name = action_list_copy_text(&cluster->action_list, ended_job->name),
        .state = CLUSTER_JOB_ENDED,
        .epoch = ended_job->epoch,
        .size = ended_job->size,
        .n_lost = ended_job->n_lost,
        .n_left = ended_job->n_left,
        .age_ns = cluster->now_ns - ended_job->when_ns,
    };
}

enum hoop_status
status_query_jobs(struct cluster *cluster,
                  struct job *unused,
                  const struct cluster_event *event)
{
    const size_t n_endings = ended_jobs_count(&cluster->ended_jobs);
    const size_t n_items = (size_t)cluster->counters.jobs + n_endings;
    struct cluster_job_summary *items =
        action_list_alloc(&cluster->action_list, n_items, sizeof(*items));
    struct cluster_job_summary *next = items;

    (void)unused;
    for (struct job *job = cluster->jobs; job; job = job->hh.next)
        if (!job->root)
            *next++ = job_summarize(cluster, job);
    for (size_t i = 0; i < n_endings; i++)
        *next++ = ended_job_summarize(cluster,
                                      ended_jobs_at(&cluster->ended_jobs, i));

    struct cluster_reply *reply =
        action_list_add_reply(&cluster->action_list, event->ticket);

    reply->kind = CLUSTER_REPLY_JOBS;
    reply->jobs = (struct cluster_jobs){.items = items, .n_items = n_items};
    return HOOP_OK;
}

static size_t
job_members_view(const struct cluster *cluster,
                 const struct job *job,
                 struct cluster_member *members)
{
    const struct member *member = NULL;
    size_t n_members = 0;

    if (job->state == CLUSTER_JOB_RUNNING)
        for (; n_members < job->size; n_members++)
            members[n_members] =
                member_public_view(job->ranks[n_members], cluster->now_ns);
    else
        TAILQ_FOREACH(member, &job->arrivals, arrival)
    members[n_members++] = member_public_view(member, cluster->now_ns);
    return n_members;
}

static void
job_forming_view(struct cluster *cluster,
                 const struct job *job,
                 struct cluster_job_detail *detail)
{
    const struct text_buffer missing = roster_text_missing(cluster, job);
    const struct text_buffer hosts = roster_text_hosts(job);

    detail->size_min = job_min_world_size(cluster, job);
    detail->missing =
        action_list_copy_text(&cluster->action_list, missing.text);
    detail->hosts = action_list_copy_text(&cluster->action_list, hosts.text);
}

void
status_query_fill_reply(struct cluster *cluster,
                        struct job *world,
                        enum cluster_job_view view,
                        struct cluster_reply *reply)
{
    struct job *job = world->epoch ? job_root(world) : world;
    const bool is_brief = view == CLUSTER_VIEW_BRIEF;
    const size_t n_all = world->epoch ? world->size : world->n_members;
    struct cluster_member *members = action_list_alloc(
        &cluster->action_list, is_brief ? 0 : n_all, sizeof(*members));
    const size_t n_members =
        is_brief ? 0 : job_members_view(cluster, world, members);

    reply->kind = CLUSTER_REPLY_JOB;
    reply->job = (struct cluster_job_detail){
        .line = job_summarize(cluster, job),
        .membership_epoch = world->membership_epoch,
        .revision = world->n_changes,
        .members = members,
        .n_members = n_members,
        .n_groups = world->groups.n_groups,
        .n_keys = job_root(world)->store.n_keys,
        .n_store_bytes = job_root(world)->store.n_bytes,
        .n_waiters = world->n_waiters,
        .missing = "",
        .hosts = "",
    };
    if (world->state == CLUSTER_JOB_FORMING)
        job_forming_view(cluster, world, &reply->job);
}

enum hoop_status
status_query_job(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event)
{
    struct job *world = job_newest_world(job);

    if (event->view == CLUSTER_VIEW_ACTIVITY && activities_can_query(world)) {
        const enum hoop_status status =
            activities_query_members(cluster, world, event);

        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    }
    status_query_fill_reply(
        cluster, world, event->view,
        action_list_add_reply(&cluster->action_list, event->ticket));
    return HOOP_OK;
}
