/*
 * tests/sim/cluster_sim_test.c - random clients against a coordinator and a
 * model
 *
 * Workers join (late, twice, with a wrong token or version), renew, die, leave
 * and report each other, form groups and leave them, while the store is
 * written, watched and waited for, and while it is asked what they are in.
 * cluster_model.c says what must come of it. Time is virtual; every seed is a
 * schedule: cluster_sim_test SEED plays one again.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/identity.h"
#include "base/random.h"
#include "cluster_sim.h"

enum {
    N_SEEDS = 400,
    N_STEPS = 500,
};

uint64_t
sim_random(struct sim *sim, uint64_t n)
{
    sim->random ^= sim->random << 13;
    sim->random ^= sim->random >> 7;
    sim->random ^= sim->random << 17;
    return (sim->random >> 11) % n;
}

void
sim_step(struct sim *sim, const struct cluster_event *event)
{
    struct model *model = &sim->model;
    struct cluster_event stamped = *event;

    stamped.now_ns = model->now_ns;
    model->n_steps++;
    model_expire(model);

    const struct cluster_actions actions = cluster_step(sim->cluster, &stamped);

    for (size_t i = 0; i < actions.n_items; i++)
        if (actions.items[i].kind == CLUSTER_REPLY)
            model_reply(model, &actions.items[i].reply);
        else
            model_notice(model, &actions.items[i].notice);
    model_check(model, cluster_counters(sim->cluster));
    model_expect(model, cluster_next_deadline_ns(sim->cluster) > model->now_ns,
                 "something due is left");
}

/* The service steps whenever something is due, unless it is held up. */
static void
sim_advance(struct sim *sim, uint64_t ns)
{
    const struct cluster_event tick = {.kind = CLUSTER_TICK};
    const uint64_t until_ns = sim->model.now_ns + ns;
    const bool is_held_up = sim->model.may_be_late && !sim->model.is_drained &&
                            sim_random(sim, 50) == 0;

    while (!is_held_up && cluster_next_deadline_ns(sim->cluster) <= until_ns) {
        sim->model.now_ns = cluster_next_deadline_ns(sim->cluster);
        sim_step(sim, &tick);
    }
    sim->model.now_ns =
        until_ns + (is_held_up ? sim_random(sim, 2000000000) : 0);
    sim_step(sim, &tick);
}

struct model_ticket *
ticket_open(struct sim *sim, unsigned int job, int client)
{
    struct model_ticket *ticket =
        &sim->model.tickets[++sim->ticket % MODEL_TICKETS];

    model_expect(&sim->model, !ticket->is_open, "too many requests are open");
    *ticket =
        (struct model_ticket){.is_open = true, .job = job, .client = client};
    ticket->event.ticket = sim->ticket;
    ticket->event.client = (uint64_t)client;
    ticket->event.deadline_ns =
        sim->model.now_ns + 1 + sim_random(sim, 1500000000);
    ticket->event.job = model_job_names[job];
    ticket->event.token = "t";
    return ticket;
}

static struct model_ticket *
ticket_of(struct sim *sim, int client, enum cluster_event_kind kind)
{
    for (int i = 0; i < MODEL_TICKETS; i++) {
        struct model_ticket *ticket = &sim->model.tickets[i];

        if (ticket->is_open && ticket->client == client &&
            ticket->event.kind == kind)
            return ticket;
    }
    return NULL;
}

static void
join_send(struct sim *sim, int index)
{
    static const char *const hosts[] = {"x", "y", "z"};
    struct model_client *client = &sim->model.clients[index];
    struct model_ticket *ticket = ticket_open(sim, client->job, index);
    /* Job a has a fixed size, b a range, c what the coordinator says. */
    static const uint32_t sizes[MODEL_JOBS] = {3, 5, 0};

    ticket->event.kind = CLUSTER_JOIN;
    ticket->event.join = (struct cluster_join){
        .incarnation = client->incarnation,
        .protocol_version =
            CLUSTER_PROTOCOL_VERSION + (sim_random(sim, 40) == 0),
        .rank = client->requested,
        .least_accepted_rank = client->least_accepted_rank,
        .world_size = sizes[client->job] + (sim_random(sim, 40) == 0),
        .size_min = client->job == 1 ? 2 : 0,
        .settle_ms = client->job == 1 ? 100 : 0,
        .pid = (uint32_t)index,
        .host = hosts[client->host],
        .address = "10.0.0.1:5",
        .seed = sim_random(sim, UINT64_MAX),
    };
    if (sim_random(sim, 30) == 0 && model_job_exists(&sim->model, client->job))
        ticket->event.token = "wrong";
    if (client->state == CLIENT_IDLE)
        client->state = CLIENT_JOINING;
    sim_step(sim, &ticket->event);
}

static void
client_join(struct sim *sim, int index)
{
    struct model_client *client = &sim->model.clients[index];

    *client = (struct model_client){
        .job = (unsigned int)sim_random(sim, MODEL_JOBS),
        .incarnation = ++sim->incarnation,
        .requested = sim_random(sim, 4) ? CLUSTER_RANK_ANY
                                        : (uint32_t)sim_random(sim, 4),
        .host = (unsigned int)sim_random(sim, 3),
    };
    if (client->requested != CLUSTER_RANK_ANY && client->requested > 0)
        client->least_accepted_rank =
            (uint32_t)sim_random(sim, client->requested + 1);
    join_send(sim, index);
}

static void
client_vanish(struct sim *sim, int index)
{
    const struct cluster_event event = {.kind = CLUSTER_DISCONNECT,
                                        .client = (uint64_t)index};

    for (int i = 0; i < MODEL_TICKETS; i++)
        if (sim->model.tickets[i].client == index)
            sim->model.tickets[i].is_open = false;
    if (sim->model.clients[index].state == CLIENT_JOINING)
        sim->model.clients[index].state = CLIENT_IDLE;
    sim_step(sim, &event);
}

static void
client_wait(struct sim *sim, int index)
{
    const uint64_t choice = sim_random(sim, 100);

    if (choice < 4) {
        client_vanish(sim, index);
    } else if (choice < 8) {
        join_send(sim, index);
    } else if (choice < 10) {
        struct model_ticket *ticket = ticket_of(sim, index, CLUSTER_JOIN);
        struct cluster_event event = {.kind = CLUSTER_CANCEL,
                                      .ticket = ticket->event.ticket};

        ticket->is_open = false;
        sim->model.clients[index].state = CLIENT_IDLE;
        sim_step(sim, &event);
    }
}

static void
member_send(struct sim *sim, int index, enum cluster_event_kind kind)
{
    const struct model_client *client = &sim->model.clients[index];
    struct model_ticket *ticket = ticket_open(sim, client->job, index);

    ticket->event.kind = kind;
    ticket->event.member = (struct cluster_member_id){
        .epoch = client->epoch, .incarnation = client->incarnation};
    if (kind == CLUSTER_RENEW) {
        ticket->event.renewal.activity_query = client->query;
        ticket->event.renewal.activity = (struct cluster_member_activity){
            .call = sim_random(sim, 2) ? "scan" : "",
            .communicator = "",
            .waits_for = "rank 0"};
    }
    sim_step(sim, &ticket->event);
}

/* What is everybody in? */
static void
activity_send(struct sim *sim, int index)
{
    if (ticket_of(sim, index, CLUSTER_JOB))
        return;

    struct model_ticket *ticket =
        ticket_open(sim, sim->model.clients[index].job, index);

    ticket->event.kind = CLUSTER_JOB;
    ticket->event.view = CLUSTER_VIEW_ACTIVITY;
    sim_step(sim, &ticket->event);
}

static void
watch_send(struct sim *sim, int index)
{
    const struct model_client *client = &sim->model.clients[index];

    if (ticket_of(sim, index, CLUSTER_WATCH))
        return;

    struct model_ticket *ticket = ticket_open(sim, client->job, index);

    ticket->event.kind = CLUSTER_WATCH;
    ticket->event.watch =
        (struct cluster_change_watch){.epoch = client->epoch,
                                      .since = client->seen,
                                      .activity_query = client->query,
                                      .question = CLUSTER_NO_QUESTION};
    sim_step(sim, &ticket->event);
}

static void
report_send(struct sim *sim, int index)
{
    const struct model_client *client = &sim->model.clients[index];
    struct model_client *accused =
        &sim->model.clients[sim_random(sim, MODEL_CLIENTS)];

    if (accused == client || accused->epoch != client->epoch)
        return;

    struct model_ticket *ticket = ticket_open(sim, client->job, index);

    accused->is_accused = true;
    ticket->event.kind = CLUSTER_REPORT;
    ticket->event.report = (struct cluster_failure_report){
        .reporter = {client->epoch, client->incarnation},
        .rank = accused->rank,
        .identity = identity_of_incarnation(accused->incarnation),
        .reason = "reset",
    };
    sim_step(sim, &ticket->event);
}

static void
write_fill(struct sim *sim, struct model_ticket *ticket)
{
    const struct model_key *key =
        &sim->model.jobs[ticket->job].keys[ticket->keys[0]];
    struct cluster_store_write *write = &ticket->event.write;

    snprintf(ticket->value, sizeof(ticket->value), "%u",
             (unsigned int)sim_random(sim, 5));
    snprintf(ticket->expected, sizeof(ticket->expected), "%s",
             sim_random(sim, 2) ? key->value : "7");
    *write = (struct cluster_store_write){
        .key = ticket->key_texts[0],
        .value = ticket->value,
        .n_bytes = strlen(ticket->value),
        .ttl_ms = sim_random(sim, 3) ? 0 : 1 + sim_random(sim, 400),
        .delta = (int64_t)sim_random(sim, 9) - 4,
        .expect =
            sim_random(sim, 2) ? CLUSTER_EXPECT_VALUE : CLUSTER_EXPECT_ABSENT,
        .expected = ticket->expected,
        .n_expected = strlen(ticket->expected),
    };
}

static void
scan_fill(struct sim *sim, struct model_ticket *ticket)
{
    static const char *const prefixes[] = {"", "k/", "m/1"};
    const uint64_t revision = sim->model.jobs[ticket->job].revision;
    const uint64_t back = sim_random(sim, 20);

    ticket->event.scan = (struct cluster_store_scan){
        .prefix = prefixes[sim_random(sim, 3)],
        .n_max = (uint32_t)sim_random(sim, 4),
        .since = revision > back ? revision - back : 0,
    };
    if (ticket->event.kind == CLUSTER_STORE_WATCH && sim_random(sim, 2))
        ticket->event.scan.since = revision;
}

static void
store_send(struct sim *sim, int index)
{
    static const enum cluster_event_kind kinds[] = {
        CLUSTER_STORE_SET,  CLUSTER_STORE_ADD,   CLUSTER_STORE_SWAP,
        CLUSTER_STORE_GET,  CLUSTER_STORE_WAIT,  CLUSTER_STORE_DELETE,
        CLUSTER_STORE_LIST, CLUSTER_STORE_WATCH, CLUSTER_STORE_WAIT,
    };
    struct model_ticket *ticket =
        ticket_open(sim, sim->model.clients[index].job, index);

    ticket->event.kind = kinds[sim_random(sim, sizeof(kinds) / sizeof(*kinds))];
    for (int i = 0; i < 2; i++) {
        ticket->keys[i] = (unsigned int)sim_random(sim, MODEL_KEYS);
        ticket->key_texts[i] = model_keys[ticket->keys[i]];
    }
    if (ticket->event.kind <= CLUSTER_STORE_SWAP)
        write_fill(sim, ticket);
    else if (ticket->event.kind <= CLUSTER_STORE_DELETE)
        ticket->event.keys =
            (struct cluster_store_keys){.keys = ticket->key_texts, .n_keys = 2};
    else
        scan_fill(sim, ticket);
    sim_step(sim, &ticket->event);
}

static void
member_act(struct sim *sim, int index)
{
    const uint64_t choice = sim_random(sim, 100);

    if (sim->model.clients[index].is_dead)
        return;
    if (choice < 35)
        member_send(sim, index, CLUSTER_RENEW);
    else if (choice < 40)
        member_send(sim, index, CLUSTER_LEAVE);
    else if (choice < 42)
        sim->model.clients[index].is_dead = true;
    else if (choice < 44)
        report_send(sim, index);
    else if (choice < 46)
        client_vanish(sim, index);
    else if (choice < 48)
        join_send(sim, index);
    else if (choice < 60)
        watch_send(sim, index);
    else if (choice < 64)
        activity_send(sim, index);
    else if (choice < 80)
        group_send(sim, index);
    else
        store_send(sim, index);
}

static void
client_act(struct sim *sim, int index)
{
    switch (sim->model.clients[index].state) {
    case CLIENT_IDLE:
        client_join(sim, index);
        return;
    case CLIENT_JOINING:
        client_wait(sim, index);
        return;
    case CLIENT_ACTIVE:
        member_act(sim, index);
        return;
    case CLIENT_GONE:
        if (sim_random(sim, 3) == 0)
            member_send(sim, index, CLUSTER_RENEW);
        else
            sim->model.clients[index].state = CLIENT_IDLE;
        return;
    }
}

/* Everybody who still waits is answered; then the last members are lost. */
static void
sim_end(struct sim *sim)
{
    const struct cluster_event drain = {.kind = CLUSTER_DRAIN};

    sim->model.is_drained = true;
    sim_step(sim, &drain);
    for (int i = 0; i < MODEL_TICKETS; i++)
        model_expect(&sim->model, !sim->model.tickets[i].is_open,
                     "a request was never answered");
    for (int i = 0; i < 3; i++)
        sim_advance(sim, sim->model.lease_ns);
    model_expect(&sim->model, cluster_counters(sim->cluster)->jobs == 0,
                 "a job without members lives on");
    model_expect(&sim->model,
                 cluster_next_deadline_ns(sim->cluster) == UINT64_MAX,
                 "a deadline is left behind");
}

static void
sim_play(struct sim *sim, uint64_t seed)
{
    *sim = (struct sim){.random = seed * 0x9e3779b97f4a7c15U + 1};
    sim->model.seed = seed;
    sim->model.lease_ns = 1000000000;
    sim->model.now_ns = 1 + sim_random(sim, 1000000000);
    sim->model.may_be_late = seed % 4 == 0;

    const struct cluster_options options = {
        .token = seed % 2 ? "t" : NULL,
        .world_size = seed % 3 ? 4 : 0,
        .size_min = seed % 3 == 1 ? 2 : 0,
        .settle_ms = 150,
        .lease_ms = 1000,
    };

    if (cluster_create(&options, &sim->cluster) != HOOP_OK)
        abort();
    for (int step = 0; step < N_STEPS; step++) {
        const uint64_t pause = sim_random(sim, 40) ? sim_random(sim, 20000000)
                                                   : sim_random(sim, 400000000);

        sim_advance(sim, pause);
        client_act(sim, (int)sim_random(sim, MODEL_CLIENTS));
    }
    sim_end(sim);
    cluster_destroy(sim->cluster);
}

int
main(int n_arguments, char **arguments)
{
    struct sim *sim = calloc(1, sizeof(*sim));
    uint64_t first = 1;
    uint64_t last = N_SEEDS;
    uint64_t n_worlds = 0;
    uint64_t n_lost = 0;
    uint64_t n_store = 0;
    uint64_t n_seen = 0;
    uint64_t n_formed = 0;
    uint64_t n_told = 0;

    if (!sim)
        return EXIT_FAILURE;
    if (n_arguments > 1)
        first = last = strtoull(arguments[1], NULL, 10);
    for (uint64_t seed = first; seed <= last; seed++) {
        sim_play(sim, seed);
        n_worlds += sim->model.n_worlds;
        n_lost += sim->model.n_lost;
        n_store += sim->model.n_store;
        n_seen += sim->model.n_seen;
        n_formed += sim->model.n_formed;
        n_told += sim->model.n_told;
    }
    printf("%llu seeds: %llu worlds, %llu lost, %llu store calls, %llu "
           "changes seen, %llu groups formed, %llu activities told\n",
           (unsigned long long)(last - first + 1), (unsigned long long)n_worlds,
           (unsigned long long)n_lost, (unsigned long long)n_store,
           (unsigned long long)n_seen, (unsigned long long)n_formed,
           (unsigned long long)n_told);
    free(sim);

    /* A simulation in which nothing happens proves nothing. */
    return n_worlds && n_lost && n_store && n_seen && n_formed && n_told
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
