/*
 * tests/sim/network_sim_worker.c - what a worker asks, and what it believes
 *
 * It joins, renews its lease, watches, counts in the store, accuses others,
 * leaves or dies, and begins anew. What the coordinator has said of it must be
 * what it was: each of its additions counts once.
 */

#include <string.h>

#include "network_sim.h"

static void
call_post(struct net *net, int index, const struct call *call)
{
    net_post(net,
             &(struct net_message){.kind = NET_MESSAGE_REQUEST,
                                   .worker = index,
                                   .connection = net->workers[index].connection,
                                   .request = call->request});
}

static void
call_begin(struct net *net,
           int index,
           unsigned which,
           const struct request *content,
           uint64_t wait_ms)
{
    struct worker *worker = &net->workers[index];
    struct call *call = &worker->calls[which];

    *call = (struct call){.is_open = true, .request = *content};
    call->request.id = ++net->id;
    call->request.deadline_ns = net->now_ns + wait_ms * NET_MS;
    call->request.life = worker->life;
    call->request.epoch = worker->epoch;
    call_post(net, index, call);
}

void
worker_break(struct net *net, int index)
{
    struct worker *worker = &net->workers[index];
    const uint64_t old = worker->connection;
    /* What had left by then still arrives. */
    const uint64_t until_ns = net->now_ns + net_random(net, 20 * NET_MS);

    for (size_t i = net->n_messages; i-- > 0;) {
        const struct net_message *net_message = &net->messages[i];

        if (net_message->worker == index && net_message->connection == old &&
            (net_message->kind == NET_MESSAGE_REPLY ||
             net_message->due_ns > until_ns))
            net->messages[i] = net->messages[--net->n_messages];
    }
    net_post(net, &(struct net_message){.kind = NET_MESSAGE_CLOSED,
                                        .worker = index,
                                        .connection = old});
    worker->connection++;
    worker->last_there_ns = 0;
    worker->last_back_ns = 0;
    for (unsigned i = 0; i < CALLS; i++)
        if (worker->calls[i].is_open)
            call_post(net, index, &worker->calls[i]);
}

/* This life is over: the next one has a connection of its own. */
static void
worker_end(struct net *net, int index)
{
    struct worker *worker = &net->workers[index];

    for (unsigned i = 0; i < CALLS; i++)
        worker->calls[i].is_open = false;
    worker->state = WORKER_IDLE;
    worker->wake_ns = net->now_ns + net_random(net, 200 * NET_MS);
    worker_break(net, index);
}

static void
worker_join(struct net *net, int index)
{
    struct worker *worker = &net->workers[index];

    if (net->life + 1 >= NET_LIVES)
        return;
    worker->life = ++net->life;
    worker->epoch = 0;
    worker->n_added = 0;
    worker->n_turns = 0;
    worker->is_deciding = false;
    worker->is_sure = true;
    worker->state = WORKER_JOINING;
    net->coordinator.lives[worker->life].job = worker->job;
    call_begin(net, index, CALL_MAIN, &(struct request){.kind = CLUSTER_JOIN},
               3000);
}

static void
worker_report(struct net *net, int index)
{
    struct worker *worker = &net->workers[index];
    const uint32_t rank = (uint32_t)net_random(net, NET_WORLD);

    if (rank == worker->rank)
        return;
    call_begin(net, index, CALL_MAIN,
               &(struct request){.kind = CLUSTER_REPORT,
                                 .accused_rank = rank,
                                 .accused = worker->lives[rank]},
               500);
}

/* Its turn, until that has ended. */
static void
worker_decide(struct net *net, int index)
{
    struct worker *worker = &net->workers[index];

    worker->is_deciding = true;
    call_begin(net, index, CALL_MAIN,
               &(struct request){.kind = CLUSTER_VOTE,
                                 .turn = worker->n_turns + 1,
                                 .rank = worker->rank},
               600);
}

/* Whatever it has just asked. */
static void
worker_leave(struct net *net, int index)
{
    net->workers[index].is_sure = false;
    call_begin(net, index, CALL_MAIN, &(struct request){.kind = CLUSTER_LEAVE},
               500);
}

static void
worker_act(struct net *net, int index)
{
    const uint64_t choice = net_random(net, 100);

    if (net->workers[index].is_deciding || choice >= 80)
        worker_decide(net, index);
    else if (choice < 40 || net->is_calm)
        call_begin(net, index, CALL_MAIN,
                   &(struct request){.kind = CLUSTER_STORE_ADD}, 500);
    else if (choice < 42)
        worker_report(net, index);
    else if (choice < 43)
        worker_leave(net, index);
    else if (choice < 45)
        worker_end(net, index);
}

/* It waits no longer than it said, by its own clock. */
static void
calls_expire(struct net *net, struct worker *worker)
{
    for (unsigned i = 0; i < CALLS; i++) {
        struct call *call = &worker->calls[i];

        if (!call->is_open || call->request.deadline_ns > net->now_ns)
            continue;
        call->is_open = false;
        if (call->request.kind == CLUSTER_STORE_ADD)
            worker->is_sure = false;
    }
}

void
worker_wake(struct net *net, int index)
{
    struct worker *worker = &net->workers[index];

    worker->wake_ns =
        net->now_ns +
        ((net->is_calm ? 200 : 20) + net_random(net, 60)) * NET_MS;
    calls_expire(net, worker);
    if (worker->state == WORKER_IDLE)
        worker_join(net, index);
    else if (!worker->calls[CALL_MAIN].is_open &&
             worker->state == WORKER_JOINING)
        worker_end(net, index);
    if (worker->state != WORKER_ACTIVE)
        return;
    if (!worker->calls[CALL_MAIN].is_open)
        worker_act(net, index);
    if (worker->state != WORKER_ACTIVE)
        return;
    if (!worker->calls[CALL_RENEW].is_open && worker->renew_ns <= net->now_ns) {
        worker->renew_ns = net->now_ns + NET_LEASE_NS / 3;
        call_begin(net, index, CALL_RENEW,
                   &(struct request){.kind = CLUSTER_RENEW}, 400);
    }
    if (!worker->calls[CALL_WATCH].is_open)
        call_begin(
            net, index, CALL_WATCH,
            &(struct request){.kind = CLUSTER_WATCH, .since = worker->seen},
            2000);
}

static void
worker_enter(struct net *net, int index, const struct answer *answer)
{
    struct worker *worker = &net->workers[index];
    const struct life *life = &net->coordinator.lives[worker->life];

    net_expect(net,
               life->epoch == answer->epoch && life->rank == answer->rank &&
                   answer->lives[answer->rank] == worker->life,
               "a world in which another has its place");
    worker->state = WORKER_ACTIVE;
    worker->epoch = answer->epoch;
    worker->rank = answer->rank;
    worker->seen = 1; /* that it formed */
    worker->renew_ns = net->now_ns + NET_LEASE_NS / 3;
    memcpy(worker->lives, answer->lives, sizeof(worker->lives));
}

static void
add_end(struct net *net, struct worker *worker, const struct answer *answer)
{
    if (answer->status != HOOP_OK) {
        worker->is_sure = false;
        return;
    }
    worker->n_added++;
    net->n_added++;
    /* Who is lost, and has not heard of it, may count in the next one's. */
    if (net->coordinator.lives[worker->life].end != LIFE_LASTS)
        worker->is_sure = false;
    net_expect(net, !worker->is_sure || answer->counter == worker->n_added,
               "an addition that counts twice, or not at all");
}

static void
answer_take(struct net *net,
            int index,
            enum cluster_event_kind kind,
            const struct answer *answer)
{
    struct worker *worker = &net->workers[index];
    const bool is_over = answer->status != HOOP_OK;

    if (kind == CLUSTER_JOIN && !is_over)
        worker_enter(net, index, answer);
    else if (kind == CLUSTER_VOTE && !is_over) {
        worker->n_turns++;
        worker->is_deciding = false;
    } else if (kind == CLUSTER_STORE_ADD)
        add_end(net, worker, answer);
    else if (kind == CLUSTER_LEAVE || (kind == CLUSTER_JOIN && is_over) ||
             (kind == CLUSTER_RENEW && is_over))
        worker_end(net, index);
    else if (kind == CLUSTER_WATCH && answer->revision > worker->seen)
        worker_leave(net, index); /* alone, it can do nothing */
}

void
worker_take(struct net *net, int index, const struct answer *answer)
{
    struct worker *worker = &net->workers[index];

    for (unsigned i = 0; i < CALLS; i++) {
        struct call *call = &worker->calls[i];

        if (!call->is_open || call->request.id != answer->id)
            continue;
        call->is_open = false;
        answer_take(net, index, call->request.kind, answer);
        return;
    }
}
