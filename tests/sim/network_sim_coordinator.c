/*
 * tests/sim/network_sim_coordinator.c - the coordinator's machine, and what it
 * may do
 *
 * As rpc/rpc_server.c and service/service.c have it: who asks again what
 * changes something is answered as before, who has closed the connection waits
 * no more; and what a step has changed is kept, to begin again from it. What
 * the core says is compared with what it said before.
 */

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/identity.h"
#include "base/random.h"
#include "network_sim.h"

/* What the clock on the wall shows more. */
static const uint64_t WALL_NS = 1000000000000000;

static const char *const job_names[NET_JOBS] = {"a", "b"};

static void
record_keep(struct coordinator *coordinator,
            const struct cluster_journal_record *record)
{
    const struct disk_bytes key = {record->key, record->n_key_bytes};

    if (record->kind == CLUSTER_RECORD_PUT)
        disk_put(&coordinator->disk, DISK_CORE, key,
                 (struct disk_bytes){record->value, record->n_value_bytes});
    else
        disk_erase(&coordinator->disk, DISK_CORE, key);
}

static void
reply_put(void *owner, struct message_span key, struct message_span value)
{
    disk_put(owner, DISK_REPLIES, (struct disk_bytes){key.bytes, key.n_bytes},
             (struct disk_bytes){value.bytes, value.n_bytes});
}

static void
reply_erase(void *owner, struct message_span key)
{
    disk_erase(owner, DISK_REPLIES,
               (struct disk_bytes){key.bytes, key.n_bytes});
}

/* From what is kept, of which there may be nothing. */
static void
cluster_wake_up(struct coordinator *coordinator)
{
    const struct cluster_options options = {
        .lease_ms = 1000,
        .keeps_records = true,
        .now_ns = coordinator->net->now_ns,
        .wall_offset_ns = WALL_NS,
    };
    const struct disk_row *row;
    size_t index = 0;

    if (cluster_create(&options, &coordinator->cluster) != HOOP_OK)
        abort();
    while ((row = disk_next(&coordinator->disk, DISK_CORE, &index)))
        net_expect(
            coordinator->net,
            cluster_recover_record(coordinator->cluster,
                                   &(struct cluster_journal_record){
                                       .key = row->key + 1,
                                       .n_key_bytes = row->n_key_bytes - 1,
                                       .value = row->value,
                                       .n_value_bytes = row->n_value_bytes,
                                   }) == HOOP_OK,
            error_text());
    net_expect(coordinator->net,
               cluster_recovery_finish(coordinator->cluster) == HOOP_OK,
               "records that do not fit each other");
}

static void
cache_wake_up(struct coordinator *coordinator)
{
    const struct reply_cache_bounds bounds = {64, 64, 1 << 20};
    const struct disk_row *row;
    size_t index = 0;

    if (reply_cache_create(&bounds, &coordinator->cache) != HOOP_OK)
        abort();
    while ((row = disk_next(&coordinator->disk, DISK_REPLIES, &index)))
        net_expect(
            coordinator->net,
            reply_cache_restore(
                coordinator->cache,
                (struct message_span){row->key + 1, row->n_key_bytes - 1},
                (struct message_span){row->value, row->n_value_bytes},
                0) == HOOP_OK,
            "a reply that cannot be read");
    reply_cache_set_journal(coordinator->cache, &(struct reply_cache_journal){
                                                    .put = reply_put,
                                                    .erase = reply_erase,
                                                    .owner = &coordinator->disk,
                                                });
}

void
coordinator_open(struct coordinator *coordinator, struct net *net)
{
    *coordinator = (struct coordinator){.net = net};
    cluster_wake_up(coordinator);
    cache_wake_up(coordinator);
}

void
coordinator_close(struct coordinator *coordinator)
{
    cluster_destroy(coordinator->cluster);
    reply_cache_destroy(coordinator->cache);
    disk_deinit(&coordinator->disk);
}

void
coordinator_die(struct coordinator *coordinator)
{
    for (uint64_t i = 0; i < NET_TICKETS; i++)
        coordinator->tickets[i].is_open = false;
    cluster_destroy(coordinator->cluster);
    reply_cache_destroy(coordinator->cache);
    cluster_wake_up(coordinator);
    cache_wake_up(coordinator);
    coordinator->n_deaths++;
}

static struct reply_cache_key
cache_key(const struct ticket *ticket)
{
    struct reply_cache_key key = {.id = ticket->request.id};

    /* A life has a client of its own, as a session has. */
    memcpy(key.client.bytes, &ticket->request.life,
           sizeof(ticket->request.life));
    return key;
}

static bool
kind_changes(enum cluster_event_kind kind)
{
    return kind == CLUSTER_LEAVE || kind == CLUSTER_STORE_ADD;
}

static void
answer_send(struct coordinator *coordinator,
            const struct ticket *ticket,
            const struct answer *answer)
{
    net_post(coordinator->net,
             &(struct net_message){.kind = NET_MESSAGE_REPLY,
                                   .worker = ticket->worker,
                                   .connection = ticket->connection,
                                   .answer = *answer});
}

/* The first of a world to be told: nobody else may be of the job. */
static void
world_enter(struct coordinator *coordinator,
            const struct cluster_join_result *world,
            int job)
{
    net_expect(coordinator->net, world->epoch > coordinator->epoch_last,
               "an epoch again");
    net_expect(coordinator->net, world->size == NET_WORLD,
               "a world of another size");
    for (uint64_t i = 0; i < NET_LIVES; i++) {
        const struct life *life = &coordinator->lives[i];

        net_expect(coordinator->net,
                   life->job != job || life->epoch == 0 ||
                       life->end != LIFE_LASTS,
                   "a second world beside one that lives");
    }
    coordinator->epoch_last = world->epoch;
    coordinator->epochs[job] = world->epoch;
    coordinator->n_worlds++;
    for (uint32_t rank = 0; rank < world->size; rank++) {
        const uint64_t number = world->roster[rank].incarnation;

        net_expect(coordinator->net, number < NET_LIVES,
                   "a member nobody knows");
        struct life *life = &coordinator->lives[number];
        /* Who was never told that it had joined asks again, and may find
         * that job ended. In the same world nobody comes back. */
        net_expect(coordinator->net,
                   life->epoch == 0 || life->end != LIFE_LASTS,
                   "one who is in two worlds");
        *life = (struct life){.job = job, .epoch = world->epoch, .rank = rank};
    }
}

static void
world_tell(struct coordinator *coordinator,
           const struct ticket *ticket,
           const struct cluster_join_result *world,
           struct answer *answer)
{
    const struct life *life = &coordinator->lives[ticket->request.life];

    if (life->epoch != world->epoch)
        world_enter(coordinator, world,
                    coordinator->lives[ticket->request.life].job);
    net_expect(coordinator->net,
               life->epoch == world->epoch && life->rank == world->rank,
               "another world than was told");
    net_expect(coordinator->net, life->end == LIFE_LASTS,
               "a world for the dead");
    answer->epoch = world->epoch;
    answer->rank = world->rank;
    for (uint32_t rank = 0; rank < NET_WORLD; rank++) {
        const struct cluster_member *member = &world->roster[rank];

        answer->lives[rank] = member->incarnation;
        net_expect(coordinator->net,
                   coordinator->lives[member->incarnation].epoch ==
                           world->epoch &&
                       coordinator->lives[member->incarnation].rank == rank,
                   "a roster that is not the first one told");
    }
}

/* All who hear of it hear the same; it counts what its survivors said. */
static void
outcome_check(struct coordinator *coordinator,
              const struct request *request,
              const struct cluster_vote_outcome *outcome)
{
    const uint64_t all = (1 << NET_WORLD) - 1;
    struct outcome told = {.epoch = request->epoch, .turn = request->turn};

    for (uint32_t i = 0; i < outcome->n_ranks; i++)
        told.survivors |= 1U << outcome->ranks[i];
    net_expect(coordinator->net, (~outcome->flags & all) == told.survivors,
               "a vote that counts others than it names");
    net_expect(coordinator->net, told.survivors >> request->rank & 1,
               "an outcome for who is not of it");
    for (uint64_t i = 0; i < NET_OUTCOMES; i++) {
        const struct outcome *before = &coordinator->outcomes[i];

        if (before->epoch != told.epoch || before->turn != told.turn)
            continue;
        net_expect(coordinator->net, before->survivors == told.survivors,
                   "two outcomes of one vote");
        return;
    }
    coordinator->outcomes[coordinator->n_outcomes++ % NET_OUTCOMES] = told;
}

static void
reply_take(struct coordinator *coordinator, const struct cluster_reply *reply)
{
    struct ticket *ticket = &coordinator->tickets[reply->ticket - 1];
    const struct life *life = &coordinator->lives[ticket->request.life];
    struct answer answer = {.id = ticket->request.id, .status = reply->status};

    net_expect(coordinator->net, ticket->is_open, "an answer nobody waits for");
    ticket->is_open = false;
    if (reply->kind == CLUSTER_REPLY_WORLD)
        world_tell(coordinator, ticket, &reply->world, &answer);
    if (reply->kind == CLUSTER_REPLY_STORE)
        answer.counter = reply->store.counter;
    if (reply->kind == CLUSTER_REPLY_VOTE_OUTCOME)
        outcome_check(coordinator, &ticket->request, &reply->outcome);
    if (reply->kind == CLUSTER_REPLY_CHANGES)
        answer.revision = reply->changes.revision;
    if (ticket->request.kind == CLUSTER_RENEW)
        net_expect(coordinator->net,
                   (reply->status == HOOP_OK) ==
                       (life->epoch != 0 && life->end == LIFE_LASTS &&
                        life->epoch == ticket->request.epoch),
                   "a lease for the dead, or none for the living");
    if (ticket->is_cached) {
        const struct reply_cache_key key = cache_key(ticket);

        reply_cache_store_reply(
            coordinator->cache, &key,
            (struct message_span){(const uint8_t *)&answer, sizeof(answer)});
    }
    if (ticket->connection != 0)
        answer_send(coordinator, ticket, &answer);
}

static void
notice_take(struct coordinator *coordinator,
            const struct cluster_log_notice *notice)
{
    const bool is_lost = notice->kind == CLUSTER_NOTICE_LOST;

    if (!is_lost && notice->kind != CLUSTER_NOTICE_LEFT)
        return;
    for (uint64_t i = 0; i < NET_LIVES; i++) {
        struct life *life = &coordinator->lives[i];

        if (life->epoch != notice->epoch || life->rank != notice->rank ||
            life->epoch == 0)
            continue;
        net_expect(coordinator->net, life->end == LIFE_LASTS,
                   "one who ends twice");
        life->end = is_lost ? LIFE_LOST : LIFE_LEFT;
    }
    coordinator->n_lost += is_lost ? 1 : 0;
}

/* Notices first: what a step has decided holds for its replies. */
static void
event_step(struct coordinator *coordinator, struct cluster_event *event)
{
    event->now_ns = coordinator->net->now_ns;

    const struct cluster_actions actions =
        cluster_step(coordinator->cluster, event);

    for (size_t i = 0; i < actions.n_items; i++)
        if (actions.items[i].kind == CLUSTER_ACTION_STORE_RECORD)
            record_keep(coordinator, &actions.items[i].record);
    for (size_t i = 0; i < actions.n_items; i++)
        if (actions.items[i].kind == CLUSTER_LOG_NOTICE)
            notice_take(coordinator, &actions.items[i].notice);
    for (size_t i = 0; i < actions.n_items; i++)
        if (actions.items[i].kind == CLUSTER_REPLY)
            reply_take(coordinator, &actions.items[i].reply);
    net_expect(coordinator->net,
               cluster_next_deadline_ns(coordinator->cluster) >
                   coordinator->net->now_ns,
               "something due is left");
}

static void
connection_close(struct coordinator *coordinator,
                 const struct net_message *net_message)
{
    for (uint64_t i = 0; i < NET_TICKETS; i++) {
        struct ticket *ticket = &coordinator->tickets[i];
        struct cluster_event cancel = {.kind = CLUSTER_CANCEL, .ticket = i + 1};

        if (!ticket->is_open || ticket->worker != net_message->worker ||
            ticket->connection != net_message->connection)
            continue;
        ticket->is_open = false;
        event_step(coordinator, &cancel);
    }
}

static void
event_fill(const struct ticket *ticket, int job, struct cluster_event *event)
{
    const struct request *request = &ticket->request;
    const struct cluster_member_id member = {request->epoch, request->life};

    event->kind = request->kind;
    event->job = job_names[job];
    event->token = "t";
    event->client = (uint64_t)ticket->worker + 1;
    event->deadline_ns = request->deadline_ns;
    if (request->kind == CLUSTER_JOIN)
        event->join = (struct cluster_join){
            .incarnation = request->life,
            .protocol_version = CLUSTER_PROTOCOL_VERSION,
            .rank = CLUSTER_RANK_ANY,
            .world_size = NET_WORLD,
            .host = "h",
            .address = "10.0.0.1:5",
            .seed = request->id,
        };
    else if (request->kind == CLUSTER_REPORT)
        event->report = (struct cluster_failure_report){
            .reporter = member,
            .rank = request->accused_rank,
            .identity = identity_of_incarnation(request->accused),
            .reason = "silence"};
    else if (request->kind == CLUSTER_WATCH)
        event->watch = (struct cluster_change_watch){
            request->epoch, request->since, CLUSTER_NO_QUESTION,
            CLUSTER_NO_QUESTION, CLUSTER_NO_QUESTION};
    else if (request->kind == CLUSTER_VOTE)
        event->vote = (struct cluster_vote_call){
            .member = member,
            .kind = CLUSTER_VOTE_AGREE,
            .turn = request->turn,
            .flags = ~(uint64_t)(1U << request->rank),
        };
    else if (request->kind == CLUSTER_STORE_ADD)
        event->write = (struct cluster_store_write){.delta = 1};
    else
        event->member = member;
}

/* A key of each life's own; false: it has been asked before. */
static bool
ticket_is_new(struct coordinator *coordinator, struct ticket *ticket)
{
    struct reply_cache_found found = {0};
    struct answer answer;

    if (!kind_changes(ticket->request.kind))
        return true;

    const struct reply_cache_key key = cache_key(ticket);
    switch (reply_cache_begin(coordinator->cache, &key, coordinator, &found)) {
    case REPLY_CACHE_NEW:
        ticket->is_cached = true;
        return true;
    case REPLY_CACHE_DONE:
        coordinator->n_repeated++;
        memcpy(&answer, found.reply.bytes, sizeof(answer));
        answer_send(coordinator, ticket, &answer);
        return false;
    case REPLY_CACHE_RUNNING:
    case REPLY_CACHE_LOST:
    case REPLY_CACHE_FULL:
        net_expect(coordinator->net, false, "a reply that was not kept");
        return false;
    }
    return false;
}

static void
request_take(struct coordinator *coordinator,
             const struct net_message *net_message)
{
    const int job = coordinator->lives[net_message->request.life].job;
    struct ticket ticket = {.is_open = true,
                            .worker = net_message->worker,
                            .connection = net_message->connection,
                            .request = net_message->request};
    struct cluster_event event = {0};
    char key[] = "life/000";

    /* Nobody waits for it any more. */
    if (net_message->request.deadline_ns <= coordinator->net->now_ns)
        return;
    if (!ticket_is_new(coordinator, &ticket))
        return;
    while (event.ticket < NET_TICKETS &&
           coordinator->tickets[event.ticket].is_open)
        event.ticket++;
    net_expect(coordinator->net, event.ticket < NET_TICKETS,
               "requests are never answered");
    coordinator->tickets[event.ticket++] = ticket;
    event_fill(&ticket, job, &event);
    for (uint64_t digit = 0, life = net_message->request.life; digit < 3;
         digit++) {
        key[7 - digit] = (char)('0' + life % 10);
        life /= 10;
    }
    if (event.kind == CLUSTER_STORE_ADD)
        event.write.key = key;
    event_step(coordinator, &event);
}

void
coordinator_take(struct coordinator *coordinator,
                 const struct net_message *net_message)
{
    if (net_message->kind == NET_MESSAGE_CLOSED)
        connection_close(coordinator, net_message);
    else
        request_take(coordinator, net_message);
}

void
coordinator_tick(struct coordinator *coordinator)
{
    struct cluster_event tick = {.kind = CLUSTER_TICK};

    event_step(coordinator, &tick);
    for (uint64_t i = 0; i < NET_TICKETS; i++)
        net_expect(coordinator->net,
                   !coordinator->tickets[i].is_open ||
                       coordinator->tickets[i].request.deadline_ns >
                           coordinator->net->now_ns,
                   "somebody waits for ever");
}

void
coordinator_drain(struct coordinator *coordinator)
{
    struct cluster_event drain = {.kind = CLUSTER_DRAIN};

    event_step(coordinator, &drain);
    for (uint64_t i = 0; i < NET_TICKETS; i++)
        net_expect(coordinator->net, !coordinator->tickets[i].is_open,
                   "a request was never answered");
}
