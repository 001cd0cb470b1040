/* tests/sim/verdict_sim_coordinator.c - the coordinator's core, asked by
 * messages */

#include <stdio.h>
#include <stdlib.h>

#include "base/identity.h"
#include "base/random.h"
#include "verdict_sim.h"

enum {
    LEASE_MS = 5000,
    TICKET_OTHERS = 100, /* those below are watches, by rank */
};

static bool has_lost[SIM_RANKS_MAX];

bool
coordinator_lost(uint32_t rank)
{
    return has_lost[rank];
}

static void
changes_tell(int to, const struct cluster_membership_changes *changes)
{
    for (size_t i = 0; i < changes->n_items; i++) {
        const struct cluster_membership_change *change = &changes->items[i];
        struct sim_message message = {.kind = SIM_CHANGE,
                                      .from = COORDINATOR,
                                      .to = to,
                                      .rank = change->rank};

        if (change->kind != CLUSTER_CHANGE_LOST)
            continue;
        snprintf(message.why, sizeof(message.why), "%.250s", change->reason);
        sim_post(&message);
    }
    sim_post(&(struct sim_message){.kind = SIM_WATCHED,
                                   .from = COORDINATOR,
                                   .to = to,
                                   .number = changes->revision,
                                   .question = changes->question});
}

static void
reply_tell(const struct cluster_reply *reply)
{
    const int rank = (int)(reply->ticket % TICKET_OTHERS) - 1;

    if (reply->kind == CLUSTER_REPLY_CHANGES)
        changes_tell(rank, &reply->changes);
    else if (reply->status == HOOP_E_PRECONDITION ||
             reply->status == HOOP_E_NOT_FOUND)
        sim_post(&(struct sim_message){
            .kind = SIM_OVER, .from = COORDINATOR, .to = rank});
    if (reply->ticket < TICKET_OTHERS)
        sim->is_watching[rank] = false;
    if (reply->kind == CLUSTER_REPLY_WORLD)
        sim->epoch = reply->world.epoch;
}

static void
event_step(struct cluster_event *event)
{
    event->now_ns = sim->now_ns;
    event->job = "a";

    const struct cluster_actions actions = cluster_step(sim->cluster, event);

    for (size_t i = 0; i < actions.n_items; i++) {
        const struct cluster_action *action = &actions.items[i];

        if (action->kind == CLUSTER_REPLY)
            reply_tell(&action->reply);
        if (action->kind != CLUSTER_LOG_NOTICE ||
            action->notice.kind != CLUSTER_NOTICE_LOST)
            continue;
        sim_expect(!has_lost[action->notice.rank], "one who is lost twice");
        has_lost[action->notice.rank] = true;
        sim->n_lost++;
    }
}

void
coordinator_create(void)
{
    const struct cluster_options options = {.lease_ms = LEASE_MS};

    for (uint32_t rank = 0; rank < SIM_RANKS_MAX; rank++)
        has_lost[rank] = false;
    if (cluster_create(&options, &sim->cluster) != HOOP_OK)
        abort();
    for (uint32_t rank = 0; rank < sim->size; rank++)
        event_step(&(struct cluster_event){
            .kind = CLUSTER_JOIN,
            .ticket = TICKET_OTHERS + rank + 1,
            .client = rank + 1,
            .deadline_ns = UINT64_MAX,
            .join =
                {
                    .incarnation = rank + 1,
                    .protocol_version = CLUSTER_PROTOCOL_VERSION,
                    .rank = rank,
                    .world_size = sim->size,
                    .pid = 100 + rank,
                    .host = "h",
                    .address = "10.0.0.1:5",
                    .seed = 1,
                },
        });
    sim_expect(sim->epoch > 0, "no world");
}

void
coordinator_take(const struct sim_message *message)
{
    const uint64_t from = (uint64_t)message->from;
    const struct cluster_member_id member = {sim->epoch, from + 1};
    struct cluster_event event = {
        .client = from + 1,
        .ticket = TICKET_OTHERS + from + 1,
        .deadline_ns = UINT64_MAX,
    };

    if (message->kind == SIM_REPORT) {
        event.kind = CLUSTER_REPORT;
        event.report = (struct cluster_failure_report){
            .reporter = member,
            .rank = message->rank,
            .identity = identity_of_incarnation(message->rank + 1),
            .evidence = message->evidence,
            .slack_ms = message->slack_ms,
            .reason = message->why};
    } else if (message->kind == SIM_ANSWER) {
        event.kind = CLUSTER_RENEW;
        event.renewal =
            (struct cluster_member_renewal){.member = member,
                                            .question = message->question,
                                            .views = message->views,
                                            .n_views = message->n_views};
    } else if (message->kind == SIM_RENEW) {
        event.kind = CLUSTER_RENEW;
        event.member = member;
    } else {
        event.kind = CLUSTER_WATCH;
        event.ticket = from + 1;
        event.watch = (struct cluster_change_watch){
            sim->epoch, message->number, message->question, CLUSTER_NO_QUESTION,
            CLUSTER_NO_QUESTION};
        sim->is_watching[from] = true;
    }
    event_step(&event);
}

void
coordinator_tick(void)
{
    event_step(&(struct cluster_event){.kind = CLUSTER_TICK});
}
