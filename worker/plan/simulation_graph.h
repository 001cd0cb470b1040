/*
 * plan/simulation_graph.h - the steps of all vranks, and what waits for what
 *
 * As the tracker does (plan/tracker.h): a vrank's rounds are opened in order,
 * a bounded number at a time; a step waits for each step of an earlier round
 * that touches the same bytes, one of them writing. A round is opened when the
 * one that far before it has ended, so nothing older needs to be remembered.
 *
 * Here a step is open, then ready when it awaits nothing, then settled: its
 * begin and end are known, and what waited for it has been told.
 */

#ifndef PLAN_SIMULATION_GRAPH_H
#define PLAN_SIMULATION_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/plan.h"
#include "plan/simulation.h"
#include "plan/simulation_flow.h"
#include "plan/simulation_mapping.h"
#include "plan/simulation_range.h"

struct simulation_step {
    struct simulation_flow flow;
    struct simulation_range reads;
    struct simulation_range writes;
    uint32_t vrank;
    uint32_t round;
    uint32_t peer;
    uint32_t message;
    uint32_t n_awaited; /* steps; and a message, if its owner adds it */
    uint32_t followers; /* the first edge to one that waits for this one */
    uint32_t followers_last;
    uint32_t next;      /* of its vrank's round */
    uint8_t kind;       /* enum plan_kind */
    uint8_t reads_from; /* enum plan_buffer */
    uint8_t writes_to;
    bool is_begun; /* its flow is final, though nobody was told yet */
    bool is_settled;
};

/* A range of rounds; all of them or a part. */
struct simulation_rounds {
    uint32_t first;
    uint32_t end;
};

/* What is simulated, on what. Borrowed. */
struct simulation_setup {
    const struct simulation_mapping *mapping;
    const struct algorithm *algorithm;
    const struct simulation_machine *machine;
    size_t element_size;
    struct simulation_rounds rounds;
};

struct simulation_vrank;
struct simulation_edge;
struct round_index;

/* A round that is remembered. */
struct simulation_slot {
    uint32_t first; /* of its steps */
    uint32_t n_unsettled;
    struct round_index *index; /* of a round with many steps; else NULL */
};

/* Zeroed memory is a valid deinit target. */
struct simulation_graph {
    struct simulation_setup setup;
    uint32_t window; /* rounds of a vrank that are remembered */
    struct simulation_vrank *vranks;
    struct simulation_slot *slots; /* [vrank][window] */
    struct simulation_step *steps;
    uint32_t n_steps;
    uint32_t steps_capacity;
    uint32_t spare_step;
    struct simulation_edge *edges;
    uint32_t n_edges;
    uint32_t edges_capacity;
    uint32_t spare_edge;
    struct plan plan;
    struct plan_shape shape; /* the mapping's, with the rank that plans */
};

static const uint32_t SIMULATION_END = UINT32_MAX; /* of a list */

/* Handle: none (HOOP_E_EXHAUSTED), here and below. */
enum hoop_status
simulation_graph_init(struct simulation_graph *graph,
                      const struct simulation_setup *setup);
void
simulation_graph_deinit(struct simulation_graph *graph);

/* May the vrank's next round be opened, and has it one? */
bool
simulation_graph_has_room(const struct simulation_graph *graph, uint32_t vrank);

/*
 * Opens it and finds what its steps wait for. *out_first is the first of them,
 * SIMULATION_END when it has none; the others follow by next.
 */
enum hoop_status
simulation_graph_open(struct simulation_graph *graph,
                      uint32_t vrank,
                      uint32_t *out_first);

/* later waits for earlier, both being open or the earlier one settled. */
enum hoop_status
simulation_graph_order(struct simulation_graph *graph,
                       uint32_t later,
                       uint32_t earlier,
                       const struct simulation_overlap *overlap);

/* Where a round stands that is remembered. */
struct simulation_slot *
simulation_graph_slot(const struct simulation_graph *graph,
                      uint32_t vrank,
                      uint32_t round);

/* The step's flow is final. */
void
simulation_graph_settle(struct simulation_graph *graph, uint32_t step);

/* One that waits for a settled step, and does no longer; SIMULATION_END: none
 * is left. It is ready when it awaits nothing else. */
uint32_t
simulation_graph_next_follower(struct simulation_graph *graph, uint32_t step);

#endif
