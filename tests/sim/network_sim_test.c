/*
 * tests/sim/network_sim_test.c - members and verdicts behind a bad network
 *
 * Two jobs of three workers each, for some seconds of virtual time in which
 * connections break, messages are late, workers are cut off, die and come back,
 * and the coordinator stands still, or dies and begins again from what it has
 * kept. Whatever happens, an epoch has one world, a
 * job no second one while the first lives, who was lost does not come back,
 * nothing that was asked twice is done twice, what a vote decides is the same
 * to all, and every wait ends. Then nothing goes wrong any more, and both jobs
 * must form. Every seed is a schedule: network_sim_test SEED plays one again,
 * network_sim_test FIRST LAST many.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network_sim.h"

enum {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    N_SEEDS = 400,
#else
    N_SEEDS = 2000,
#endif
    BAD_MS = 4000,
    CALM_MS = 12000,
    LIFE_MS = 300, /* of a coordinator, at least, and its double at most */
};

void
net_expect(const struct net *net, int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "seed %llu, after %.3f ms: %s\n",
            (unsigned long long)net->seed, (double)net->now_ns / 1e6, what);
    exit(EXIT_FAILURE);
}

uint64_t
net_random(struct net *net, uint64_t n)
{
    net->random ^= net->random << 13;
    net->random ^= net->random >> 7;
    net->random ^= net->random << 17;
    return (net->random >> 11) % n;
}

/* Mostly soon; now and then not. */
static uint64_t
delay_ns(struct net *net)
{
    if (!net->is_calm && net_random(net, 40) == 0)
        return net_random(net, 600 * NET_MS);
    return 100000 + net_random(net, 3 * NET_MS);
}

void
net_post(struct net *net, const struct net_message *net_message)
{
    struct worker *worker = &net->workers[net_message->worker];
    uint64_t *last_ns = net_message->kind == NET_MESSAGE_REPLY
                            ? &worker->last_back_ns
                            : &worker->last_there_ns;
    struct net_message *sent = &net->messages[net->n_messages];
    uint64_t due_ns = net->now_ns;

    /* A reply to a connection that is closed. */
    if (net_message->kind == NET_MESSAGE_REPLY &&
        net_message->connection != worker->connection)
        return;
    net_expect(net, net->n_messages < NET_MESSAGES, "too many letters");
    if (worker->cut_until_ns > due_ns)
        due_ns = worker->cut_until_ns;
    due_ns += delay_ns(net);
    if (due_ns <= *last_ns)
        due_ns = *last_ns + 1;
    *last_ns = due_ns;
    *sent = *net_message;
    sent->due_ns = due_ns;
    sent->order = ++net->order;
    net->n_messages++;
}

/* The coordinator dies, and with it all connections and answers under way. */
static void
coordinator_kill(struct net *net, uint64_t away_ms)
{
    coordinator_die(&net->coordinator);
    for (int i = 0; i < NET_WORKERS; i++)
        worker_break(net, i);
    net->coordinator.busy_until_ns =
        net->now_ns + net_random(net, away_ms * NET_MS);
}

static void
harm_do(struct net *net)
{
    const int index = (int)net_random(net, NET_WORKERS);
    struct worker *worker = &net->workers[index];

    switch (net_random(net, 13)) {
    case 0:
    case 1:
    case 2:
        worker_break(net, index);
        return;
    case 3: /* cut off */
        worker->cut_until_ns = net->now_ns + net_random(net, 2500 * NET_MS);
        return;
    case 4: /* stopped */
        worker->wake_ns = net->now_ns + net_random(net, 2500 * NET_MS);
        worker->cut_until_ns = worker->wake_ns;
        return;
    case 5:
        net->coordinator.busy_until_ns =
            net->now_ns + net_random(net, 1500 * NET_MS);
        return;
    case 6: /* its clock jumps: what it waits for is over */
        for (unsigned i = 0; i < CALLS; i++)
            worker->calls[i].request.deadline_ns = net->now_ns;
        return;
    case 7:
        coordinator_kill(net, 1500);
        return;
    default:
        return;
    }
}

/* The first net_message that is due by then, or NULL. */
static struct net_message *
next_message(struct net *net, uint64_t until_ns)
{
    struct net_message *next = NULL;

    for (size_t i = 0; i < net->n_messages; i++) {
        struct net_message *net_message = &net->messages[i];

        /* The coordinator stands still. */
        if (net_message->kind != NET_MESSAGE_REPLY &&
            net_message->due_ns < net->coordinator.busy_until_ns)
            net_message->due_ns = net->coordinator.busy_until_ns;
        if (net_message->due_ns <= until_ns &&
            (!next || net_message->due_ns < next->due_ns ||
             (net_message->due_ns == next->due_ns &&
              net_message->order < next->order)))
            next = net_message;
    }
    return next;
}

static void
command_execute(struct net *net, struct net_message *at)
{
    const struct net_message net_message = *at;

    *at = net->messages[--net->n_messages];
    if (net_message.kind != NET_MESSAGE_REPLY)
        coordinator_take(&net->coordinator, &net_message);
    else if (net_message.connection ==
             net->workers[net_message.worker].connection)
        worker_take(net, net_message.worker, &net_message.answer);
}

static uint64_t
tick_due_ns(const struct net *net)
{
    const uint64_t due_ns = cluster_next_deadline_ns(net->coordinator.cluster);

    return due_ns < net->coordinator.busy_until_ns
               ? net->coordinator.busy_until_ns
               : due_ns;
}

/* Whatever comes first. */
static void
net_move(struct net *net)
{
    uint64_t next_ns = tick_due_ns(net);
    int first = -1;

    for (int i = 0; i < NET_WORKERS; i++) {
        if (net->workers[i].wake_ns < next_ns) {
            next_ns = net->workers[i].wake_ns;
            first = i;
        }
    }
    struct net_message *net_message = next_message(net, next_ns);
    if (net_message)
        next_ns = net_message->due_ns;
    if (next_ns > net->now_ns)
        net->now_ns = next_ns;
    /* The core's time is due first, as its service has it. */
    if (net_message && net_message->kind != NET_MESSAGE_REPLY &&
        tick_due_ns(net) <= net->now_ns)
        coordinator_tick(&net->coordinator);
    else if (net_message)
        command_execute(net, net_message);
    else if (first >= 0)
        worker_wake(net, first);
    else
        coordinator_tick(&net->coordinator);
}

static void
net_calm(struct net *net)
{
    net->is_calm = true;
    net->coordinator.busy_until_ns = 0;
    for (int i = 0; i < NET_WORKERS; i++)
        net->workers[i].cut_until_ns = 0;
}

static void
net_end(struct net *net)
{
    for (int i = 0; i < NET_WORKERS; i++) {
        const struct worker *worker = &net->workers[i];

        net_expect(net,
                   worker->state == WORKER_ACTIVE &&
                       worker->epoch == net->coordinator.epochs[worker->job] &&
                       net->coordinator.lives[worker->life].end == LIFE_LASTS,
                   "a job does not form although nothing is wrong");
    }
    coordinator_drain(&net->coordinator);
    coordinator_close(&net->coordinator);
}

static void
net_play(struct net *net, uint64_t seed)
{
    uint64_t harm_ns;

    memset(net, 0, sizeof(*net));
    net->seed = seed;
    net->random = seed * 0x9e3779b97f4a7c15U + 1;
    net->now_ns = 1 + net_random(net, NET_LEASE_NS);
    const uint64_t begin_ns = net->now_ns;
    harm_ns = begin_ns;
    coordinator_open(&net->coordinator, net);
    for (int i = 0; i < NET_WORKERS; i++) {
        net->workers[i].job = i % NET_JOBS;
        net->workers[i].connection = 1;
        net->workers[i].wake_ns = begin_ns + net_random(net, 50 * NET_MS);
    }
    while (net->now_ns < begin_ns + BAD_MS * NET_MS) {
        net_move(net);
        if (net->now_ns >= harm_ns) {
            harm_do(net);
            harm_ns = net->now_ns + net_random(net, 80 * NET_MS);
        }
    }
    net_calm(net);
    /* Of every eighth schedule one thing goes on: no life of the coordinator is
     * as long as a lease. */
    harm_ns = seed % 8 == 1 ? net->now_ns : UINT64_MAX;
    while (net->now_ns < begin_ns + (BAD_MS + CALM_MS) * NET_MS) {
        net_move(net);
        if (net->now_ns >= harm_ns) {
            coordinator_kill(net, 100);
            harm_ns =
                net->now_ns + (LIFE_MS + net_random(net, LIFE_MS)) * NET_MS;
        }
    }
    net_end(net);
}

int
main(int n_arguments, char **arguments)
{
    struct net *net = calloc(1, sizeof(*net));
    uint64_t first = 1;
    uint64_t last = N_SEEDS;
    uint64_t n_worlds = 0;
    uint64_t n_lost = 0;
    uint64_t n_repeated = 0;
    uint64_t n_added = 0;
    uint64_t n_outcomes = 0;
    uint64_t n_deaths = 0;

    if (!net)
        return EXIT_FAILURE;
    if (n_arguments > 1)
        first = last = strtoull(arguments[1], NULL, 10);
    if (n_arguments > 2)
        last = strtoull(arguments[2], NULL, 10);
    for (uint64_t seed = first; seed <= last; seed++) {
        net_play(net, seed);
        n_worlds += net->coordinator.n_worlds;
        n_lost += net->coordinator.n_lost;
        n_repeated += net->coordinator.n_repeated;
        n_added += net->n_added;
        n_outcomes += net->coordinator.n_outcomes;
        n_deaths += net->coordinator.n_deaths;
    }
    printf("%llu seeds: %llu worlds, %llu lost, %llu additions, %llu asked "
           "again, %llu votes, %llu deaths of the coordinator\n",
           (unsigned long long)(last - first + 1), (unsigned long long)n_worlds,
           (unsigned long long)n_lost, (unsigned long long)n_added,
           (unsigned long long)n_repeated, (unsigned long long)n_outcomes,
           (unsigned long long)n_deaths);
    free(net);

    /* A simulation in which nothing happens proves nothing. */
    return n_worlds && n_added && n_outcomes &&
                   (n_arguments > 1 || (n_lost && n_repeated))
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
