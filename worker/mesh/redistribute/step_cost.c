/* mesh/redistribute/step_cost.c - estimates the cost of a redistribution's step */

#include "mesh/redistribute/step_cost.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "model/estimate.h"
#include "select/link.h"

DEFINE_CLEANUP(struct plan_nodes *, plan_nodes_destroy)

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
step_costs_init(struct step_costs *step_costs,
                const struct redistribution_request *request)
{
    memset(step_costs, 0, sizeof(*step_costs));
    step_costs->machine = link_typical_machine();
    step_costs->n_ranks = request->n_ranks;
    step_costs->element_size = dtype_size(request->dtype);
    step_costs->node_of_rank =
        calloc(request->n_ranks, sizeof(*step_costs->node_of_rank));
    if (!step_costs->node_of_rank)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks",
                           request->n_ranks);
    if (!request->tuner)
        return HOOP_OK;
    tuner_machine_and_overrides(request->tuner, &step_costs->machine,
                                &step_costs->overrides);
    const enum hoop_status status = nodes_from_roster(step_costs, request);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
step_costs_deinit(struct step_costs *step_costs)
{
    for (uint32_t i = 0; i < STEP_COST_AXIS_MASKS; i++) {
        plan_nodes_destroy(step_costs->lines[0][i].nodes);
        plan_nodes_destroy(step_costs->lines[1][i].nodes);
    }
    free(step_costs->node_of_rank);
    *step_costs = (struct step_costs){0};
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
line_on_most_nodes_find(const struct step_costs *step_costs,
                        const struct exchange_side *side,
                        const struct hoop_axes *axes,
                        struct step_cost_line *line)
{
    for (uint32_t i = 0; i < side->tiling.grid.n_places; i++) {
        CLEANUP(plan_nodes_destroy) struct plan_nodes *nodes = NULL;

        if (!place_is_first_on_line(&side->tiling.grid, axes, i))
            continue;
        const enum hoop_status status =
            line_nodes_find(step_costs, side, axes, i, &nodes);
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
line_find_fastest_algorithm(const struct step_costs *step_costs,
                            struct step_cost_cached *kept)
{
    const struct simulation_machine machine =
        machine_share_of_line(&step_costs->machine, kept->line->n_lines);
    /* A line does not have all ranks, so it has no shared region. */
    const struct estimate_environment place = {.nodes = kept->line->nodes,
                                               .machine = &machine};
    size_t n_entries;
    const struct registry_algorithm *entries =
        registry_collective_entries(kept->collective, &n_entries);

    for (size_t i = 0; i < n_entries; i++) {
        double ns;

        if (!algorithm_is_eligible(step_costs, &entries[i], &place))
            continue;
        const enum hoop_status status =
            estimate_cost(&place, &entries[i], kept->n_bytes, &ns);
        if (status != HOOP_OK)
            return error_pass(status);
        if (!kept->algorithm || ns < kept->ns) {
            kept->algorithm = entries[i].algorithm;
            kept->ns = ns;
        }
    }
    return HOOP_OK;
}

/* As line_find_fastest_algorithm(), but looks first for an earlier result,
 * which there often is. */
static enum hoop_status
line_cost_find_cached(struct step_costs *step_costs,
                      struct step_cost_cached *wanted)
{
    for (uint32_t i = 0; i < step_costs->n_kept; i++) {
        const struct step_cost_cached *kept = &step_costs->kept[i];

        if (kept->collective == wanted->collective &&
            kept->n_bytes == wanted->n_bytes && kept->line == wanted->line) {
            *wanted = *kept;
            return HOOP_OK;
        }
    }
    const enum hoop_status status =
        line_find_fastest_algorithm(step_costs, wanted);
    if (status != HOOP_OK)
        return error_pass(status);
    if (step_costs->n_kept < STEP_COST_CACHE_SIZE)
        step_costs->kept[step_costs->n_kept++] = *wanted;
    return HOOP_OK;
}

/* The cost of a collective along the step's axes; n_bytes as in
 * select/tuning.h. */
static enum hoop_status
step_cost_of_line(struct step_costs *step_costs,
                  const struct step_cost_request *mesh_step,
                  enum collective_kind collective,
                  size_t n_elements,
                  struct step_cost *out_step_cost)
{
    const struct hoop_axes *axes = &mesh_step->mesh_step->axes;
    struct step_cost_line *line =
        &step_costs->lines[mesh_step->mesh][axes_mask(axes)];
    struct step_cost_cached wanted = {.collective = collective,
                                      .n_bytes =
                                          n_elements * step_costs->element_size,
                                      .line = line};
    enum hoop_status status = HOOP_OK;

    if (!line->nodes)
        status = line_on_most_nodes_find(
            step_costs, step_costs->sides[mesh_step->mesh], axes, line);
    if (status == HOOP_OK)
        status = line_cost_find_cached(step_costs, &wanted);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_step_cost = (struct step_cost){wanted.ns, wanted.algorithm};
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

enum hoop_status
step_cost_of_mesh_step(struct step_costs *step_costs,
                       const struct step_cost_request *mesh_step,
                       struct step_cost *out_step_cost)
{
    const size_t elements_before = mesh_step->elements_before;
    const size_t elements_after = mesh_step->elements_after;
    size_t n_copied = elements_after;
    struct step_cost step_cost = {0};
    enum hoop_status status = HOOP_OK;

    switch (mesh_step->mesh_step->kind) {
    case HOOP_STEP_SLICE:
    case HOOP_STEP_FILL:
        break;
    case HOOP_STEP_ALLGATHER:
        status = step_cost_of_line(step_costs, mesh_step, COLLECTIVE_ALLGATHER,
                                   elements_after, &step_cost);
        break;
    case HOOP_STEP_ALL_TO_ALL:
        n_copied = elements_before + elements_after;
        status = step_cost_of_line(step_costs, mesh_step, COLLECTIVE_ALLTOALL,
                                   elements_before, &step_cost);
        break;
    case HOOP_STEP_REDUCE_SCATTER:
        n_copied = elements_before;
        status =
            step_cost_of_line(step_costs, mesh_step, COLLECTIVE_REDUCE_SCATTER,
                              elements_before, &step_cost);
        break;
    case HOOP_STEP_ALLREDUCE:
        status = step_cost_of_line(step_costs, mesh_step, COLLECTIVE_ALLREDUCE,
                                   elements_after, &step_cost);
        break;
    case HOOP_STEP_EXCHANGE:
        break;
    }
    if (status != HOOP_OK)
        return error_pass(status);
    step_cost.ns += local_copy_time_ns(step_costs, n_copied);
    *out_step_cost = step_cost;
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

enum hoop_status
step_cost_of_exchange(const struct step_costs *step_costs,
                      const struct exchange *exchange,
                      struct step_cost *out_step_cost)
{
    const struct simulation_machine *machine = &step_costs->machine;
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
    out_step_cost->ns =
        EXCHANGE_TIME_SAFETY_FACTOR *
            busiest_node_time_ns(step_costs, exchange, node_loads) +
        (is_inside ? machine->latency_inside_ns : machine->latency_between_ns);
    /* The first algorithm always applies, with any counts. */
    out_step_cost->algorithm =
        registry_collective_entries(COLLECTIVE_ALLTOALL, &n_entries)->algorithm;
    return HOOP_OK;
}
