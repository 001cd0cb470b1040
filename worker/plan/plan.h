/*
 * plan/plan.h - a collective as data: what one rank sends and receives
 *
 * An algorithm is a pure function (shape, round) -> steps. Spans are in
 * elements: a plan knows neither dtypes nor sockets nor time. Rounds exist for
 * the reader and for the checker (checker/checker.h). When the engine runs a
 * plan, only data orders its steps: plan/tracker.h derives, byte by byte, read
 * after write, write after read and write after write from the order of the
 * rounds. Steps of one round must not conflict with each other. A receive may
 * depend on earlier rounds, never on its own.
 *
 * A shared-memory plan (is_shm) is for ranks that share a region of memory
 * (transport/shm/region.h). It has no SEND, STORE or REDUCE; other plans have
 * no POST, EXPOSE, FETCH or FETCH_REDUCE. Its rounds run strictly in order, and
 * the steps of a round run in the order in which they are listed. The posts of
 * a round come first. The executor appends them to the rank's slot for the
 * round, which holds at most slot_capacity elements, and then publishes the
 * round, even if nothing was posted. The other steps follow; they may read and
 * write what earlier steps of the round touched. All ranks have the same number
 * of rounds. The executor writes over a slot only when every rank has finished
 * reading it.
 *
 * A direct plan (is_shm and is_direct) is a shared-memory plan for ranks that
 * can read each other's memory (transport/shm/cma.h). A rank posts nothing: it
 * exposes spans of its own buffers, and the others read them in place. Other
 * ranks may read a span exposed in a round until they have published a later
 * round. A plan must therefore await those ranks in a later round before it
 * writes to the span, and its last round awaits every rank that reads.
 */

#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

enum {
    PLAN_EXPOSED_MAX = 2, /* spans that a rank may expose in a round */
};

/* In an in-place call, PLAN_INPUT and PLAN_OUTPUT are one buffer, which plans
 * name PLAN_OUTPUT. */
enum plan_buffer {
    PLAN_INPUT,
    PLAN_OUTPUT,
    PLAN_SCRATCH,
};

struct plan_span {
    enum plan_buffer buffer;
    size_t first; /* index of the first element */
    size_t count;
};

enum plan_step_type {
    PLAN_SEND,         /* from -> peer */
    PLAN_STORE,        /* peer -> to */
    PLAN_REDUCE,       /* peer (op) from -> to; from may equal to */
    PLAN_COPY,         /* from -> to, local */
    PLAN_COMBINE,      /* from (op) to -> to, local */
    PLAN_POST_TO_SLOT, /* from -> the end of this rank's slot for the round */
    PLAN_EXPOSE,       /* let other ranks read from; they name it by message */
    /* Elements [from.first, from.first + from.count) of what peer, which may be
     * this rank, posted in this round or exposed as message -> to. With no
     * elements, the step only waits until peer has published the round.
     * from.buffer is not used. */
    PLAN_FETCH,
    PLAN_FETCH_REDUCE, /* like PLAN_FETCH, but combine: (op) to -> to */
};

/* Which operand of a REDUCE, COMBINE or FETCH_REDUCE is the left one. The left
 * operand holds the lower ranks. */
enum plan_operand_side {
    /* Of COMBINE and FETCH_REDUCE: from is the left operand. */
    PLAN_RECEIVED_IS_LEFT_OPERAND,
    PLAN_OWN_IS_LEFT_OPERAND,
};

struct plan_step {
    enum plan_step_type kind;
    uint32_t peer;
    /* Identifies the message: the sender and the receiver use the same number,
     * and no two messages from one rank to another within an operation share
     * it. In a direct plan it identifies one of the spans that a rank exposes
     * in the round, and is less than PLAN_EXPOSED_MAX. */
    uint32_t message;
    struct plan_span from;
    struct plan_span to;
    enum plan_operand_side side;
    bool is_final; /* the last combination of its block: AVG divides here */
};

struct plan_nodes; /* defined in plan/nodes.h */

/* What the ranks of one host share. */
struct plan_shm_region {
    size_t slot_capacity; /* bytes of a slot; 0 if the ranks share no region */
    bool has_cma;         /* the ranks can also read each other's memory */
};

/* Everything that an algorithm may know about a call. The shapes of the ranks
 * of a call differ only in rank and, for alltoallv, in counts and firsts. */
struct plan_shape {
    uint32_t rank;
    uint32_t size;
    uint32_t root;
    bool is_in_place;
    /* Elements; those of one block if the blocks are even. */
    size_t count;
    /* One per rank if blocks differ, borrowed; else NULL. */
    const size_t *counts;
    /* Alltoallv: elements that come from each rank, while counts are those that
     * go to each rank. NULL for other collectives. */
    const size_t *recv_counts;
    /* Pairwise alltoallv out of place only: the first element of the block that
     * goes to each rank, and of the block that comes from each rank. Blocks to
     * send may overlap. NULL: the blocks are contiguous. */
    const size_t *firsts;
    const size_t *recv_displacements;
    size_t granule; /* blocks are cut at multiples of this many elements */
    const struct plan_nodes *nodes; /* which ranks share a node; NULL: all do */
    /* Elements that a slot of the shared region holds; 0 if there is no
     * region. */
    size_t slot_capacity;
    /* The ranks share a region and can read each other's memory. */
    bool has_cma;
};

/* The steps of one round. The first failure to allocate memory is kept in
 * status, and steps added after it are ignored. */
struct plan {
    struct plan_step *steps;
    size_t n_steps;
    size_t capacity;
    enum hoop_status status;
};

/* Zeroed memory is an empty plan. plan_clear() removes the steps and the
 * failure but keeps the memory; plan_deinit() frees it. */
void
plan_clear(struct plan *plan);
void
plan_deinit(struct plan *plan);
/* Add a step. A step of no elements is left out, except by plan_add_await(). */
void
plan_add_step(struct plan *plan, const struct plan_step *step);
void
plan_add_send(struct plan *plan,
              uint32_t peer,
              uint32_t message,
              struct plan_span from);
void
plan_add_store(struct plan *plan,
               uint32_t peer,
               uint32_t message,
               struct plan_span to);
void
plan_add_copy(struct plan *plan, struct plan_span from, struct plan_span to);

void
plan_add_post(struct plan *plan, struct plan_span from);
void
plan_add_expose(struct plan *plan, uint32_t message, struct plan_span from);
/* Fetch what peer posted or exposed in this round, beginning at its element
 * first. */
void
plan_add_fetch(struct plan *plan,
               uint32_t peer,
               size_t first,
               struct plan_span to);
/* Wait until peer has published this round. */
void
plan_add_await(struct plan *plan, uint32_t peer);

/* The elements that a step reads and those that it writes, which decide what it
 * depends on. Elements that it reads and writes count as written only. count is
 * 0 where there are none; an in-place call's input is its output. */
struct plan_access {
    struct plan_span reads;
    struct plan_span writes;
};

struct plan_access
plan_step_access(const struct plan_step *step, const struct plan_shape *shape);

/* Returns HOOP_OK or the first failure since plan_clear(). */
enum hoop_status
plan_status(const struct plan *plan);

struct hierarchy; /* defined in plan/composition.h */

struct algorithm {
    const char *name; /* "ring" */
    uint32_t (*n_rounds)(const struct plan_shape *shape);
    /* Appends the steps of round, which is less than n_rounds(). Pure. */
    void (*plan_round)(struct plan *plan,
                       const struct plan_shape *shape,
                       uint32_t round);
    /* Elements of PLAN_SCRATCH that the plan needs; NULL: none. */
    size_t (*n_scratch)(const struct plan_shape *shape);
    /* Instead of the three functions: the algorithm consists of others. Not
     * of a shared-memory plan. */
    const struct hierarchy *compose;
    /* A shared-memory plan; usable only if shape->slot_capacity is not 0. */
    bool is_shm;
    /* A direct plan; is_shm is set too; usable only if shape->has_cma. */
    bool is_direct;
};

/* Ask any algorithm, composed or not. algorithm_n_scratch() returns 0 if the
 * plan needs none. */
uint32_t
algorithm_n_rounds(const struct algorithm *algorithm,
                   const struct plan_shape *shape);
size_t
algorithm_n_scratch(const struct algorithm *algorithm,
                    const struct plan_shape *shape);
void
algorithm_plan_round(const struct algorithm *algorithm,
                     struct plan *plan,
                     const struct plan_shape *shape,
                     uint32_t round);

/* Returns the bytes of a slot in a region that n_ranks ranks share. */
size_t
plan_shm_region_slot_bytes(uint32_t n_ranks);

/* Returns whether ranks that share shm_region can run algorithm. */
bool
plan_shm_region_can_run(const struct plan_shm_region *shm_region,
                        const struct algorithm *algorithm);

#endif
