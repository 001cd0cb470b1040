/*
 * tests/sim/verdict_sim.h - ranks that find each other lost, on virtual time
 *
 * Each rank has the engine's own judgement of others
 * (engine/failure/failure_detector.c) and a member's standing at a real core of
 * the coordinator; between them are messages that are late, connections that
 * break, ranks that die, stand still, or are cut off. There is one world, of
 * which stubs of the transport know.
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
    COORDINATOR = SIM_RANKS_MAX, /* as a place */
    PLACES = SIM_RANKS_MAX + 1,
    SIM_MESSAGES_MAX = 4096,
    FAILURE_MS = 2000, /* HOOP_FAILURE_TIMEOUT */
};

static const uint64_t SIM_MS = 1000000;

enum sim_message_kind {
    SIM_VERDICT, /* from rank to rank: rank is lost */
    SIM_BREAK,   /* the connection with from has ended */
    SIM_SILENCE, /* nothing has come from rank, if that is so still */
    SIM_REPORT,  /* to the coordinator */
    SIM_ANSWER,  /* ... whom this rank hears */
    SIM_RENEW,
    SIM_WATCH,
    SIM_CHANGE,  /* from it: rank is lost */
    SIM_WATCHED, /* ... and that was all, or it asks all ranks */
    SIM_LOOK,    /* to itself: what the peers have answered by now */
    SIM_OVER,    /* ... it does not know this member any more */
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
    size_t n_views; /* 0: it only lives */
    uint64_t due_ns;
    uint64_t order;
    char why[LIMIT_REPORT_REASON];
};

struct sim_rank {
    struct engine engine;
    struct rank_liveness lost[SIM_RANKS_MAX];
    struct roster *roster;
    bool is_dead;
    bool is_over;                 /* its standing */
    bool is_disturbed;            /* something has happened to it */
    bool is_gone[SIM_RANKS_MAX];  /* its connection with that rank */
    bool is_known[SIM_RANKS_MAX]; /* reported, or told by the coordinator */
    uint64_t renew_ns;
    uint64_t revision;
    uint64_t question; /* the last that was asked */
};

struct sim {
    uint64_t seed;
    uint64_t random;
    uint64_t now_ns;
    uint64_t order;
    uint64_t slowest_ns; /* of messages */
    uint32_t size;
    bool see_each_other; /* as processes of one host do */
    struct sim_rank ranks[SIM_RANKS_MAX];
    struct cluster *cluster;
    uint64_t epoch;
    bool is_watching[SIM_RANKS_MAX];
    uint64_t still_until_ns[PLACES]; /* does nothing, and nothing reaches it */
    uint64_t cut_until_ns[PLACES][PLACES];
    uint64_t silent_from_ns[PLACES]
                           [PLACES];  /* the last that was cut, or still */
    uint64_t last_ns[PLACES][PLACES]; /* of what is under way */
    struct sim_message messages[SIM_MESSAGES_MAX];
    size_t n_messages;
    int outcast;     /* who alone must go; -1: that is not known */
    uint64_t n_lost; /* at the coordinator */
};

/* Nothing comes from one to the other now. */
static inline bool
sim_is_mute(const struct sim *world, uint32_t from, uint32_t to)
{
    return world->ranks[from].is_dead ||
           world->still_until_ns[from] > world->now_ns ||
           world->cut_until_ns[from][to] > world->now_ns;
}

extern struct sim *sim;

/* Unless it holds, says the seed and ends the program. */
void
sim_expect(int holds, const char *what);
/* Below n. */
uint64_t
sim_random(uint64_t n);
/* kind, from, to and content are set. */
void
sim_post(const struct sim_message *message);
/* ... to be read then. */
void
sim_post_at(const struct sim_message *message, uint64_t due_ns);

/* Of a rank's connections. */
void
sim_rank_create(uint32_t rank);
void
sim_rank_destroy(uint32_t rank);
void
sim_rank_take(uint32_t rank, const struct sim_message *message);
/* When it has to be looked after, and doing so. */
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
/* Whether it has declared rank lost. */
bool
coordinator_lost(uint32_t rank);

#endif
