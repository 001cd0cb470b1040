/* mesh/redistribute/step_cost.c - estimates the cost of a redistribution's
 * step */

#include "mesh/redistribute/step_cost.h"

#include <stdlib.h>
#include <string.h>

#include "algorithms/registry.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "mesh/redistribute/mesh_step.h"
#include "mesh/sharding.h"
#include "plan/nodes.h"
#include "select/estimate.h"
#include "select/link.h"
#include "select/overrides.h"

DEFINE_CLEANUP(struct plan_nodes *, plan_nodes_destroy)

enum {
    STEP_COST_CACHE_SIZE = 128,
};

/* The lines along some axes, represented by the one on most nodes. */
struct line {
    struct line *next;
    enum redistribution_mesh mesh;
    struct hoop_axes axes;
    struct plan_nodes *nodes;
    uint32_t n_lines; /* lines that share its first rank's node */
    /* the first known one with the same nodes and n_lines; maybe itself */
    const struct line *twin;
};

/* The result of an earlier simulation. */
struct line_cost {
    enum collective_kind collective;
    const struct line *line; /* no twin of another */
    uint64_t n_bytes;        /* as in select/tuning.h */
    const struct algorithm *algorithm;
    double ns;
};

struct step_costs {
    const struct redistribution_problem *problem;
    struct simulation_machine machine;
    struct overrides overrides;
    uint32_t n_ranks;
    size_t element_size;
    struct line *lines; /* a list */
    uint32_t n_kept;
    struct line_cost kept[STEP_COST_CACHE_SIZE];
    uint32_t node_of_rank[]; /* [rank of the context] */
};

struct rank_on_host {
    const char *host_id;
    uint32_t rank;
};

static int
host_compare(const void *left, const void *right)
{
    const struct rank_on_host *one = left;
    const struct rank_on_host *other = right;

    return strcmp(one->host_id, other->host_id);
}

/* Numbers the nodes of the context's ranks. */
static enum hoop_status
nodes_from_roster(struct step_costs *step_costs,
                  const struct redistribution_request *request)
{
    const struct roster *roster = tuner_roster(request->tuner);
    CLEANUP(free)
    struct rank_on_host *rank_on_host =
        calloc(step_costs->n_ranks, sizeof(*rank_on_host));
    uint32_t node = 0;

    if (!rank_on_host)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks",
                           step_costs->n_ranks);
    for (uint32_t rank = 0; rank < step_costs->n_ranks; rank++) {
        const uint32_t member =
            request->world_ranks ? request->world_ranks[rank] : rank;

        rank_on_host[rank] = (struct rank_on_host){
            .host_id = roster->members[member].host_id, .rank = rank};
    }
    qsort(rank_on_host, step_costs->n_ranks, sizeof(*rank_on_host),
          host_compare);
    for (uint32_t i = 0; i < step_costs->n_ranks; i++) {
        if (i > 0 && host_compare(&rank_on_host[i - 1], &rank_on_host[i]) != 0)
            node++;
        step_costs->node_of_rank[rank_on_host[i].rank] = node;
    }
    return HOOP_OK;
}

enum hoop_status
step_costs_create(const struct redistribution_problem *problem,
                  struct step_costs **out_step_costs)
{
    const struct redistribution_request *request = problem->request;
    CLEANUP(step_costs_destroy)
    struct step_costs *made = calloc(
        1, sizeof(*made) + request->n_ranks * sizeof(*made->node_of_rank));

    if (!made)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks",
                           request->n_ranks);
    made->problem = problem;
    made->machine = link_typical_machine();
    made->n_ranks = request->n_ranks;
    made->element_size = dtype_size(request->dtype);
    if (request->tuner) {
        tuner_machine_and_overrides(request->tuner, &made->machine,
                                    &made->overrides);
        const enum hoop_status status = nodes_from_roster(made, request);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_step_costs = STEAL(made);
    return HOOP_OK;
}

static void
line_destroy(struct line *line)
{
    if (line)
        plan_nodes_destroy(line->nodes);
    free(line);
}
DEFINE_CLEANUP(struct line *, line_destroy)

void
step_costs_destroy(struct step_costs *step_costs)
{
    if (!step_costs)
        return;
    while (step_costs->lines) {
        struct line *line = step_costs->lines;

        step_costs->lines = line->next;
        line_destroy(line);
    }
    free(step_costs);
}

static uint32_t
node_of_place(const struct step_costs *step_costs,
              const struct exchange_side *side,
              uint32_t place)
{
    return step_costs->node_of_rank[side->ranks[place]];
}

static uint32_t
node_n_places(const struct step_costs *step_costs,
              const struct exchange_side *side,
              uint32_t node)
{
    uint32_t n = 0;

    for (uint32_t place = 0; place < side->tiling.grid.n_places; place++)
        n += node_of_place(step_costs, side, place) == node;
    return n;
}

/* Finds the nodes of the line through place. */
static enum hoop_status
line_nodes_find(const struct step_costs *step_costs,
                const struct exchange_side *side,
                const struct hoop_axes *axes,
                uint32_t place,
                struct plan_nodes **out_nodes)
{
    const struct grid *grid = &side->tiling.grid;
    const uint32_t n_ranks = grid_line_n_places(grid, axes);
    CLEANUP(free) uint32_t *names = calloc(n_ranks, sizeof(*names));

    if (!names)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a line of %u",
                           n_ranks);
    for (uint32_t i = 0; i < n_ranks; i++)
        names[i] = node_of_place(step_costs, side,
                                 grid_line_nth_place(grid, axes, place, i));
    return plan_nodes_create(names, n_ranks, out_nodes);
}

static bool
place_is_first_on_line(const struct grid *grid,
                       const struct hoop_axes *axes,
                       uint32_t place)
{
    uint32_t at[HOOP_MAX_AXES];

    grid_coordinates_of_place(grid, place, at);
    for (uint32_t i = 0; i < axes->n_axes; i++) {
        if (at[axes->axes[i]] > 0)
            return false;
    }
    return true;
}

/* Finds the line on most nodes, the first one of several. */
static enum hoop_status
line_on_most_nodes_find(const struct step_costs *step_costs, struct line *line)
{
    const struct exchange_side *side = step_costs->problem->sides[line->mesh];

    for (uint32_t i = 0; i < side->tiling.grid.n_places; i++) {
        CLEANUP(plan_nodes_destroy) struct plan_nodes *nodes = NULL;

        if (!place_is_first_on_line(&side->tiling.grid, &line->axes, i))
            continue;
        const enum hoop_status status =
            line_nodes_find(step_costs, side, &line->axes, i, &nodes);
        if (status != HOOP_OK)
            return error_pass(status);
        if (line->nodes && nodes->n_nodes <= line->nodes->n_nodes)
            continue;
        line->n_lines = node_n_places(step_costs, side,
                                      node_of_place(step_costs, side, i)) /
                        plan_nodes_node_size(nodes, 0);
        plan_nodes_destroy(line->nodes);
        line->nodes = STEAL(nodes);
    }
    return HOOP_OK;
}

static bool
lines_equal(const struct line *one, const struct line *other)
{
    return one->n_lines == other->n_lines &&
           one->nodes->n_ranks == other->nodes->n_ranks &&
           memcmp(one->nodes->node_of, other->nodes->node_of,
                  one->nodes->n_ranks * sizeof(*one->nodes->node_of)) == 0;
}

/* Finds the lines along the axes of a step, on first use by a look at all. */
static enum hoop_status
step_line_find(struct step_costs *step_costs,
               const struct redistribution_step *step,
               const struct line **out_line)
{
    const struct line *known = step_costs->lines;

    while (known && (known->mesh != step->mesh ||
                     !axes_equal(&known->axes, &step->axes)))
        known = known->next;
    if (!known) {
        CLEANUP(line_destroy) struct line *line = calloc(1, sizeof(*line));

        if (!line)
            return error_raise(HOOP_E_EXHAUSTED, "no memory for a line");
        line->mesh = step->mesh;
        line->axes = step->axes;
        const enum hoop_status status =
            line_on_most_nodes_find(step_costs, line);
        if (status != HOOP_OK)
            return error_pass(status);
        line->twin = line;
        for (known = step_costs->lines; known; known = known->next)
            line->twin = lines_equal(known, line) ? known->twin : line->twin;
        line->next = step_costs->lines;
        known = step_costs->lines = STEAL(line);
    }
    *out_line = known->twin;
    return HOOP_OK;
}

/* Returns the share of a machine that one of n_lines on the same nodes has. */
static struct simulation_machine
machine_share_of_line(const struct simulation_machine *machine,
                      uint32_t n_lines)
{
    struct simulation_machine share = *machine;

    share.link_between_ns *= n_lines;
    share.n_processors = machine->n_processors / n_lines;
    if (share.n_processors > 0)
        return share;
    /* Less than one processor is modelled as a slower one. */
    const double crowd = (double)n_lines / machine->n_processors;
    share.n_processors = 1;
    share.send_ns *= crowd;
    share.receive_ns = share.receive_ns * crowd + machine->wait_ns;
    share.send_byte_ns *= crowd;
    share.receive_byte_ns *= crowd;
    share.copy_byte_ns *= crowd;
    share.reduce_byte_ns *= crowd;
    return share;
}

/* Returns whether an algorithm can run without knowing the nodes. */
static bool
algorithm_can_run(const struct registry_algorithm *entry,
                  const struct estimate_environment *place)
{
    return !entry->needs_nodes && estimate_can_choose(place, entry);
}

static bool
algorithm_is_eligible(const struct step_costs *step_costs,
                      const struct registry_algorithm *entry,
                      const struct estimate_environment *place)
{
    const struct registry_algorithm *overrides =
        step_costs->overrides.entries[entry->collective];

    if (overrides && algorithm_can_run(overrides, place))
        return entry == overrides;
    return algorithm_can_run(entry, place);
}

/* Finds the fastest algorithm and its time. */
static enum hoop_status
line_cost_simulate(const struct step_costs *step_costs, struct line_cost *cost)
{
    const struct simulation_machine machine =
        machine_share_of_line(&step_costs->machine, cost->line->n_lines);
    /* A line does not have all ranks, so it has no shared region. */
    const struct estimate_environment place = {.nodes = cost->line->nodes,
                                               .machine = &machine};
    size_t n_entries;
    const struct registry_algorithm *entries =
        registry_collective_entries(cost->collective, &n_entries);

    for (size_t i = 0; i < n_entries; i++) {
        double ns;

        if (!algorithm_is_eligible(step_costs, &entries[i], &place))
            continue;
        const enum hoop_status status =
            estimate_cost(&place, &entries[i], cost->n_bytes, &ns);
        if (status != HOOP_OK)
            return error_pass(status);
        if (!cost->algorithm || ns < cost->ns) {
            cost->algorithm = entries[i].algorithm;
            cost->ns = ns;
        }
    }
    return HOOP_OK;
}

/* Sets the algorithm and the time of a collective along the step's axes. Looks
 * first for an earlier result, which there often is. */
static enum hoop_status
line_cost_estimate(struct step_costs *step_costs,
                   struct redistribution_step *step,
                   enum collective_kind collective,
                   size_t n_elements)
{
    struct line_cost cost = {.collective = collective,
                             .n_bytes = n_elements * step_costs->element_size};
    uint32_t i = 0;

    enum hoop_status status = step_line_find(step_costs, step, &cost.line);
    if (status != HOOP_OK)
        return error_pass(status);
    while (i < step_costs->n_kept &&
           (step_costs->kept[i].collective != collective ||
            step_costs->kept[i].n_bytes != cost.n_bytes ||
            step_costs->kept[i].line != cost.line))
        i++;
    if (i < step_costs->n_kept) {
        cost = step_costs->kept[i];
    } else {
        status = line_cost_simulate(step_costs, &cost);
        if (status != HOOP_OK)
            return error_pass(status);
        if (i < STEP_COST_CACHE_SIZE)
            step_costs->kept[step_costs->n_kept++] = cost;
    }
    step->algorithm = cost.algorithm;
    step->time_ns = cost.ns;
    return HOOP_OK;
}

/* The time of a copy on this rank while all ranks of its node copy. */
static double
local_copy_time_ns(const struct step_costs *step_costs, size_t n_elements)
{
    uint32_t n_here = 0;

    /* The node of the first rank is used for all. */
    for (uint32_t rank = 0; rank < step_costs->n_ranks; rank++)
        n_here += step_costs->node_of_rank[rank] == step_costs->node_of_rank[0];
    const double crowd = (double)n_here / step_costs->machine.n_processors;
    return (double)n_elements * (double)step_costs->element_size *
           step_costs->machine.copy_byte_ns * (crowd > 1 ? crowd : 1);
}

static size_t
step_largest_part(const struct step_costs *step_costs,
                  const struct redistribution_step *step,
                  const struct hoop_sharding *sharding)
{
    const struct redistribution_request *request = step_costs->problem->request;

    return sharding_largest_part(sharding,
                                 step->mesh == REDISTRIBUTION_MESH_FROM
                                     ? &request->from.mesh
                                     : &request->to.mesh,
                                 &request->shape);
}

static enum hoop_status
mesh_step_cost_estimate(struct step_costs *step_costs,
                        struct redistribution_step *step)
{
    const size_t n_before = step_largest_part(step_costs, step, &step->before);
    const size_t n_after = step_largest_part(step_costs, step, &step->after);
    size_t n_copied = n_after;
    enum hoop_status status = HOOP_OK;

    step->algorithm = NULL;
    step->time_ns = 0;
    switch (step->kind) {
    case HOOP_STEP_SLICE:
    case HOOP_STEP_FILL:
    case HOOP_STEP_EXCHANGE:
        break;
    case HOOP_STEP_ALLGATHER:
        status =
            line_cost_estimate(step_costs, step, COLLECTIVE_ALLGATHER, n_after);
        break;
    case HOOP_STEP_ALL_TO_ALL:
        n_copied = n_before + n_after;
        status =
            line_cost_estimate(step_costs, step, COLLECTIVE_ALLTOALL, n_before);
        break;
    case HOOP_STEP_REDUCE_SCATTER:
        n_copied = n_before;
        status = line_cost_estimate(step_costs, step, COLLECTIVE_REDUCE_SCATTER,
                                    n_before);
        break;
    case HOOP_STEP_ALLREDUCE:
        status =
            line_cost_estimate(step_costs, step, COLLECTIVE_ALLREDUCE, n_after);
        break;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    step->time_ns += local_copy_time_ns(step_costs, n_copied);
    return HOOP_OK;
}

/* The estimate of an exchange ignores pairs that wait for each other, so steps
 * along lines that are about as fast are preferred. */
static const double EXCHANGE_TIME_SAFETY_FACTOR = 1.25;

/* The total work of a node's ranks. */
struct node_load {
    double total_processor_ns;
    double n_bytes_sent;
    double n_bytes_received;
    uint32_t n_waiting_ranks; /* ranks that are woken when all has arrived */
    uint32_t n_ranks;
};

/* The time of a rank that has a processor for itself. */
static double
rank_time_ns(const struct step_costs *step_costs,
             const struct exchange_rank_work *load)
{
    const struct simulation_machine *machine = &step_costs->machine;
    const double bytes = (double)step_costs->element_size;

    return load->sends * machine->send_ns +
           load->receives * machine->receive_ns +
           load->n_sent * bytes *
               (machine->send_byte_ns + machine->copy_byte_ns) +
           load->n_received * bytes *
               (machine->receive_byte_ns + machine->copy_byte_ns) +
           load->n_kept * bytes * machine->copy_byte_ns;
}

static double
larger(double one, double other)
{
    return one > other ? one : other;
}

/* Returns which fraction of the bytes that a rank sends to all others leaves a
 * node of n ranks. */
static double
fraction_sent_off_node(const struct step_costs *step_costs, uint32_t n)
{
    return step_costs->n_ranks > 1
               ? (double)(step_costs->n_ranks - n) / (step_costs->n_ranks - 1)
               : 0;
}

static double
node_time_ns(const struct step_costs *step_costs,
             const struct node_load *node_load)
{
    const struct simulation_machine *machine = &step_costs->machine;
    const double bytes =
        larger(node_load->n_bytes_sent, node_load->n_bytes_received) *
        fraction_sent_off_node(step_costs, node_load->n_ranks);
    const double waits_ns = node_load->n_ranks > machine->n_processors
                                ? node_load->n_waiting_ranks * machine->wait_ns
                                : 0;

    return larger((node_load->total_processor_ns + waits_ns) /
                      machine->n_processors,
                  bytes * machine->link_between_ns);
}

/* node_loads is zeroed and has room for all nodes. */
static double
busiest_node_time_ns(const struct step_costs *step_costs,
                     const struct exchange *exchange,
                     struct node_load *node_loads)
{
    const double bytes = (double)step_costs->element_size;
    double ns = 0;

    for (uint32_t rank = 0; rank < step_costs->n_ranks; rank++) {
        const struct exchange_rank_work load =
            exchange_rank_work(exchange, rank);
        struct node_load *node_load =
            &node_loads[step_costs->node_of_rank[rank]];
        const double alone_ns = rank_time_ns(step_costs, &load);

        node_load->n_ranks++;
        node_load->total_processor_ns += alone_ns;
        node_load->n_bytes_sent += load.n_sent * bytes;
        node_load->n_bytes_received += load.n_received * bytes;
        node_load->n_waiting_ranks += load.receives > 0;
        ns = larger(ns, alone_ns);
        ns = larger(ns, larger(load.n_sent, load.n_received) * bytes *
                            step_costs->machine.link_inside_ns);
    }
    for (uint32_t node = 0; node < step_costs->n_ranks; node++)
        ns = larger(ns, node_time_ns(step_costs, &node_loads[node]));
    return ns;
}

static enum hoop_status
exchange_cost_estimate(const struct step_costs *step_costs,
                       struct redistribution_step *step)
{
    const struct simulation_machine *machine = &step_costs->machine;
    const struct exchange exchange =
        exchange_between(step_costs->problem, &step->before, &step->after);
    CLEANUP(free)
    struct node_load *node_loads =
        calloc(step_costs->n_ranks, sizeof(*node_loads));
    size_t n_entries;

    if (!node_loads)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks",
                           step_costs->n_ranks);
    bool is_inside = true;
    for (uint32_t rank = 0; rank < step_costs->n_ranks; rank++)
        is_inside = is_inside && step_costs->node_of_rank[rank] ==
                                     step_costs->node_of_rank[0];
    step->time_ns =
        EXCHANGE_TIME_SAFETY_FACTOR *
            busiest_node_time_ns(step_costs, &exchange, node_loads) +
        (is_inside ? machine->latency_inside_ns : machine->latency_between_ns);
    /* The first algorithm always applies, with any counts. */
    step->algorithm =
        registry_collective_entries(COLLECTIVE_ALLTOALL, &n_entries)->algorithm;
    return HOOP_OK;
}

enum hoop_status
step_costs_estimate(struct step_costs *step_costs,
                    struct redistribution_step *step)
{
    const enum hoop_status status =
        step->kind == HOOP_STEP_EXCHANGE
            ? exchange_cost_estimate(step_costs, step)
            : mesh_step_cost_estimate(step_costs, step);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
