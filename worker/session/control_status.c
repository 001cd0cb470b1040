/* session/control_status.c - queries by operators about jobs and their ranks */

#include <stdio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "session/control.h"
#include "wire/pack.h"

enum hoop_status
hoop_control_health(hoop_control_t *control)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct health_reply reply;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    enum hoop_status status =
        control_check_argument(control, control, "control");
    if (status != HOOP_OK)
        return error_pass(status);
    health_request_encode(&(struct health_request){""}, &pack);
    status = control_call(control, METHOD_HEALTH_CHECK, &pack);
    if (status != HOOP_OK)
        return error_pass(status);
    status = health_reply_decode(control_answer_body(control), &reply);
    if (status != HOOP_OK)
        return error_pass(status);
    if (reply.serving != HEALTH_SERVING)
        return error_raise(HOOP_E_UNAVAILABLE, "%s is draining",
                           control->coordinator);
    return HOOP_OK;
}

static struct hoop_control_job
control_job_from_line(const struct job_summary *line)
{
    return (struct hoop_control_job){
        .name = line->name,
        .state = line->state,
        .epoch = line->epoch,
        .size = line->size,
        .n_members = line->n_members,
        .n_lost = line->n_lost,
        .n_left = line->n_left,
        .age_ms = line->age_ms,
    };
}

enum hoop_status
hoop_control_status(hoop_control_t *control,
                    const struct hoop_control_overview **out_overview)
{
    enum hoop_status status =
        control_check_argument(control, out_overview, "out_overview");
    if (status != HOOP_OK)
        return error_pass(status);
    const struct jobs_reply *reply = &control->answer.jobs;
    status = control_call(control, METHOD_STATUS_JOBS, NULL);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        jobs_reply_decode(control_answer_body(control), &control->answer.jobs);
    if (status != HOOP_OK)
        return error_pass(status);

    struct hoop_control_job *jobs =
        control_answer_alloc_items(control, reply->n_jobs, sizeof(*jobs));
    if (!jobs)
        return error_pass(HOOP_E_EXHAUSTED);
    for (size_t i = 0; i < reply->n_jobs; i++)
        jobs[i] = control_job_from_line(&reply->jobs[i]);
    control->answer.overview = (struct hoop_control_overview){
        .version = reply->version,
        .serving = reply->serving == HEALTH_SERVING ? "serving" : "draining",
        .uptime_ms = reply->uptime_ms,
        .clock_ms = reply->clock_ms,
        .n_jobs = reply->n_jobs,
        .jobs = jobs,
    };
    *out_overview = &control->answer.overview;
    return HOOP_OK;
}

static struct hoop_control_rank
control_rank_from_member(const struct job_member *member)
{
    return (struct hoop_control_rank){
        .rank = member->rank,
        .pid = member->pid,
        .incarnation = member->incarnation,
        .host = member->host,
        .address = member->address,
        .state = member->state,
        .lease_left_ms = member->lease_left_ms,
        .reason = member->reason,
        .given_up_revision = member->given_up_revision,
    };
}

static struct hoop_control_activity
control_activity_from_reply(const struct rank_activity *activity)
{
    return (struct hoop_control_activity){
        .silence = activity->silence,
        .call = activity->call,
        .communicator = activity->communicator,
        .waits_for = activity->waits_for,
        .number = activity->number,
        .age_ms = activity->age_ms,
        .n_calls = activity->n_calls,
    };
}

static enum hoop_status
job_status_query(struct hoop_control *control, uint32_t asks)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    job_request_encode(&(struct job_request){.asks = asks}, &pack);
    enum hoop_status status = control_call(control, METHOD_STATUS_JOB, &pack);
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        job_reply_decode(control_answer_body(control), &control->answer.job);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
control_roster_query(struct hoop_control *control,
                     uint32_t asks,
                     const struct hoop_control_roster **out_roster)
{
    const struct job_reply *reply = &control->answer.job;
    enum hoop_status status =
        control_check_argument(control, out_roster, "out_roster");
    if (status == HOOP_OK)
        status = job_status_query(control, asks);
    if (status != HOOP_OK)
        return error_pass(status);

    /* One allocation holds the ranks and, behind them, their activities. */
    struct hoop_control_rank *ranks = control_answer_alloc_items(
        control, reply->n_members,
        sizeof(*ranks) + sizeof(struct hoop_control_activity));
    if (!ranks)
        return error_pass(HOOP_E_EXHAUSTED);
    struct hoop_control_activity *activities =
        (struct hoop_control_activity *)(ranks + reply->n_members);
    for (size_t i = 0; i < reply->n_members; i++) {
        ranks[i] = control_rank_from_member(&reply->members[i]);
        if (!reply->activities)
            continue;
        activities[i] = control_activity_from_reply(&reply->activities[i]);
        ranks[i].activity = &activities[i];
    }
    control->answer.roster = (struct hoop_control_roster){
        .job = control_job_from_line(&reply->line),
        .membership_epoch = reply->membership_epoch,
        .revision = reply->revision,
        .n_groups = reply->n_groups,
        .n_keys = reply->n_keys,
        .n_store_bytes = reply->n_store_bytes,
        .n_waiters = reply->n_waiters,
        .n_ranks = reply->n_members,
        .ranks = ranks,
        .missing = reply->missing,
        .hosts = reply->hosts,
    };
    *out_roster = &control->answer.roster;
    return HOOP_OK;
}

enum hoop_status
hoop_control_ranks(hoop_control_t *control,
                   const struct hoop_control_roster **out_roster)
{
    const enum hoop_status status =
        control_roster_query(control, 0, out_roster);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_control_activities(hoop_control_t *control,
                        const struct hoop_control_roster **out_roster)
{
    const enum hoop_status status =
        control_roster_query(control, 1, out_roster);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
groups_list_query(struct hoop_control *control, const char *after)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct group_key_request request = {0};

    if (after)
        snprintf(request.key, sizeof(request.key), "%s", after);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_key_request_encode(&request, &pack);
    enum hoop_status status = control_call(control, METHOD_GROUPS_LIST, &pack);
    if (status != HOOP_OK)
        return error_pass(status);
    status = groups_reply_decode(control_answer_body(control),
                                 &control->answer.groups);
    if (status != HOOP_OK)
        return error_pass(status);
    return HOOP_OK;
}

enum hoop_status
hoop_control_groups(hoop_control_t *control,
                    const char *after,
                    const struct hoop_control_group_list **out_groups)
{
    enum hoop_status status =
        control_check_argument(control, out_groups, "out_groups");
    if (status != HOOP_OK)
        return error_pass(status);
    const struct groups_reply *reply = &control->answer.groups;
    status = groups_list_query(control, after);
    if (status != HOOP_OK)
        return error_pass(status);

    struct hoop_control_group *groups =
        control_answer_alloc_items(control, reply->n_groups, sizeof(*groups));
    if (!groups)
        return error_pass(HOOP_E_EXHAUSTED);
    for (size_t i = 0; i < reply->n_groups; i++)
        groups[i] = (struct hoop_control_group){
            .key = reply->groups[i].key,
            .communicator = reply->groups[i].communicator,
            .n_ranks = reply->groups[i].n_ranks,
            .ranks = reply->groups[i].ranks,
            .n_joined = reply->groups[i].n_joined,
        };
    control->answer.group_list = (struct hoop_control_group_list){
        .n_more = reply->n_more,
        .n_groups = reply->n_groups,
        .groups = groups,
    };
    *out_groups = &control->answer.group_list;
    return HOOP_OK;
}
