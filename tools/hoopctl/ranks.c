/* hoopctl/ranks.c - hoopctl ranks: lists the members of a job */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hoopctl/command.h"
#include "hoopctl/json.h"
#include "hoopctl/shown.h"

/* Return NULL if the activity was not queried. */
static json_t *
activity_json(const struct hoop_control_activity *activity)
{
    if (!activity)
        return json_null();
    if (activity->silence[0])
        return json_pack("{so}", "silence", json_text(activity->silence));
    if (!activity->call[0])
        return json_pack("{so}", "calls", json_number(0));
    return json_pack(
        "{so so so so so so}", "calls", json_number(activity->n_calls), "call",
        json_text(activity->call), "communicator",
        json_text(activity->communicator), "number",
        json_number(activity->number), "age_ms", json_number(activity->age_ms),
        "waits_for", json_text(activity->waits_for));
}

static json_t *
rank_json(const struct hoop_control_rank *rank)
{
    char incarnation[24];

    snprintf(incarnation, sizeof(incarnation), "%016" PRIx64,
             rank->incarnation);
    return json_pack(
        "{so so so so so so ss so so}", "rank",
        rank->rank == HOOP_CONTROL_RANK_ANY ? json_null()
                                            : json_number(rank->rank),
        "state", json_text(rank->state), "host", json_text(rank->host),
        "address", json_text(rank->address), "pid", json_number(rank->pid),
        "lease_left_ms", json_number(rank->lease_left_ms), "incarnation",
        incarnation, "activity", activity_json(rank->activity), "reason",
        json_text(rank->reason));
}

static void
json_show(const struct hoop_control_roster *roster)
{
    json_t *ranks = json_array();

    for (size_t i = 0; i < roster->n_ranks; i++)
        json_array_append_new(ranks, rank_json(&roster->ranks[i]));
    json_print(json_pack(
        "{so so so so so so so so so so so}", "job",
        json_text(roster->job.name), "state", json_text(roster->job.state),
        "size", json_number(roster->job.size), "epoch",
        json_number(roster->job.epoch), "membership_epoch",
        json_number(roster->membership_epoch), "groups",
        json_number(roster->n_groups), "keys", json_number(roster->n_keys),
        "store_bytes", json_number(roster->n_store_bytes), "waiters",
        json_number(roster->n_waiters), "missing", json_text(roster->missing),
        "ranks", ranks));
}

/* Use the same words as the warning of ranks that wait for others. */
static void
activity_show(const struct hoop_control_activity *activity)
{
    struct shown first;
    struct shown name;
    struct shown whom;
    char others[64] = "";

    if (!activity)
        return;
    if (activity->silence[0] || !activity->call[0]) {
        printf("%6s %s\n", "",
               activity->silence[0] ? show(activity->silence, &first)
                                    : "in no call");
        return;
    }
    if (activity->n_calls > 1)
        snprintf(others, sizeof(others), " (and %u other operations)",
                 activity->n_calls - 1);
    printf("%6s in %s%s%s%s for %.1f s, waits for %s%s\n", "",
           show(activity->call, &first),
           activity->communicator[0] ? " of communicator '" : "",
           show(activity->communicator, &name),
           activity->communicator[0] ? "'" : "",
           (double)activity->age_ms / 1000, show(activity->waits_for, &whom),
           others);
}

static void
rank_show(const struct hoop_control_rank *rank)
{
    struct shown state;
    struct shown host;
    struct shown address;
    struct shown reason;
    char number[16] = "-";

    if (rank->rank != HOOP_CONTROL_RANK_ANY)
        snprintf(number, sizeof(number), "%u", rank->rank);
    printf("%6s %-8s %-24s %8u %-28s %8.1f s\n", number,
           show(rank->state, &state), show(rank->host, &host), rank->pid,
           show(rank->address, &address), (double)rank->lease_left_ms / 1000);
    /* The text printed in place of its activity may contain the reason. */
    if (rank->reason[0] &&
        !(rank->activity && strstr(rank->activity->silence, rank->reason)))
        printf("%6s %s\n", "", show(rank->reason, &reason));
    activity_show(rank->activity);
}

/* Use the same words as joins that wait. */
static void
missing_show(const struct hoop_control_roster *roster)
{
    struct shown missing;
    struct shown hosts;

    if (roster->missing[0])
        printf("waiting for %s; %u of %u here: %s\n",
               show(roster->missing, &missing), roster->job.n_members,
               roster->job.size, show(roster->hosts, &hosts));
    else if (roster->job.size == 0)
        printf("waiting for the world size, which nobody has given; %u here: "
               "%s\n",
               roster->job.n_members, show(roster->hosts, &hosts));
}

static void
table_show(const struct hoop_control_roster *roster)
{
    struct shown name;
    struct shown state;

    printf("job %s, %s, size %u, epoch %llu; %llu groups, %llu keys\n",
           show(roster->job.name, &name), show(roster->job.state, &state),
           roster->job.size, (unsigned long long)roster->job.epoch,
           (unsigned long long)roster->n_groups,
           (unsigned long long)roster->n_keys);
    missing_show(roster);
    printf("%6s %-8s %-24s %8s %-28s %10s\n", "RANK", "STATE", "HOST", "PID",
           "ADDRESS", "LEASE");
    for (size_t i = 0; i < roster->n_ranks; i++)
        rank_show(&roster->ranks[i]);
}

enum hoop_status
ranks_run(const struct command_call *call)
{
    const struct hoop_control_roster *roster = NULL;

    const enum hoop_status status =
        hoop_control_activities(call->control, &roster);
    if (status != HOOP_OK)
        return status;
    if (call->format == COMMAND_JSON)
        json_show(roster);
    else
        table_show(roster);
    return HOOP_OK;
}
