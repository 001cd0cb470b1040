/* tests/sim/cluster_model.c - the members' half of the model */

#include "cluster_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const model_job_names[MODEL_JOBS] = {"a", "b", "c"};

void
model_expect(const struct model *model, int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr,
            "cluster_sim: %s: step %llu at %.9f s; replay with seed %llu\n",
            what, (unsigned long long)model->n_steps,
            (double)model->now_ns / 1e9, (unsigned long long)model->seed);
    abort();
}

static unsigned int
job_index(const struct model *model, const char *name)
{
    for (unsigned int i = 0; i < MODEL_JOBS; i++)
        if (strcmp(model_job_names[i], name) == 0)
            return i;
    model_expect(model, false, "a job that nobody named");
    return 0;
}

bool
model_job_exists(const struct model *model, unsigned int job)
{
    for (int i = 0; i < MODEL_CLIENTS; i++) {
        const struct model_client *client = &model->clients[i];

        if (client->job == job &&
            (client->state == CLIENT_JOINING || client->state == CLIENT_ACTIVE))
            return true;
    }
    return false;
}

/* Its name is free again, its store gone; its last watchers are told yet. */
static void
jobs_end(struct model *model)
{
    for (unsigned int i = 0; i < MODEL_JOBS; i++) {
        struct model_job *job = &model->jobs[i];

        if (model_job_exists(model, i))
            continue;
        job->epoch = 0;
        job->revision = 0;
        memset(job->keys, 0, sizeof(job->keys));
    }
}

static struct model_client *
client_find(struct model *model, uint64_t epoch, uint32_t rank)
{
    for (int i = 0; i < MODEL_CLIENTS; i++) {
        struct model_client *client = &model->clients[i];

        if (client->state == CLIENT_ACTIVE && client->epoch == epoch &&
            client->rank == rank)
            return client;
    }
    model_expect(model, false, "a member that is none");
    return NULL;
}

static void
member_end(struct model *model,
           const struct cluster_log_notice *notice,
           enum cluster_membership_change_kind kind)
{
    struct model_client *client =
        client_find(model, notice->epoch, notice->rank);
    struct model_job *job = &model->jobs[client->job];

    if (kind == CLUSTER_CHANGE_LOST) {
        const bool is_over =
            model->now_ns >= client->acknowledged_ns + model->lease_ns;

        model_expect(model,
                     strstr(notice->text, "reported by") ? client->is_accused
                                                         : is_over,
                     "a member is lost before its lease expired");
        model->n_lost++;
    }
    model_groups_leave(model, client);
    client->state = CLIENT_GONE;
    job->changes[job->n_changes].kind = kind;
    job->changes[job->n_changes].rank = notice->rank;
    job->n_changes++;
}

void
model_notice(struct model *model, const struct cluster_log_notice *notice)
{
    if (notice->kind == CLUSTER_NOTICE_LOST)
        member_end(model, notice, CLUSTER_CHANGE_LOST);
    if (notice->kind == CLUSTER_NOTICE_LEFT)
        member_end(model, notice, CLUSTER_CHANGE_LEFT);
    if (notice->kind == CLUSTER_NOTICE_ENDED)
        model_expect(model,
                     !model_job_exists(model, job_index(model, notice->job)),
                     "a job has ended that has members");
    if (notice->kind == CLUSTER_NOTICE_STEPPED_LATE)
        model_expect(model, model->may_be_late, "nobody was late");
    jobs_end(model);
}

/* Without requests the ring leaves each of several hosts once. */
static void
hosts_check(const struct model *model,
            const struct model_client *const *ranks,
            uint32_t size)
{
    unsigned int hosts = 0;
    unsigned int n_crossings = 0;

    for (uint32_t rank = 0; rank < size; rank++) {
        if (ranks[rank]->requested != CLUSTER_RANK_ANY)
            return;
        hosts |= 1U << ranks[rank]->host;
        n_crossings += ranks[rank]->host != ranks[(rank + 1) % size]->host;
    }

    const unsigned int n_hosts = (unsigned int)__builtin_popcount(hosts);

    model_expect(model, n_crossings == (n_hosts > 1 ? n_hosts : 0),
                 "ring neighbours are apart without need");
}

/* The rank requested, if there is one such. */
static bool
rank_will_do(const struct model_client *client, uint32_t size)
{
    if (client->requested == CLUSTER_RANK_ANY ||
        client->requested == client->rank)
        return true;
    return client->requested >= size && client->least_accepted_rank &&
           client->rank >= client->least_accepted_rank;
}

static void
world_enter(struct model *model,
            unsigned int job,
            const struct cluster_join_result *world)
{
    const struct model_client *ranks[MODEL_CLIENTS] = {0};

    model_expect(model, world->epoch > model->epoch_last, "an epoch again");
    model_expect(model, world->size <= MODEL_CLIENTS, "too large a world");
    for (int i = 0; i < MODEL_CLIENTS; i++) {
        struct model_client *client = &model->clients[i];

        if (client->job != job || client->state != CLIENT_JOINING)
            continue;
        for (uint32_t rank = 0; rank < world->size; rank++)
            if (world->roster[rank].incarnation == client->incarnation) {
                model_expect(model, !ranks[rank], "a rank twice");
                model_expect(model, world->roster[rank].rank == rank,
                             "a roster out of order");
                ranks[rank] = client;
                client->rank = rank;
                client->epoch = world->epoch;
            }
        model_expect(model, client->epoch == world->epoch,
                     "a world without one who waits for it");
        model_expect(model, rank_will_do(client, world->size),
                     "not the rank requested");
        client->state = CLIENT_ACTIVE;
        client->acknowledged_ns = model->now_ns;
        client->seen = 0;
        client->is_accused = false;
    }
    for (uint32_t rank = 0; rank < world->size; rank++)
        model_expect(model, ranks[rank] != NULL, "a rank is nobody's");
    hosts_check(model, ranks, world->size);
    model->epoch_last = world->epoch;
    model->jobs[job].epoch = world->epoch;
    model->jobs[job].size = world->size;
    model->jobs[job].changes[0].kind = CLUSTER_CHANGE_FORMED;
    model->jobs[job].changes[0].rank = world->size;
    model->jobs[job].n_changes = 1;
    model->n_worlds++;
}

/* A retry that is refused does not end the join that it repeats. */
static bool
join_is_open(const struct model *model, int client)
{
    for (int i = 0; i < MODEL_TICKETS; i++)
        if (model->tickets[i].is_open && model->tickets[i].client == client &&
            model->tickets[i].event.kind == CLUSTER_JOIN)
            return true;
    return false;
}

static void
join_reply(struct model *model,
           const struct model_ticket *ticket,
           const struct cluster_reply *reply)
{
    struct model_client *client = &model->clients[ticket->client];
    const struct cluster_join *join = &ticket->event.join;
    const struct model_job *job = &model->jobs[ticket->job];
    const bool is_its = join->incarnation == client->incarnation;

    if (strcmp(ticket->event.token, "t") != 0)
        model_expect(model, reply->status == HOOP_E_UNAUTHENTICATED,
                     "a wrong token is good enough");
    else if (join->protocol_version != CLUSTER_PROTOCOL_VERSION)
        model_expect(model, reply->status == HOOP_E_PRECONDITION,
                     "a wrong version is good enough");
    if (reply->status == HOOP_OK) {
        if (job->epoch != reply->world.epoch)
            world_enter(model, ticket->job, &reply->world);
        model_expect(model,
                     is_its && client->state == CLIENT_ACTIVE &&
                         client->rank == reply->world.rank &&
                         client->epoch == reply->world.epoch,
                     "a world for another");
        return;
    }
    if (reply->status == HOOP_E_CANCELLED)
        return;
    if (strstr(reply->text, "is full"))
        model_expect(model, job->epoch && model_job_exists(model, ticket->job),
                     "full, but nobody is there");
    if (reply->status == HOOP_E_TIMEOUT)
        model_expect(model, strstr(reply->text, "missing") != NULL,
                     "nobody says what is missing");
    if (is_its && client->state == CLIENT_JOINING &&
        !join_is_open(model, ticket->client))
        client->state = CLIENT_IDLE;
}

static void
watch_reply(struct model *model,
            const struct model_ticket *ticket,
            const struct cluster_membership_changes *seen)
{
    const struct model_job *job = &model->jobs[ticket->job];
    struct model_client *client = &model->clients[ticket->client];

    for (size_t i = 0; i < seen->n_items; i++) {
        const struct cluster_membership_change *change = &seen->items[i];

        model_expect(model,
                     change->revision == ticket->event.watch.since + i + 1,
                     "a watch missed a change");
        model_expect(model, change->revision <= job->n_changes,
                     "a change that never was");
        model_expect(model,
                     change->kind == job->changes[change->revision - 1].kind &&
                         change->rank ==
                             job->changes[change->revision - 1].rank,
                     "another change than was");
        model->n_seen++;
    }
    if (client->epoch != job->epoch)
        return;
    client->seen = seen->revision;
    if (seen->activity_query != 0)
        client->query = seen->activity_query;
}

static void
member_reply(struct model *model,
             const struct model_ticket *ticket,
             const struct cluster_reply *reply)
{
    struct model_client *client = &model->clients[ticket->client];

    if (reply->kind == CLUSTER_REPLY_CHANGES)
        watch_reply(model, ticket, &reply->changes);
    if (ticket->event.kind != CLUSTER_RENEW)
        return;
    model_expect(model,
                 (reply->status == HOOP_OK) == (client->state == CLIENT_ACTIVE),
                 "a renewal of the dead, or none of the living");
    if (reply->status == HOOP_OK)
        client->acknowledged_ns = model->now_ns;
}

/* Of each member what it is in, or why that is not known. */
static void
job_reply(struct model *model,
          const struct model_ticket *ticket,
          const struct cluster_reply *reply)
{
    const struct cluster_job_detail *job = &reply->job;

    if (reply->status != HOOP_OK) {
        model_expect(model,
                     reply->status == HOOP_E_UNAVAILABLE
                         ? model->is_drained
                         : reply->status == HOOP_E_NOT_FOUND &&
                               !model_job_exists(model, ticket->job),
                     "a job that is there is not shown");
        return;
    }
    for (size_t i = 0; job->activities && i < job->n_members; i++) {
        const struct cluster_member_activity *activity = &job->activities[i];

        model_expect(model, !activity->silence[0] || !activity->call[0],
                     "a member has told, and has not");
        model_expect(model,
                     job->members[i].state == CLUSTER_MEMBER_ACTIVE ||
                         activity->silence[0],
                     "a member has told that has ended");
        model->n_told += !activity->silence[0];
    }
}

void
model_reply(struct model *model, const struct cluster_reply *reply)
{
    struct model_ticket *ticket =
        &model->tickets[reply->ticket % MODEL_TICKETS];

    model_expect(model,
                 ticket->is_open && ticket->event.ticket == reply->ticket,
                 "a reply that nobody waits for");
    ticket->is_open = false;
    if (ticket->event.kind == CLUSTER_JOIN)
        join_reply(model, ticket, reply);
    else if (ticket->event.kind == CLUSTER_JOB)
        job_reply(model, ticket, reply);
    else if (ticket->event.kind >= CLUSTER_STORE_SET)
        model_store_reply(model, ticket, reply);
    else if (ticket->event.kind >= CLUSTER_GROUP_CREATE)
        model_group_reply(model, ticket, reply);
    else
        member_reply(model, ticket, reply);
    jobs_end(model);
}

static void
leases_check(const struct model *model)
{
    for (int i = 0; i < MODEL_CLIENTS; i++)
        model_expect(model,
                     model->clients[i].state != CLIENT_ACTIVE ||
                         model->clients[i].acknowledged_ns + model->lease_ns >
                             model->now_ns,
                     "a member is kept behind its lease");
}

void
model_check(const struct model *model, const struct cluster_counters *counters)
{
    uint64_t n_open = 0;
    uint64_t n_members = 0;
    uint64_t n_keys = 0;
    uint64_t n_jobs = 0;

    for (int i = 0; i < MODEL_TICKETS; i++) {
        const struct model_ticket *ticket = &model->tickets[i];

        if (!ticket->is_open)
            continue;
        n_open++;
        model_expect(model, ticket->event.deadline_ns > model->now_ns,
                     "a request is overdue");
        model_expect(model, !model_wait_is_over(model, ticket),
                     "a wait is forgotten");
        model_expect(model, !model_group_is_over(model, ticket),
                     "a group does not form");
    }
    for (int i = 0; i < MODEL_CLIENTS; i++)
        n_members += model->clients[i].state == CLIENT_JOINING ||
                     model->clients[i].state == CLIENT_ACTIVE;
    for (unsigned int i = 0; i < MODEL_JOBS; i++) {
        n_jobs += model_job_exists(model, i);
        for (int key = 0; key < MODEL_KEYS; key++)
            n_keys += model->jobs[i].keys[key].exists;
    }
    if (!model->may_be_late)
        leases_check(model);
    model_expect(model, counters->waiters == n_open, "not all who wait");
    model_expect(model, counters->members == n_members, "not all members");
    model_expect(model, counters->jobs == n_jobs, "not all jobs");
    model_expect(model, counters->keys == n_keys, "not all keys");
    model_expect(model, n_keys || !counters->store_bytes, "bytes of no key");
}
