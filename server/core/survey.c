/* core/survey.c - what operators see of jobs and members */

#include "core/survey.h"

#include "base/error.h"
#include "core/activity.h"
#include "core/ending.h"
#include "core/job.h"
#include "core/roll.h"
#include "core/state.h"
#include "core/wish.h"

static struct cluster_job_line
ending_line(struct cluster *cluster, const struct ending *ending)
{
    return (struct cluster_job_line){
        .name = outbox_text(&cluster->outbox, ending->name),
        .state = CLUSTER_JOB_ENDED,
        .epoch = ending->epoch,
        .size = ending->size,
        .n_lost = ending->n_lost,
        .n_left = ending->n_left,
        .age_ns = cluster->now_ns - ending->when_ns,
    };
}

enum hoop_status
survey_jobs(struct cluster *cluster,
            struct job *unused,
            const struct cluster_event *event)
{
    const size_t n_endings = endings_count(&cluster->endings);
    const size_t n_items = (size_t)cluster->counters.jobs + n_endings;
    struct cluster_job_line *items =
        outbox_memory(&cluster->outbox, n_items, sizeof(*items));
    struct cluster_job_line *next = items;

    (void)unused;
    for (struct job *job = cluster->jobs; job; job = job->hh.next)
        if (!job->root)
            *next++ = job_line(cluster, job);
    for (size_t i = 0; i < n_endings; i++)
        *next++ = ending_line(cluster, endings_at(&cluster->endings, i));

    struct cluster_reply *reply = outbox_reply(&cluster->outbox, event->ticket);

    reply->kind = CLUSTER_REPLY_JOBS;
    reply->jobs = (struct cluster_jobs){.items = items, .n_items = n_items};
    return HOOP_OK;
}

static size_t
members_view(const struct cluster *cluster,
             const struct job *job,
             struct cluster_member *members)
{
    const struct member *member = NULL;
    size_t n_members = 0;

    if (job->state == CLUSTER_JOB_RUNNING)
        for (; n_members < job->size; n_members++)
            members[n_members] =
                member_view(job->ranks[n_members], cluster->now_ns);
    else
        TAILQ_FOREACH(member, &job->arrivals, arrival)
    members[n_members++] = member_view(member, cluster->now_ns);
    return n_members;
}

static void
forming_view(struct cluster *cluster,
             const struct job *job,
             struct cluster_job_detail *detail)
{
    const struct sentence missing = roll_missing(cluster, job);
    const struct sentence hosts = roll_hosts(job);

    detail->size_min = wish_size_min(cluster, job);
    detail->missing = outbox_text(&cluster->outbox, missing.text);
    detail->hosts = outbox_text(&cluster->outbox, hosts.text);
}

void
survey_fill(struct cluster *cluster,
            struct job *world,
            enum cluster_view view,
            struct cluster_reply *reply)
{
    struct job *job = world->epoch ? job_root(world) : world;
    const bool is_brief = view == CLUSTER_VIEW_BRIEF;
    const size_t n_all = world->epoch ? world->size : world->n_members;
    struct cluster_member *members =
        outbox_memory(&cluster->outbox, is_brief ? 0 : n_all, sizeof(*members));
    const size_t n_members =
        is_brief ? 0 : members_view(cluster, world, members);

    reply->kind = CLUSTER_REPLY_JOB;
    reply->job = (struct cluster_job_detail){
        .line = job_line(cluster, job),
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
        forming_view(cluster, world, &reply->job);
}

enum hoop_status
survey_job(struct cluster *cluster,
           struct job *job,
           const struct cluster_event *event)
{
    struct job *world = job_present(job);

    if (event->view == CLUSTER_VIEW_ACTIVITY && activities_may_ask(world)) {
        const enum hoop_status status = activities_ask(cluster, world, event);

        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    }
    survey_fill(cluster, world, event->view,
                outbox_reply(&cluster->outbox, event->ticket));
    return HOOP_OK;
}
