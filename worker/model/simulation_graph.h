/*
 * model/simulation_graph.h - the steps of all virtual ranks, and dependencies
 *
 * The graph works as the tracker does (plan/tracker.h). The rounds of a virtual
 * rank are opened in order, a bounded number at a time. A step depends on each
 * step of an earlier round that touches the same bytes if one of the two writes
 * them. A round is opened only when the round that lies a full window before it
 * has ended, so older rounds need not be remembered.
 *
 * A step is first open, then ready when it waits for nothing more, then
 * settled: its start and end are known, and the steps that depend on it have
 * been updated.
 */

#ifndef MODEL_SIMULATION_GRAPH_H
#define MODEL_SIMULATION_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "model/simulation.h"
#include "model/simulation_mapping.h"
#include "plan/plan.h"

/* Empty if begin equals end; a step that does not access the buffer has {0,
 * 0}. */
struct simulation_range {
    size_t begin;
    size_t end;
};

bool
simulation_range_has_overlap(const struct simulation_range *one,
                             const struct simulation_range *other);

/* Does outer hold all of inner? */
bool
simulation_range_covers(const struct simulation_range *outer,
                        const struct simulation_range *inner);

/* An index of ranges, for rounds of thousands of steps. */

struct simulation_index_entry {
    struct simulation_range range;
    /* The greatest end of this and all earlier ranges of the buffer. */
    size_t reach;
    uint32_t buffer;
    uint32_t step;
};

/* Zeroed memory is an empty index. */
struct simulation_index {
    struct simulation_index_entry *entries;
    size_t n_entries;
    size_t capacity;
};

void
simulation_index_deinit(struct simulation_index *index);

/* Add a range; an empty one is ignored. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_index_add_range(struct simulation_index *index,
                           enum plan_buffer buffer,
                           const struct simulation_range *range,
                           uint32_t step);

/* Call once after the last range was added and before the first search. */
void
simulation_index_sort(struct simulation_index *index);

/* Returns the number of the first entry that may overlap range. ... */
size_t
simulation_index_find_first(const struct simulation_index *index,
                            enum plan_buffer buffer,
                            const struct simulation_range *range);

/* ... The caller goes through the entries from there on while this returns
 * true. */
bool
simulation_index_entry_may_overlap(const struct simulation_index *index,
                                   size_t number,
                                   enum plan_buffer buffer,
                                   const struct simulation_range *range);

/*
 * A flow has a start and an end; between them its bytes pass evenly, in
 * pieces. A flow that depends on its bytes starts at the earliest when their
 * first piece has passed, and ends when a piece of its own has followed the
 * last one:
 *
 *     earlier   |==|==|==|==|==|
 *     later        |==|==|==|==|==|
 *
 * A flow of at most one piece has passed when it has ended.
 */

struct simulation_flow {
    double start_ns; /* the earliest time, until start and end are settled */
    double end_ns;
    double bytes;
    double message_ns; /* processor time before the first byte */
    double byte_ns;    /* processor time per byte */
    bool is_arrival;   /* its arrival may wake the receiving rank */
};

/* The bytes that two flows share, as fractions of each, from 0 to 1. */
struct simulation_flow_overlap {
    float earlier_begin;
    float earlier_end;
    float later_begin;
    float later_end;
};

/* The overlap of two ranges, which must overlap. */
struct simulation_flow_overlap
simulation_range_overlap(const struct simulation_range *earlier,
                         const struct simulation_range *later);

enum {
    /* A receiver forwards what has arrived whenever it looks, which is less
     * than a full frame. */
    SIMULATION_PIECE_BYTES = 32 * 1024
};

/* Returns the flow of a step that depends on nothing. */
struct simulation_flow
simulation_flow_make(const struct simulation_machine *machine,
                     enum plan_step_type kind,
                     double bytes);

/* Bytes that move together. */
double
simulation_flow_piece_bytes(const struct simulation_flow *flow);

/* The processor time that the flow takes. */
double
simulation_flow_processor_ns(const struct simulation_flow *flow);

/* When the first piece has passed. */
double
simulation_flow_first_piece_ns(const struct simulation_flow *flow);

/* Make later, which depends on earlier, start and end no sooner than earlier
 * permits. earlier must be settled. */
void
simulation_flow_delay_after(struct simulation_flow *later,
                            const struct simulation_flow *earlier,
                            const struct simulation_flow_overlap *overlap);

/* The same for a flow whose bytes all come out of a wire between first_ns and
 * last_ns. */
void
simulation_flow_delay_to_arrival(struct simulation_flow *later,
                                 double first_ns,
                                 double last_ns);

struct simulation_step {
    struct simulation_flow flow;
    struct simulation_range reads;
    struct simulation_range writes;
    uint32_t vrank;
    uint32_t round;
    uint32_t peer;
    uint32_t message;
    /* Steps that it waits for; plus a message, if the caller adds it. */
    uint32_t n_awaited;
    uint32_t followers; /* the first edge to a step that waits for this one */
    uint32_t followers_last;
    uint32_t next;      /* the next step of the round */
    uint8_t kind;       /* an enum plan_step_type */
    uint8_t reads_from; /* an enum plan_buffer */
    uint8_t writes_to;
    /* Its flow is final, but dependent steps have not been updated. */
    bool is_begun;
    bool is_settled;
};

/* The rounds to simulate: all or a part of them. */
struct simulation_round_range {
    uint32_t first;
    uint32_t end;
};

/* What is simulated, and on which machine. All pointers are borrowed. */
struct simulation_setup {
    const struct simulation_mapping *mapping;
    const struct algorithm *algorithm;
    const struct simulation_machine *machine;
    size_t element_size;
    struct simulation_round_range rounds;
};

struct simulation_vrank;
struct simulation_edge;
struct round_access_index;

/* A round in the window. */
struct simulation_round_slot {
    uint32_t first; /* the first of its steps */
    uint32_t n_unsettled_steps;
    /* Of a round with many steps; else NULL. */
    struct round_access_index *index;
};

/* Zeroed memory is a valid deinit target. */
struct simulation_graph {
    struct simulation_setup setup;
    uint32_t window; /* rounds of a virtual rank that are remembered */
    struct simulation_vrank *vranks;
    struct simulation_round_slot *slots; /* [vrank][window] */
    struct simulation_step *steps;
    uint32_t n_steps;
    uint32_t steps_capacity;
    uint32_t spare_step;
    struct simulation_edge *edges;
    uint32_t n_edges;
    uint32_t edges_capacity;
    uint32_t spare_edge;
    struct plan plan;
    /* The mapping's shape, with the rank that is being planned. */
    struct plan_shape shape;
};

static const uint32_t SIMULATION_LIST_END = UINT32_MAX; /* ends a list */

/* Handle: none (HOOP_E_EXHAUSTED), for all functions below. */
enum hoop_status
simulation_graph_init(struct simulation_graph *graph,
                      const struct simulation_setup *setup);
void
simulation_graph_deinit(struct simulation_graph *graph);

/* Does the virtual rank have another round, and may it be opened? */
bool
simulation_graph_can_open_round(const struct simulation_graph *graph,
                                uint32_t vrank);

/*
 * Open the next round and find the dependencies of its steps. *out_first is its
 * first step, SIMULATION_LIST_END if it has none; step.next leads to the
 * others.
 */
enum hoop_status
simulation_graph_open_round(struct simulation_graph *graph,
                            uint32_t vrank,
                            uint32_t *out_first);

/* Make later depend on earlier. Both are open, or earlier is settled. */
enum hoop_status
simulation_graph_add_edge(struct simulation_graph *graph,
                          uint32_t later,
                          uint32_t earlier,
                          const struct simulation_flow_overlap *overlap);

/* The slot of a round in the window. */
struct simulation_round_slot *
simulation_graph_round_slot(const struct simulation_graph *graph,
                            uint32_t vrank,
                            uint32_t round);

/* Mark the step as settled. Its flow must be final. */
void
simulation_graph_settle_step(struct simulation_graph *graph, uint32_t step);

/* Removes one dependency on a settled step and returns the dependent step,
 * which is ready if it waits for nothing else. Returns SIMULATION_LIST_END
 * if none is left. */
uint32_t
simulation_graph_pop_follower(struct simulation_graph *graph, uint32_t step);

/*
 * A step depends on each step of an earlier round of its virtual rank that
 * touches the same bytes if one of the two writes them: the tracker's rule
 * (plan/tracker.h).
 */

/* Add the dependencies of step, which must be the newest of its virtual rank.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_dependency_add_for_step(struct simulation_graph *graph,
                                   uint32_t step);

/* Index the complete round in slot if it has many steps, so that later steps
 * quickly find those that touch their bytes. Handle: none
 * (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_dependency_index_round(struct simulation_graph *graph,
                                  struct simulation_round_slot *slot);

/* Free the index of the round in slot. */
void
simulation_dependency_free_index(struct simulation_round_slot *slot);

#endif
