/*
 * plan/plan.h - a collective as data: what one rank sends, takes and combines
 *
 * An algorithm is a pure function (shape, round) -> steps. Spans are in
 * elements: a plan knows neither dtypes nor sockets nor time. Rounds are for
 * the reader and the proof; when a plan runs, only data orders its steps
 * (plan/tracker.h): read after write, write after read, write after write, by
 * byte, in the order of the rounds. Within one round, steps must not conflict
 * with each other; a receive may wait for earlier rounds, never for its own.
 *
 * A shared-memory plan is another kind, for ranks that share one segment of memory (a
 * shared region), in which each has two slots, used in turn by the rounds. Its rounds
 * are gone through strictly in order, and the steps of a round in the order
 * they are listed: first all posts, one behind the other into the rank's slot
 * of this round, which is published then, also when it is empty; then the rest,
 * which may touch what earlier steps of the round touched. All ranks have the
 * same number of rounds. A shared-memory plan has no SEND, STORE or REDUCE, another plan
 * has no step of the kinds that name a slot.
 *
 * A direct plan is a shared-memory plan of ranks that may read each other's memory: a rank
 * posts nothing, it shows spans of its buffers, and the others fetch from them
 * where they are. What is exposed in a round may be read until all others have
 * published a later one; so who writes there awaits them before, and the last
 * round awaits all who read.
 */

#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

enum {
    PLAN_EXPOSED_MAX = 2, /* spans that a rank shows in a round, at most */
};

/* In place, PLAN_INPUT and PLAN_OUTPUT are one buffer, named PLAN_OUTPUT. */
enum plan_buffer {
    PLAN_INPUT,
    PLAN_OUTPUT,
    PLAN_SCRATCH,
};

struct plan_span {
    enum plan_buffer buffer;
    size_t first; /* element */
    size_t count;
};

enum plan_kind {
    PLAN_SEND,    /* from -> peer */
    PLAN_STORE,   /* peer -> to */
    PLAN_REDUCE,  /* peer (op) from -> to; from may equal to */
    PLAN_COPY,    /* from -> to, local */
    PLAN_COMBINE, /* from (op) to -> to, local */
    PLAN_POST,    /* from -> behind what is in this rank's slot of the round */
    PLAN_EXPOSE,  /* from, as what message names: others may read it in place */
    /* What peer, or this rank itself, posted in this round, or shows as message,
     * elements from.first to from.first + from.count of it: -> to. Of no
     * elements, this awaits that peer has published the round. from.buffer plays
     * no part. */
    PLAN_FETCH,
    PLAN_FETCH_REDUCE, /* the same, (op) to -> to */
};

/* Which operand of a REDUCE, COMBINE or FETCH_REDUCE stands left: lower ranks
 * do. */
enum plan_side {
    PLAN_ARRIVED_LEFT, /* COMBINE and FETCH_REDUCE: from is left */
    PLAN_OWN_LEFT,
};

struct plan_step {
    enum plan_kind kind;
    uint32_t peer;
    /* Names the message: sender and receiver agree on it, and no two messages
     * of one operation from one rank to another share it. In a direct plan: which
     * of what a rank shows in the round, less than PLAN_EXPOSED_MAX. */
    uint32_t message;
    struct plan_span from;
    struct plan_span to;
    enum plan_side side;
    bool is_final; /* the last combination of its block: AVG divides here */
};

struct plan_nodes; /* plan/nodes.h */

/* What ranks of one host share. */
struct plan_shm_region {
    size_t n_slot; /* bytes of a slot; 0: nothing is shared */
    bool has_cma;  /* and they may read each other's memory */
};

/* What an algorithm may know. All ranks' shapes differ in rank alone, and in
 * the counts of alltoallv. */
struct plan_shape {
    uint32_t rank;
    uint32_t size;
    uint32_t root;
    bool is_in_place;
    size_t count;         /* elements; of one block for the even v-less forms */
    const size_t *counts; /* v-forms: one per rank, borrowed; else NULL */
    const size_t *recv_counts; /* alltoallv: what comes from each rank; counts
                                  is what goes to each. Else NULL */
    /* Pairwise alltoallv, not in place: elements where blocks begin that go to
     * each rank, and come from each; those that go may overlap. NULL: they lie
     * one behind the other. */
    const size_t *firsts;
    const size_t *recv_firsts;
    size_t granule; /* cut blocks on multiples of this many elements */
    const struct plan_nodes *nodes; /* who shares a host; NULL: all do */
    size_t
        n_slot; /* elements that a slot of the shared region holds; 0: no shared region */
    bool
        has_cma; /* they may read each other's memory, and have a shared region */
};

/* Steps of one round. The first failure (memory) is latched. */
struct plan {
    struct plan_step *steps;
    size_t n_steps;
    size_t capacity;
    enum hoop_status status;
};

/* Zeroed memory is an empty plan. */
void
plan_clear(struct plan *plan);
void
plan_deinit(struct plan *plan);
/* Steps of no elements are left out, by all of these but plan_await. */
void
plan_add(struct plan *plan, const struct plan_step *step);
void
plan_send(struct plan *plan,
          uint32_t peer,
          uint32_t message,
          struct plan_span from);
void
plan_store(struct plan *plan,
           uint32_t peer,
           uint32_t message,
           struct plan_span to);
void
plan_copy(struct plan *plan, struct plan_span from, struct plan_span to);

void
plan_post(struct plan *plan, struct plan_span from);
void
plan_expose(struct plan *plan, uint32_t message, struct plan_span from);
/* What peer posted in this round, from element first on. */
void
plan_fetch(struct plan *plan, uint32_t peer, size_t first, struct plan_span to);
/* Until peer has published this round. */
void
plan_await(struct plan *plan, uint32_t peer);

/* The latched status. */
enum hoop_status
plan_status(const struct plan *plan);

struct algorithm {
    const char *name; /* "ring" */
    uint32_t (*n_rounds)(const struct plan_shape *shape);
    /* Appends round's steps (round < n_rounds). Pure. */
    void (*plan_round)(struct plan *plan,
                       const struct plan_shape *shape,
                       uint32_t round);
    /* Elements of PLAN_SCRATCH; NULL: none. */
    size_t (*n_scratch)(const struct plan_shape *shape);
    bool is_shm;    /* only where shape->n_slot is not 0 */
    bool is_direct; /* and is_shm: only where shape->has_cma */
};

/* Whether ranks that share this can run it. */
bool
plan_shm_region_suits(const struct plan_shm_region *shm_region,
                      const struct algorithm *algorithm);

#endif
