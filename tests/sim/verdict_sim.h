/*
 * tests/sim/verdict_sim.h - ranks that find each other lost, on virtual time
 *
 * Each rank has the engine's own failure detector
 * (engine/failure/failure_detector.c) and is a member at a real core of the
 * coordinator. Messages between them are late, connections break, and ranks
 * die, stand still or are cut off. There is one world, which the stubs of the
 * transport use.
 */

#ifndef SIM_VERDICT_SIM_H
#define SIM_VERDICT_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "core/cluster.h"
#include "engine/state.h"

enum {
    SIM_RANKS_MAX = 5,
    COORDINATOR = SIM_RANKS_MAX, /* its index as a place */
    PLACES = SIM_RANKS_MAX + 1,
    SIM_MESSAGES_MAX = 4096,
    FAILURE_MS = 2000, /* the value of HOOP_FAILURE_TIMEOUT */
};

static const uint64_t SIM_MS = 1000000;

enum sim_message_kind {
    SIM_VERDICT, /* from rank to rank: rank is lost */
    SIM_BREAK,   /* the connection with from has ended */
    SIM_SILENCE, /* nothing has come from rank, if that still holds */
    SIM_REPORT,  /* to the coordinator: a report */
    SIM_ANSWER,  /* to the coordinator: whom this rank hears */
    SIM_RENEW,
    SIM_WATCH,
    SIM_CHANGE,  /* from the coordinator: rank is lost */
    SIM_WATCHED, /* from it: no more changes, or a question to all ranks */
    SIM_LOOK,    /* to itself: evaluate the answers of the peers */
    SIM_OVER,    /* from it: this member is unknown */
};

struct sim_message {
    enum sim_message_kind kind;
    int from;
    int to;
    uint32_t rank;
    uint64_t number; /* of a revision */
    uint64_t question;
    enum evidence evidence; /* of a report */
    uint32_t slack_ms;
    uint8_t views[SIM_RANKS_MAX];
    size_t n_views; /* 0: it is only a sign of life */
    uint64_t due_ns;
    uint64_t order;
    char why[LIMIT_REPORT_REASON];
};

struct sim_rank {
    struct engine engine;
    struct rank_liveness lost[SIM_RANKS_MAX];
    struct roster *roster;
    bool is_dead;
    bool is_over;                 /* its membership has ended */
    bool is_disturbed;            /* a fault has happened to it */
    bool is_gone[SIM_RANKS_MAX];  /* the connection with that rank has ended */
    bool is_known[SIM_RANKS_MAX]; /* reported, or named by the coordinator */
    uint64_t renew_ns;
    uint64_t revision;
    uint64_t question; /* the last that was asked */
};

struct sim {
    uint64_t seed;
    uint64_t random;
    uint64_t now_ns;
    uint64_t order;
    uint64_t slowest_ns; /* the delay of the slowest message */
    uint32_t size;
    bool see_each_other; /* as processes on one host do */
    struct sim_rank ranks[SIM_RANKS_MAX];
    struct cluster *cluster;
    uint64_t epoch;
    bool is_watching[SIM_RANKS_MAX];
    uint64_t still_until_ns[PLACES]; /* until then it is stopped */
    uint64_t cut_until_ns[PLACES][PLACES];
    uint64_t silent_from_ns[PLACES][PLACES]; /* when it fell silent */
    uint64_t last_ns[PLACES][PLACES]; /* the last arrival in this direction */
    struct sim_message messages[SIM_MESSAGES_MAX];
    size_t n_messages;
    int outcast;     /* the only rank that must be lost; -1: unknown */
    uint64_t n_lost; /* ranks that the coordinator has declared lost */
};

/* Returns whether no message from one reaches the other now. */
static inline bool
sim_is_mute(const struct sim *world, uint32_t from, uint32_t to)
{
    return world->ranks[from].is_dead ||
           world->still_until_ns[from] > world->now_ns ||
           world->cut_until_ns[from][to] > world->now_ns;
}

extern struct sim *sim;

/* Unless the condition holds, prints the seed and ends the program. */
void
sim_expect(int holds, const char *what);
/* Returns a random number below n. */
uint64_t
sim_random(uint64_t n);
/* Sends a message. The caller has set its kind, from, to and contents. */
void
sim_post(const struct sim_message *message);
/* Sends a message that arrives at due_ns. */
void
sim_post_at(const struct sim_message *message, uint64_t due_ns);

/* These create and destroy a rank with its connections. */
void
sim_rank_create(uint32_t rank);
void
sim_rank_destroy(uint32_t rank);
void
sim_rank_take(uint32_t rank, const struct sim_message *message);
/* Returns when the rank has something to do; sim_rank_wake() does it. */
uint64_t
sim_rank_due_ns(uint32_t rank);
void
sim_rank_wake(uint32_t rank);
void
sim_rank_die(uint32_t rank);

void
coordinator_create(void);
void
coordinator_take(const struct sim_message *message);
void
coordinator_tick(void);
/* Returns whether the coordinator has declared the rank lost. */
bool
coordinator_lost(uint32_t rank);

#endif
