/*
 * tests/sim/network_sim.h - workers, a coordinator and a bad network between
 *
 * Time is virtual, and every seed gives another schedule. Messages of one
 * connection arrive in order, late, or not at all once it breaks. The worker
 * then sends its requests again over the next connection, with the same IDs.
 * The coordinator so gets some requests twice, at times in another order.
 */

#ifndef SIM_NETWORK_SIM_H
#define SIM_NETWORK_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/cluster.h"
#include "network_sim_disk.h"
#include "rpc/reply_cache.h"

enum {
    NET_WORKERS = 6,
    NET_JOBS = 2,
    NET_WORLD = 3,
    NET_MESSAGES = 1024,
    NET_TICKETS = 64,
    NET_LIVES = 256, /* incarnations of all workers */
    NET_OUTCOMES = 64,
};

static const uint64_t NET_MS = 1000000;
static const uint64_t NET_LEASE_NS = 1000000000;

enum net_message_kind {
    NET_MESSAGE_REQUEST,
    NET_MESSAGE_REPLY,
    NET_MESSAGE_CLOSED, /* the worker's end of the connection is closed */
};

/* These are the contents of a request, by incarnation, and those of its
 * answer. */
struct request {
    enum cluster_event_kind kind;
    uint64_t id; /* the same when the request is sent again */
    uint64_t deadline_ns;
    uint64_t life;
    uint64_t epoch;
    uint64_t since;
    uint32_t accused_rank;
    uint64_t accused;
    uint64_t turn; /* VOTE: passes all flags but that of its rank */
    uint32_t rank;
};

struct answer {
    uint64_t id;
    enum hoop_status status;
    uint64_t epoch;
    uint32_t rank;
    int64_t counter;
    uint64_t revision;
    uint64_t lives[NET_WORLD]; /* JOIN: by rank */
};

struct net_message {
    enum net_message_kind kind;
    int worker;
    uint64_t connection;
    uint64_t due_ns;
    uint64_t order;
    struct request request;
    struct answer answer;
};

/* A vote of the world has decided this. */
struct outcome {
    uint64_t epoch;
    uint64_t turn;
    uint64_t survivors; /* one bit per rank */
};

/* The coordinator has not answered this request. */
struct ticket {
    bool is_open;
    int worker;
    uint64_t connection;
    struct request request;
    bool is_cached;
};

enum life_end {
    LIFE_LASTS,
    LIFE_LEFT,
    LIFE_LOST,
};

/* This is an incarnation, as the coordinator has described it. */
struct life {
    int job;
    uint64_t epoch;
    uint32_t rank;
    enum life_end end;
};

struct net;

/* The coordinator's machine has the core, the reply cache, and what outlives
 * them. */
struct coordinator {
    struct net *net;
    struct disk disk;
    struct cluster *cluster;
    struct reply_cache *cache;
    uint64_t busy_until_ns;             /* stopped, or its clock jumped */
    struct ticket tickets[NET_TICKETS]; /* a ticket is its index plus 1 */
    struct life lives[NET_LIVES];
    uint64_t epochs[NET_JOBS];
    uint64_t epoch_last;
    uint64_t n_worlds;
    struct outcome outcomes[NET_OUTCOMES]; /* the last ones */
    uint64_t n_outcomes;
    uint64_t n_lost;
    uint64_t n_repeated;
    uint64_t n_deaths;
};

enum worker_state {
    WORKER_IDLE,
    WORKER_JOINING,
    WORKER_ACTIVE,
};

enum {
    CALL_MAIN, /* join, add, report, vote, leave */
    CALL_RENEW,
    CALL_WATCH,
    CALLS,
};

struct call {
    bool is_open;
    struct request request;
};

struct worker {
    enum worker_state state;
    int job;
    uint64_t life;
    uint64_t epoch;
    uint32_t rank;
    uint64_t lives[NET_WORLD];
    uint64_t seen;
    uint64_t n_turns; /* votes that have ended */
    bool is_deciding; /* it takes part in the next vote */
    int64_t n_added;
    bool is_sure; /* no add was given up, so the counter must hold n_added */
    struct call calls[CALLS];
    uint64_t wake_ns;
    uint64_t renew_ns;
    uint64_t connection;
    uint64_t cut_until_ns;  /* until then no message gets through */
    uint64_t last_there_ns; /* the last arrival in each direction */
    uint64_t last_back_ns;
};

struct net {
    uint64_t seed;
    uint64_t random;
    uint64_t now_ns;
    uint64_t order;
    bool is_calm; /* no more faults happen */
    uint64_t id;
    uint64_t life;
    struct net_message messages[NET_MESSAGES]; /* in transit, in no order */
    size_t n_messages;
    struct worker workers[NET_WORKERS];
    struct coordinator coordinator;
    uint64_t n_added;
};

/* Unless the condition holds, prints the seed and ends the program. */
void
net_expect(const struct net *net, int holds, const char *what);
/* Returns a random number below n. */
uint64_t
net_random(struct net *net, uint64_t n);
/* Sends a message, which arrives later. The caller has set its kind, worker,
 * connection and contents. */
void
net_post(struct net *net, const struct net_message *net_message);

void
coordinator_open(struct coordinator *coordinator, struct net *net);
void
coordinator_close(struct coordinator *coordinator);
/* The coordinator dies and starts again from its records. */
void
coordinator_die(struct coordinator *coordinator);
/* A message for the coordinator has arrived. */
void
coordinator_take(struct coordinator *coordinator,
                 const struct net_message *net_message);
/* Does what is due. */
void
coordinator_tick(struct coordinator *coordinator);
/* Answers all requests that wait. */
void
coordinator_drain(struct coordinator *coordinator);

void
worker_take(struct net *net, int index, const struct answer *answer);
/* The time wake_ns has come. */
void
worker_wake(struct net *net, int index);
/* The worker's connection has ended. It sends its requests again over
 * another. */
void
worker_break(struct net *net, int index);

#endif
