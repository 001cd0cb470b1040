/*
 * model/simulation_graph.c - the steps of all virtual ranks, and dependencies
 *
 * Steps and edges are kept in two arrays that only grow, with free lists, and
 * refer to each other by index.
 */

#include "model/simulation_graph.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"

/* One step as a flow of bytes, and what follows it. */

/* A message that is too large to be sent without a grant goes in two parts,
 * with the grant between them: each side sends one message more and receives
 * one more. */
static double
rendezvous_grant_ns(const struct simulation_machine *machine, double bytes)
{
    return bytes > LIMIT_EAGER_WHOLE_MESSAGE
               ? machine->send_ns + machine->receive_ns
               : 0;
}

struct simulation_flow
simulation_flow_make(const struct simulation_machine *machine,
                     enum plan_step_type kind,
                     double bytes)
{
    struct simulation_flow flow = {.bytes = bytes};

    switch (kind) {
    case PLAN_SEND:
        flow.message_ns =
            machine->send_ns + rendezvous_grant_ns(machine, bytes);
        flow.byte_ns = machine->send_byte_ns;
        break;
    case PLAN_STORE:
        flow.message_ns =
            machine->receive_ns + rendezvous_grant_ns(machine, bytes);
        flow.is_arrival = true;
        flow.byte_ns = machine->receive_byte_ns;
        break;
    case PLAN_REDUCE:
        flow.message_ns =
            machine->receive_ns + rendezvous_grant_ns(machine, bytes);
        flow.is_arrival = true;
        flow.byte_ns = machine->receive_byte_ns + machine->reduce_byte_ns;
        break;
    case PLAN_COPY:
    case PLAN_POST_TO_SLOT:
    case PLAN_FETCH:
        flow.byte_ns = machine->copy_byte_ns;
        break;
    case PLAN_COMBINE:
    case PLAN_FETCH_REDUCE:
        flow.byte_ns = machine->reduce_byte_ns;
        break;
    case PLAN_EXPOSE:
        break;
    }
    return flow;
}

static bool
flow_is_one_piece(const struct simulation_flow *flow)
{
    return flow->bytes <= SIMULATION_PIECE_BYTES;
}

double
simulation_flow_piece_bytes(const struct simulation_flow *flow)
{
    return flow_is_one_piece(flow) ? flow->bytes : SIMULATION_PIECE_BYTES;
}

double
simulation_flow_processor_ns(const struct simulation_flow *flow)
{
    return flow->message_ns + flow->bytes * flow->byte_ns;
}

/* When the piece after this fraction of the flow has passed. Pieces move at the
 * processor's full speed, even if the flow as a whole waits for others. */
static double
piece_passed_time_ns(const struct simulation_flow *flow, double part)
{
    const double fraction_passed_ns =
        flow->start_ns + part * (flow->end_ns - flow->start_ns) +
        flow->message_ns + simulation_flow_piece_bytes(flow) * flow->byte_ns;

    return flow_is_one_piece(flow) || fraction_passed_ns > flow->end_ns
               ? flow->end_ns
               : fraction_passed_ns;
}

double
simulation_flow_first_piece_ns(const struct simulation_flow *flow)
{
    return piece_passed_time_ns(flow, 0);
}

static double
fraction_passed_ns(const struct simulation_flow *flow, double part)
{
    if (flow_is_one_piece(flow) || part >= 1)
        return flow->end_ns;
    return flow->start_ns + part * (flow->end_ns - flow->start_ns);
}

static void
lower_bound_raise_to(double *bound_ns, double ns)
{
    if (ns > *bound_ns)
        *bound_ns = ns;
}

void
simulation_flow_delay_after(struct simulation_flow *later,
                            const struct simulation_flow *earlier,
                            const struct simulation_flow_overlap *overlap)
{
    const double last_ns = fraction_passed_ns(earlier, overlap->earlier_end);
    const double common =
        (double)(overlap->later_end - overlap->later_begin) * later->bytes;
    const double piece = simulation_flow_piece_bytes(later);
    const double rest = (common < piece ? common : piece) +
                        (1.0 - (double)overlap->later_end) * later->bytes;

    if (flow_is_one_piece(later))
        lower_bound_raise_to(&later->start_ns, last_ns);
    else
        lower_bound_raise_to(
            &later->start_ns,
            piece_passed_time_ns(earlier, overlap->earlier_begin) -
                (double)overlap->later_begin * later->bytes * later->byte_ns);
    lower_bound_raise_to(&later->end_ns, last_ns + rest * later->byte_ns);
}

void
simulation_flow_delay_to_arrival(struct simulation_flow *later,
                                 double first_ns,
                                 double last_ns)
{
    lower_bound_raise_to(&later->start_ns,
                         flow_is_one_piece(later) ? last_ns : first_ns);
    lower_bound_raise_to(&later->end_ns,
                         last_ns + simulation_flow_piece_bytes(later) *
                                       later->byte_ns);
}

struct simulation_vrank {
    uint32_t n_rounds; /* the end of its rounds */
    uint32_t round_next;
    uint32_t first_unsettled_round; /* all rounds before it are settled */
    /* When the rounds that are no longer remembered have ended. */
    double closed_rounds_end_ns;
};

struct simulation_edge {
    struct simulation_flow_overlap overlap;
    uint32_t later;
    uint32_t next;
};

enum {
    GRAPH_CAPACITY_MIN = 256,
    GRAPH_WINDOW_MIN = 2,
};

/* With many virtual ranks the window is shorter; only plans whose rounds are
 * independent of each other would show a difference. */
static uint32_t
open_rounds_max(uint32_t n_vranks)
{
    const uint32_t share = LIMIT_SIMULATION_OPEN_ROUNDS / n_vranks;

    if (share > LIMIT_TRACKER_ROUNDS)
        return LIMIT_TRACKER_ROUNDS;
    return share < GRAPH_WINDOW_MIN ? GRAPH_WINDOW_MIN : share;
}

static void
graph_vrank_init(struct simulation_graph *graph, uint32_t vrank)
{
    const struct simulation_round_range *rounds = &graph->setup.rounds;

    graph->shape.rank = simulation_mapping_rank_of(graph->setup.mapping, vrank);

    const uint32_t n_rounds =
        algorithm_n_rounds(graph->setup.algorithm, &graph->shape);

    graph->vranks[vrank] = (struct simulation_vrank){
        .n_rounds = n_rounds < rounds->end ? n_rounds : rounds->end,
        .round_next = rounds->first,
        .first_unsettled_round = rounds->first,
    };
}

enum hoop_status
simulation_graph_init(struct simulation_graph *graph,
                      const struct simulation_setup *setup)
{
    const size_t n = setup->mapping->n_vranks;
    const uint32_t window = open_rounds_max(setup->mapping->n_vranks);

    *graph = (struct simulation_graph){
        .setup = *setup,
        .window = window,
        .spare_step = SIMULATION_LIST_END,
        .spare_edge = SIMULATION_LIST_END,
        .shape = *setup->mapping->shape,
    };
    graph->vranks = calloc(n, sizeof(*graph->vranks));
    graph->slots = calloc(n * window, sizeof(*graph->slots));
    if (!graph->vranks || !graph->slots) {
        simulation_graph_deinit(graph);
        return error_raise(HOOP_E_EXHAUSTED, "no memory to simulate %zu ranks",
                           n);
    }
    for (size_t i = 0; i < n * window; i++)
        graph->slots[i].first = SIMULATION_LIST_END;
    for (uint32_t vrank = 0; vrank < n; vrank++)
        graph_vrank_init(graph, vrank);
    return HOOP_OK;
}

void
simulation_graph_deinit(struct simulation_graph *graph)
{
    const size_t n_slots =
        graph->slots ? (size_t)graph->setup.mapping->n_vranks * graph->window
                     : 0;

    for (size_t i = 0; i < n_slots; i++)
        simulation_dependency_free_index(&graph->slots[i]);
    free(graph->vranks);
    free(graph->slots);
    free(graph->steps);
    free(graph->edges);
    plan_deinit(&graph->plan);
    *graph = (struct simulation_graph){0};
}

struct simulation_round_slot *
simulation_graph_round_slot(const struct simulation_graph *graph,
                            uint32_t vrank,
                            uint32_t round)
{
    return &graph->slots[(size_t)vrank * graph->window + round % graph->window];
}

bool
simulation_graph_can_open_round(const struct simulation_graph *graph,
                                uint32_t vrank)
{
    const struct simulation_vrank *at = &graph->vranks[vrank];

    return at->round_next < at->n_rounds &&
           at->round_next - at->first_unsettled_round < graph->window;
}

/* Frees the slot for round_next; the round that was in it is settled. */
static void
round_slot_clear(struct simulation_graph *graph, uint32_t vrank)
{
    struct simulation_vrank *at = &graph->vranks[vrank];
    struct simulation_round_slot *slot =
        simulation_graph_round_slot(graph, vrank, at->round_next);
    uint32_t next;

    assert(slot->n_unsettled_steps == 0);
    for (uint32_t i = slot->first; i != SIMULATION_LIST_END; i = next) {
        struct simulation_step *step = &graph->steps[i];

        next = step->next;
        if (step->flow.end_ns > at->closed_rounds_end_ns)
            at->closed_rounds_end_ns = step->flow.end_ns;
        step->next = graph->spare_step;
        graph->spare_step = i;
    }
    slot->first = SIMULATION_LIST_END;
    simulation_dependency_free_index(slot);
}

static enum hoop_status
step_allocate(struct simulation_graph *graph, uint32_t *out_step)
{
    if (graph->spare_step != SIMULATION_LIST_END) {
        *out_step = graph->spare_step;
        graph->spare_step = graph->steps[*out_step].next;
        return HOOP_OK;
    }
    if (graph->n_steps == graph->steps_capacity) {
        const uint32_t capacity = graph->steps_capacity
                                      ? 2 * graph->steps_capacity
                                      : GRAPH_CAPACITY_MIN;
        struct simulation_step *steps =
            reallocarray(graph->steps, capacity, sizeof(*steps));

        if (!steps)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory to simulate %u steps at once",
                               capacity);
        graph->steps = steps;
        graph->steps_capacity = capacity;
    }
    *out_step = graph->n_steps++;
    return HOOP_OK;
}

static enum hoop_status
edge_allocate(struct simulation_graph *graph, uint32_t *out_edge)
{
    if (graph->spare_edge != SIMULATION_LIST_END) {
        *out_edge = graph->spare_edge;
        graph->spare_edge = graph->edges[*out_edge].next;
        return HOOP_OK;
    }
    if (graph->n_edges == graph->edges_capacity) {
        const uint32_t capacity = graph->edges_capacity
                                      ? 2 * graph->edges_capacity
                                      : GRAPH_CAPACITY_MIN;
        struct simulation_edge *edges =
            reallocarray(graph->edges, capacity, sizeof(*edges));

        if (!edges)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory to simulate %u dependencies at once",
                               capacity);
        graph->edges = edges;
        graph->edges_capacity = capacity;
    }
    *out_edge = graph->n_edges++;
    return HOOP_OK;
}

static struct simulation_range
span_range(const struct plan_span *span)
{
    return (struct simulation_range){span->first, span->first + span->count};
}

/* Does the step sum in scratch which, for all ranks of the node together, does
 * not fit the cache? */
static bool
step_exceeds_cache(const struct simulation_graph *graph,
                   uint32_t vrank,
                   const struct plan_step *step)
{
    const uint64_t cache_bytes = graph->setup.machine->cache_bytes;
    const uint32_t n_ranks =
        simulation_mapping_node_size(graph->setup.mapping, vrank);
    const double n_bytes =
        (double)step->to.count * (double)graph->setup.element_size * n_ranks;

    if (step->kind != PLAN_REDUCE && step->kind != PLAN_COMBINE)
        return false;
    return step->to.buffer == PLAN_SCRATCH && cache_bytes > 0 &&
           n_bytes > (double)cache_bytes;
}

static struct simulation_step
simulation_step_make(const struct simulation_graph *graph,
                     uint32_t vrank,
                     const struct plan_step *plan_step)
{
    const struct plan_access access =
        plan_step_access(plan_step, &graph->shape);
    const size_t count = plan_step->kind == PLAN_SEND ? plan_step->from.count
                                                      : plan_step->to.count;
    struct simulation_step step = {
        .reads = span_range(&access.reads),
        .writes = span_range(&access.writes),
        .vrank = vrank,
        .round = graph->vranks[vrank].round_next,
        .peer = plan_step->peer,
        .message = plan_step->message,
        .followers = SIMULATION_LIST_END,
        .next = SIMULATION_LIST_END,
        .kind = (uint8_t)plan_step->kind,
        .reads_from = (uint8_t)access.reads.buffer,
        .writes_to = (uint8_t)access.writes.buffer,
    };

    step.flow =
        simulation_flow_make(graph->setup.machine, plan_step->kind,
                             (double)count * (double)graph->setup.element_size);
    if (step_exceeds_cache(graph, vrank, plan_step))
        step.flow.byte_ns += graph->setup.machine->memory_byte_ns;
    step.flow.start_ns = graph->vranks[vrank].closed_rounds_end_ns;
    return step;
}

enum hoop_status
simulation_graph_add_edge(struct simulation_graph *graph,
                          uint32_t later,
                          uint32_t earlier,
                          const struct simulation_flow_overlap *overlap)
{
    uint32_t edge = SIMULATION_LIST_END;

    if (graph->steps[earlier].is_settled) {
        simulation_flow_delay_after(&graph->steps[later].flow,
                                    &graph->steps[earlier].flow, overlap);
        return HOOP_OK;
    }

    const enum hoop_status status = edge_allocate(graph, &edge);
    if (status != HOOP_OK)
        return error_pass(status);
    graph->edges[edge] = (struct simulation_edge){
        .overlap = *overlap,
        .later = later,
        .next = SIMULATION_LIST_END,
    };
    /* Appended at the end, so that of steps that become ready together those of
     * older rounds go first. */
    if (graph->steps[earlier].followers == SIMULATION_LIST_END)
        graph->steps[earlier].followers = edge;
    else
        graph->edges[graph->steps[earlier].followers_last].next = edge;
    graph->steps[earlier].followers_last = edge;
    graph->steps[later].n_awaited++;
    return HOOP_OK;
}

static enum hoop_status
step_add_to_round(struct simulation_graph *graph,
                  uint32_t vrank,
                  const struct plan_step *plan_step)
{
    struct simulation_round_slot *slot = simulation_graph_round_slot(
        graph, vrank, graph->vranks[vrank].round_next);
    uint32_t step = SIMULATION_LIST_END;

    const enum hoop_status status = step_allocate(graph, &step);
    if (status != HOOP_OK)
        return error_pass(status);
    graph->steps[step] = simulation_step_make(graph, vrank, plan_step);
    graph->steps[step].next = slot->first;
    slot->first = step;
    slot->n_unsettled_steps++;
    return simulation_dependency_add_for_step(graph, step);
}

static void
first_unsettled_round_advance(struct simulation_graph *graph, uint32_t vrank)
{
    struct simulation_vrank *at = &graph->vranks[vrank];

    while (at->first_unsettled_round < at->round_next &&
           simulation_graph_round_slot(graph, vrank, at->first_unsettled_round)
                   ->n_unsettled_steps == 0)
        at->first_unsettled_round++;
}

enum hoop_status
simulation_graph_open_round(struct simulation_graph *graph,
                            uint32_t vrank,
                            uint32_t *out_first)
{
    assert(simulation_graph_can_open_round(graph, vrank));

    struct simulation_vrank *at = &graph->vranks[vrank];
    struct simulation_round_slot *slot =
        simulation_graph_round_slot(graph, vrank, at->round_next);
    enum hoop_status status;

    round_slot_clear(graph, vrank);
    plan_clear(&graph->plan);
    graph->shape.rank = simulation_mapping_rank_of(graph->setup.mapping, vrank);
    algorithm_plan_round(graph->setup.algorithm, &graph->plan, &graph->shape,
                         at->round_next);
    status = plan_status(&graph->plan);
    for (size_t i = graph->plan.n_steps; status == HOOP_OK && i > 0; i--)
        status = step_add_to_round(graph, vrank, &graph->plan.steps[i - 1]);
    if (status == HOOP_OK)
        status = simulation_dependency_index_round(graph, slot);
    if (status != HOOP_OK)
        return error_pass(status);
    at->round_next++;
    first_unsettled_round_advance(graph, vrank);
    *out_first = slot->first;
    return HOOP_OK;
}

void
simulation_graph_settle_step(struct simulation_graph *graph, uint32_t step)
{
    struct simulation_step *settled = &graph->steps[step];

    assert(settled->n_awaited == 0 && !settled->is_settled);
    settled->is_settled = true;
    simulation_graph_round_slot(graph, settled->vrank, settled->round)
        ->n_unsettled_steps--;
    first_unsettled_round_advance(graph, settled->vrank);
}

uint32_t
simulation_graph_pop_follower(struct simulation_graph *graph, uint32_t step)
{
    struct simulation_step *settled = &graph->steps[step];
    const uint32_t i = settled->followers;

    assert(settled->is_settled);
    if (i == SIMULATION_LIST_END)
        return SIMULATION_LIST_END;

    struct simulation_edge *edge = &graph->edges[i];
    const uint32_t later = edge->later;

    simulation_flow_delay_after(&graph->steps[later].flow, &settled->flow,
                                &edge->overlap);
    graph->steps[later].n_awaited--;
    settled->followers = edge->next;
    edge->next = graph->spare_edge;
    graph->spare_edge = i;
    return later;
}
