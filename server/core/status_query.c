/* core/status_query.c - jobs and members as operators see them */

#include "core/status_query.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "base/error.h"
#include "core/change.h"
#include "core/job.h"
#include "core/member.h"
#include "core/memory.h"

/* Texts that say which workers have joined and which are missing. */

/* A longer list would not help the reader. */
enum {
    ROSTER_NAMED_MAX = 8,
};

static const char *
plural_suffix(uint32_t n)
{
    return n == 1 ? "" : "s";
}

static void
roster_text_add_present(struct text_buffer *text_buffer, const struct job *job)
{
    const struct member *member = NULL;
    uint32_t n_named = 0;

    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (n_named == ROSTER_NAMED_MAX)
            break;
        text_buffer_append(text_buffer, "%s%s", n_named ? ", " : "",
                           member_label(member).text);
        n_named++;
    }
    if (job->n_members > n_named)
        text_buffer_append(text_buffer, " and %u more",
                           job->n_members - n_named);
}

static bool
rank_is_unrequested(const struct job *job, uint32_t rank)
{
    return !job_find_rank_requester(job, rank);
}

/* List the ranks below end that no member requested, as "0, 2-5". */
static void
roster_text_add_free_ranks(struct text_buffer *text_buffer,
                           const struct job *job,
                           uint32_t end)
{
    uint32_t n_named = 0;

    for (uint32_t rank = 0; rank < end; rank++) {
        if (!rank_is_unrequested(job, rank))
            continue;

        const uint32_t first = rank;

        while (rank + 1 < end && rank_is_unrequested(job, rank + 1))
            rank++;
        if (n_named == ROSTER_NAMED_MAX) {
            text_buffer_append(text_buffer, ", ...");
            return;
        }
        text_buffer_append(text_buffer, "%s%u", n_named ? ", " : "", first);
        if (rank > first)
            text_buffer_append(text_buffer, "-%u", rank);
        n_named++;
    }
}

static uint32_t
highest_requested_rank(const struct job *job)
{
    uint32_t highest = 0;

    for (const struct member *member = job->joins.requests; member;
         member = member->hh_rank.next)
        if (member->rank > highest)
            highest = member->rank;
    return highest;
}

static void
roster_text_add_missing_ranks(struct text_buffer *text_buffer,
                              const struct job *job,
                              uint32_t size)
{
    const uint32_t n_requests = HASH_CNT(hh_rank, job->joins.requests);
    const uint32_t n_missing = size - job->n_members;

    if (!n_requests) {
        text_buffer_append(text_buffer, "%u more worker%s", n_missing,
                           plural_suffix(n_missing));
        return;
    }
    if (n_requests < job->n_members)
        text_buffer_append(text_buffer, "%u more worker%s for the ", n_missing,
                           plural_suffix(n_missing));
    text_buffer_append(text_buffer, "rank%s ",
                       plural_suffix(size - n_requests));
    roster_text_add_free_ranks(text_buffer, job, size);
}

/* Say who is missing. The world size must be known. */
static void
roster_text_add_missing(struct text_buffer *text_buffer,
                        const struct cluster *cluster,
                        const struct job *job)
{
    const uint32_t size = job_max_world_size(cluster, job);
    const uint32_t size_min = job_min_world_size(cluster, job);

    if (!job_growth_has_all_members(job)) {
        text_buffer_append(text_buffer, "rank ");
        roster_text_add_free_ranks(text_buffer, job,
                                   job_growth_needed_members(job));
    } else if (size_min == size)
        roster_text_add_missing_ranks(text_buffer, job, size);
    else if (job->n_members < size_min)
        text_buffer_append(text_buffer, "at least %u more worker%s",
                           size_min - job->n_members,
                           plural_suffix(size_min - job->n_members));
    else
        roster_text_add_missing_ranks(text_buffer, job,
                                      highest_requested_rank(job) + 1);
}

/*
 * Say who is missing in a forming job: "ranks 0, 3" or "2 more workers"; if
 * enough have joined, how long others may still come; "" if the world size is
 * not known.
 */
static struct text_buffer
roster_text_missing(const struct cluster *cluster, const struct job *job)
{
    const uint32_t size_min = job_min_world_size(cluster, job);
    struct text_buffer text_buffer = {0};

    if (!size_min)
        return text_buffer;
    if (job->n_members < size_min || !job_growth_has_all_members(job) ||
        highest_requested_rank(job) >= job->n_members)
        roster_text_add_missing(&text_buffer, cluster, job);
    else if (job->root)
        text_buffer_append(&text_buffer,
                           "others, for as long as its members wait");
    else
        text_buffer_append(&text_buffer,
                           "others, until nobody has come for %.1f s",
                           ns_to_seconds(job_settle_time_ns(cluster, job)));
    return text_buffer;
}

/* List the hosts of the workers that have joined, in the order of arrival: "a,
 * b". */
static struct text_buffer
roster_text_hosts(const struct job *job)
{
    const struct member *member = NULL;
    const char *named[ROSTER_NAMED_MAX];
    struct text_buffer text_buffer = {0};
    uint32_t n_named = 0;

    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        uint32_t i = 0;

        while (i < n_named && strcmp(named[i], member->host) != 0)
            i++;
        if (i < n_named)
            continue;
        if (n_named == ROSTER_NAMED_MAX) {
            text_buffer_append(&text_buffer, ", ...");
            break;
        }
        text_buffer_append(&text_buffer, "%s%s", n_named ? ", " : "",
                           member->host);
        named[n_named++] = member->host;
    }
    return text_buffer;
}

static void
roster_text_add_past_attempt(struct text_buffer *text_buffer,
                             const struct cluster *cluster,
                             const struct job *job)
{
    const struct ended_job *earlier =
        ended_jobs_find(&cluster->ended_jobs, job->name);

    if (!earlier || earlier->epoch)
        return;

    /* Both times may come from the wall clock, which may have been set back. */
    const uint64_t ago_ns = job->job_created_ns > earlier->when_ns
                                ? job->job_created_ns - earlier->when_ns
                                : 0;

    text_buffer_append(text_buffer, "; an earlier attempt, with %u",
                       earlier->n_joined);
    if (earlier->size > 0)
        text_buffer_append(text_buffer, " of %u", earlier->size);
    text_buffer_append(text_buffer,
                       ", gave up %.1f s before the first of these came",
                       ns_to_seconds(ago_ns));
}

struct text_buffer
roster_text_summary(const struct cluster *cluster, const struct job *job)
{
    const uint32_t size = job_max_world_size(cluster, job);
    const uint32_t size_min = job_min_world_size(cluster, job);
    struct text_buffer text_buffer = {0};

    text_buffer_append(
        &text_buffer, "job \"%s\" has not %s: %u", job_public_name(job),
        job->root ? "grown in time" : "formed before a join deadline",
        job->n_members);
    if (size_min < size)
        text_buffer_append(&text_buffer, " of %u to %u", size_min, size);
    else if (size)
        text_buffer_append(&text_buffer, " of %u", size);
    text_buffer_append(&text_buffer,
                       " %s joined: ", job->n_members == 1 ? "has" : "have");
    roster_text_add_present(&text_buffer, job);

    if (job->joins.n_timed_out)
        text_buffer_append(&text_buffer,
                           "; %u gave up before, at %s own deadline%s",
                           job->joins.n_timed_out,
                           job->joins.n_timed_out == 1 ? "its" : "their",
                           plural_suffix(job->joins.n_timed_out));
    text_buffer_append(&text_buffer, "; missing: ");
    if (!size)
        text_buffer_append(&text_buffer,
                           "the world size, which nobody said (set "
                           "HOOP_WORLD_SIZE, or hoopd --world-size)");
    else
        roster_text_add_missing(&text_buffer, cluster, job);
    roster_text_add_past_attempt(&text_buffer, cluster, job);
    return text_buffer;
}

/* Which call each member of a job is in, for operators. */

enum {
    /* An operator is answered within a second. */
    ACTIVITY_QUERY_TIMEOUT_MS = 800,
    /* The reply for more ranks would not fit into a message. */
    ACTIVITY_QUERY_RANKS_MAX = 4096,
};

struct activity_answer {
    bool has_reported;
    uint64_t reported_ns;
    struct cluster_member_activity activity; /* its texts are owned */
};

/* Return whether the job's world has formed and is small enough for a query. */
static bool
activities_can_query(const struct job *job)
{
    return job->state == CLUSTER_JOB_RUNNING &&
           job->world.size <= ACTIVITY_QUERY_RANKS_MAX;
}

void
activities_deinit(struct job *job)
{
    struct activity_answer *answers = job->activities.answers;

    for (uint32_t rank = 0; answers && rank < job->world.size; rank++) {
        const struct cluster_member_activity *activity =
            &answers[rank].activity;

        memory_free_charged(&job->memory, (char *)activity->call);
        memory_free_charged(&job->memory, (char *)activity->communicator);
        memory_free_charged(&job->memory, (char *)activity->waits_for);
        memory_free_charged(&job->memory, (uint8_t *)activity->details);
    }
    memory_free_charged(&job->memory, answers);
    job->activities.answers = NULL;
}

static struct waiter *
next_activity_waiter(struct waiter *waiter)
{
    while (waiter && waiter->kind != WAITER_ACTIVITY)
        waiter = TAILQ_NEXT(waiter, link);
    return waiter;
}

/* Return the deadline of a query made at query_started_ns. */
static uint64_t
activity_query_end_ns(uint64_t query_started_ns)
{
    return query_started_ns + ACTIVITY_QUERY_TIMEOUT_MS * CLOCK_NS_PER_MS;
}

/* Park a CLUSTER_JOB or CLUSTER_WHY request, and ask all members unless a query is already
 * open. */
static enum hoop_status
activities_query_members(struct cluster *cluster,
                         struct job *job,
                         const struct cluster_event *event)
{
    const bool is_open =
        next_activity_waiter(TAILQ_FIRST(&job->waiters)) != NULL;
    const uint64_t query_started_ns =
        is_open ? job->activities.query_started_ns : cluster->now_ns;
    const uint64_t most_ns = activity_query_end_ns(query_started_ns);
    struct cluster_event shortened = *event;
    struct waiter *waiter = NULL;

    if (shortened.deadline_ns > most_ns)
        shortened.deadline_ns = most_ns;
    const enum hoop_status status =
        waiter_park(cluster, job, &shortened, &waiter);
    if (status != HOOP_OK)
        return error_pass(status);
    waiter->asks_why = event->kind == CLUSTER_WHY;
    if (is_open)
        return HOOP_OK;
    activities_deinit(job);
    job->activities.query_started_ns = query_started_ns;
    job->activities.answers = memory_alloc_charged(
        &job->memory, job->world.size, sizeof(struct activity_answer));
    /* Use a number that no earlier life of the coordinator can have used. */
    job->activities.query = cluster->last_activity_query < cluster->now_ns
                                ? cluster->now_ns
                                : cluster->last_activity_query + 1;
    cluster->last_activity_query = job->activities.query;
    job_mark_touched(cluster, job);
    return HOOP_OK;
}

/* Say why member has not answered. */
static struct text_buffer
activity_describe_silence(const struct cluster *cluster,
                          const struct member *member)
{
    const struct waiter *watch = member_parked_watch(cluster, member);
    struct text_buffer silence = {0};

    if (member->state != CLUSTER_MEMBER_ACTIVE)
        text_buffer_append(&silence, "it %s", member_end_text(member).text);
    else if (watch && watch->seen.activity_query == CLUSTER_NO_QUESTION)
        text_buffer_append(&silence, "its version of hoop does not tell");
    else
        text_buffer_append(
            &silence,
            "no answer within %.1f s: stopped, dead or cut off? hoopd "
            "last heard of it %.1f s ago",
            ns_to_seconds(cluster->now_ns -
                          member->job->activities.query_started_ns),
            ns_to_seconds(cluster->now_ns - member->renewed_ns));
    return silence;
}

/* A member that is in no call of its engine may wait in the coordinator to set
 * up a communicator. */
static void
comm_setup_describe(struct cluster *cluster,
                    const struct member *member,
                    struct cluster_member_activity *activity)
{
    struct cluster_missing_members pending = {0};
    struct text_buffer missing = {0};
    struct text_buffer call = {0};

    if (!group_slots_missing_members(member, CLUSTER_ANY_CALL_NUMBER, &pending,
                                     &missing))
        return;
    text_buffer_append(&call, "%s (%u ranks)", pending.call, pending.n_ranks);
    activity->call = action_list_copy_text(&cluster->action_list, call.text);
    activity->waits_for =
        action_list_copy_text(&cluster->action_list, missing.text);
    activity->missing_rank = pending.missing_rank;
    activity->age_ms = (cluster->now_ns - pending.since_ns) / CLOCK_NS_PER_MS;
    activity->n_calls = 1;
}

/* Return [job->world.size] activities; they live in the action list. */
static struct cluster_member_activity *
activities_collect(struct cluster *cluster, const struct job *job)
{
    struct cluster_member_activity *activities = action_list_alloc(
        &cluster->action_list, job->world.size, sizeof(*activities));

    for (uint32_t rank = 0; rank < job->world.size; rank++) {
        const struct member *member = job->world.ranks[rank];
        const struct cluster_member_activity *told =
            &job->activities.answers[rank].activity;
        const bool has_told = job->activities.answers[rank].has_reported &&
                              member->state == CLUSTER_MEMBER_ACTIVE;

        activities[rank] =
            (struct cluster_member_activity){.silence = "",
                                             .call = "",
                                             .communicator = "",
                                             .waits_for = "",
                                             .missing_rank = CLUSTER_RANK_ANY};
        if (has_told) {
            activities[rank] = *told;
            activities[rank].call =
                action_list_copy_text(&cluster->action_list, told->call);
            activities[rank].communicator = action_list_copy_text(
                &cluster->action_list, told->communicator);
            activities[rank].waits_for =
                action_list_copy_text(&cluster->action_list, told->waits_for);
            activities[rank].details = action_list_copy_bytes(
                &cluster->action_list, told->details, told->n_details);
            if (!told->call[0])
                comm_setup_describe(cluster, member, &activities[rank]);
            else
                /* It has waited on while others were slow to answer. */
                activities[rank].age_ms +=
                    (cluster->now_ns -
                     job->activities.answers[rank].reported_ns) /
                    CLOCK_NS_PER_MS;
        } else {
            const struct text_buffer silence =
                activity_describe_silence(cluster, member);

            activities[rank].silence =
                action_list_copy_text(&cluster->action_list, silence.text);
        }
        activities[rank].last_sign_ms =
            (cluster->now_ns - member->renewed_ns) / CLOCK_NS_PER_MS;
    }
    return activities;
}

static void
activity_waiter_answer(struct cluster *cluster,
                       struct waiter *waiter,
                       const struct cluster_member_activity *activities)
{
    struct job *job = waiter->job;
    const bool asks_why = waiter->asks_why;
    struct cluster_reply *reply = waiter_end_with_reply(cluster, waiter);

    status_query_fill_reply(cluster, job, CLUSTER_VIEW_WITH_MEMBERS, reply);
    if (asks_why)
        reply->kind = CLUSTER_REPLY_WHY;
    reply->job.activities = activities;
}

/* Answer all operators that wait. */
static void
activity_waiters_answer(struct cluster *cluster, struct job *job)
{
    const struct cluster_member_activity *activities =
        activities_collect(cluster, job);
    struct waiter *waiter = next_activity_waiter(TAILQ_FIRST(&job->waiters));

    while (waiter) {
        struct waiter *next = next_activity_waiter(TAILQ_NEXT(waiter, link));

        activity_waiter_answer(cluster, waiter, activities);
        waiter = next;
    }
    activities_deinit(job);
}

static bool
all_members_answered(const struct job *job)
{
    for (uint32_t rank = 0; rank < job->world.size; rank++) {
        if (!job->activities.answers[rank].has_reported &&
            job->world.ranks[rank]->state == CLUSTER_MEMBER_ACTIVE)
            return false;
    }
    return true;
}

void
activities_store_answer(struct cluster *cluster,
                        const struct member *member,
                        const struct cluster_member_renewal *call)
{
    struct job *job = member->job;
    struct activity_answer *answers = job->activities.answers;

    if (!answers || call->activity_query != job->activities.query ||
        answers[member->rank].has_reported)
        return;
    answers[member->rank].has_reported = true;
    answers[member->rank].reported_ns = cluster->now_ns;
    answers[member->rank].activity = call->activity;
    answers[member->rank].activity.silence = "";
    answers[member->rank].activity.answer_ms =
        (cluster->now_ns - job->activities.query_started_ns) / CLOCK_NS_PER_MS;
    answers[member->rank].activity.call =
        memory_strdup_charged(&job->memory, call->activity.call);
    answers[member->rank].activity.communicator =
        memory_strdup_charged(&job->memory, call->activity.communicator);
    answers[member->rank].activity.waits_for =
        memory_strdup_charged(&job->memory, call->activity.waits_for);
    answers[member->rank].activity.missing_rank = CLUSTER_RANK_ANY;
    answers[member->rank].activity.details = memory_copy_charged(
        &job->memory, call->activity.details, call->activity.n_details);
    job_mark_touched(cluster, job);
}

void
activities_answer_complete(struct cluster *cluster, struct job *job)
{
    if (!job->activities.answers)
        return;
    if (!next_activity_waiter(TAILQ_FIRST(&job->waiters)))
        activities_deinit(job);
    else if (all_members_answered(job))
        activity_waiters_answer(cluster, job);
}

void
activities_on_deadline(struct cluster *cluster, struct waiter *waiter)
{
    struct job *job = waiter->job;

    if (cluster->now_ns >=
        activity_query_end_ns(job->activities.query_started_ns)) {
        activity_waiters_answer(cluster, job);
        return;
    }
    activity_waiter_answer(cluster, waiter, activities_collect(cluster, job));
    job_mark_touched(cluster, job);
}

/* Return the job as operators see it; points into job. */
static struct cluster_job_summary
job_summarize(const struct cluster *cluster, struct job *job)
{
    const struct job *present = job_newest_world(job);

    return (struct cluster_job_summary){
        .name = job_public_name(job),
        .state = job->state,
        .epoch = present->world.epoch,
        .size = job->world.epoch ? present->world.size
                                 : job_max_world_size(cluster, job),
        .n_members = job->root ? job->n_members : job->n_workers,
        .n_lost = job->root ? job->n_lost : job->n_workers_lost,
        .n_left = job->root ? job->n_left : job->n_workers_left,
        .age_ns = cluster->now_ns - job->job_created_ns,
    };
}

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
job_detail_fill_members(const struct cluster *cluster,
                        const struct job *job,
                        struct cluster_member *members)
{
    const struct member *member = NULL;
    size_t n_members = 0;

    if (job->state == CLUSTER_JOB_RUNNING)
        for (; n_members < job->world.size; n_members++)
            members[n_members] = member_public_view(job->world.ranks[n_members],
                                                    cluster->now_ns);
    else
        TAILQ_FOREACH(member, &job->arrivals, arrival)
    members[n_members++] = member_public_view(member, cluster->now_ns);
    return n_members;
}

static void
job_detail_fill_forming(struct cluster *cluster,
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
                        struct job *present,
                        enum cluster_job_view view,
                        struct cluster_reply *reply)
{
    struct job *job = present->world.epoch ? job_root(present) : present;
    const bool is_brief = view == CLUSTER_VIEW_BRIEF;
    const size_t n_all =
        present->world.epoch ? present->world.size : present->n_members;
    struct cluster_member *members = action_list_alloc(
        &cluster->action_list, is_brief ? 0 : n_all, sizeof(*members));
    const size_t n_members =
        is_brief ? 0 : job_detail_fill_members(cluster, present, members);

    reply->kind = CLUSTER_REPLY_JOB;
    reply->job = (struct cluster_job_detail){
        .line = job_summarize(cluster, job),
        .membership_epoch = present->world.membership_epoch,
        .revision = present->world.n_changes,
        .members = members,
        .n_members = n_members,
        .n_groups = present->groups.n_groups,
        .n_keys = job_root(present)->store.n_keys,
        .n_store_bytes = job_root(present)->store.n_bytes,
        .n_waiters = present->n_waiters,
        .missing = "",
        .hosts = "",
        .has_totals = view == CLUSTER_VIEW_TOTALS,
    };
    if (present->state == CLUSTER_JOB_FORMING)
        job_detail_fill_forming(cluster, present, &reply->job);
}

enum hoop_status
status_query_job(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event)
{
    struct job *present = job_newest_world(job);

    if (event->view == CLUSTER_VIEW_ACTIVITY && activities_can_query(present)) {
        const enum hoop_status status =
            activities_query_members(cluster, present, event);

        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    }
    status_query_fill_reply(
        cluster, present, event->view,
        action_list_add_reply(&cluster->action_list, event->ticket));
    return HOOP_OK;
}

/* Return what the members of an ended job told when they left, or NULL. */
static const struct cluster_member_activity *
ended_job_activities(struct action_list *list,
                     const struct ended_job *ended_job)
{
    struct cluster_member_activity *activities =
        action_list_alloc(list, ended_job->n_members, sizeof(*activities));
    bool has_told = false;

    for (size_t i = 0; i < ended_job->n_members; i++) {
        const struct ended_member *from = &ended_job->members[i];

        has_told |= from->n_failure > 0;
        activities[i] = (struct cluster_member_activity){
            .silence = "",
            .call = "",
            .communicator = "",
            .waits_for = "",
            .last_sign_ms = UINT64_MAX,
            .missing_rank = CLUSTER_RANK_ANY,
            .details =
                action_list_copy_bytes(list, from->failure, from->n_failure),
            .n_details = from->n_failure,
        };
    }
    return has_told ? activities : NULL;
}

/* Describe an ended job by what is remembered of it. Its texts may go in this
 * step, so they are copied. */
static void
ended_job_fill_reply(struct cluster *cluster,
                     const struct ended_job *ended_job,
                     struct cluster_reply *reply)
{
    struct action_list *list = &cluster->action_list;
    struct cluster_member *members =
        action_list_alloc(list, ended_job->n_members, sizeof(*members));

    for (size_t i = 0; i < ended_job->n_members; i++) {
        const struct ended_member *from = &ended_job->members[i];

        members[i] = (struct cluster_member){
            .rank = from->rank,
            .pid = from->pid,
            .host = action_list_copy_text(list, from->host),
            .host_id = "",
            .address = "",
            .state = from->state,
            .reason = action_list_copy_text(list, from->reason),
            .lost_revision = from->lost_revision,
        };
    }
    reply->job = (struct cluster_job_detail){
        .line = ended_job_summarize(cluster, ended_job),
        .members = members,
        .n_members = ended_job->n_members,
        .missing = "",
        .hosts = "",
        .activities = ended_job_activities(list, ended_job),
    };
    /* Of a job that never formed, how many came. */
    if (!ended_job->epoch)
        reply->job.line.n_members = ended_job->n_joined;
}

enum hoop_status
status_query_why(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event)
{
    struct job *present = job ? job_newest_world(job) : NULL;

    if (present && activities_can_query(present)) {
        const enum hoop_status status =
            activities_query_members(cluster, present, event);

        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    }

    struct cluster_reply *reply =
        action_list_add_reply(&cluster->action_list, event->ticket);

    if (present)
        status_query_fill_reply(cluster, present, CLUSTER_VIEW_WITH_MEMBERS,
                                reply);
    else
        ended_job_fill_reply(
            cluster, ended_jobs_find(&cluster->ended_jobs, event->job), reply);
    reply->kind = CLUSTER_REPLY_WHY;
    return HOOP_OK;
}
