/*
 * select/estimate.c - estimates what one algorithm costs at one size
 *
 * For large communicators, only the first ranks are simulated:
 *
 *     dense   A rank has many steps. The time of few ranks with messages of the
 *             same size is scaled to the real number of steps.
 *     light   A rank has a handful of steps: trees and chains. Up to a thousand
 *             ranks are simulated as they are. Beyond that, each doubling of
 *             the ranks is assumed to multiply the time by the same factor.
 *
 * If more ranks share a processor than in the simulation, the time is
 * multiplied accordingly.
 */

#include "select/estimate.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "model/simulation.h"

enum {
    ELEMENT_BYTES = 4,
    GRANULE_ELEMENTS = 64 / ELEMENT_BYTES,
    /* Steps of all ranks; they take about a millisecond or a few. */
    SIMULATED_STEPS_MAX = 20000,
    EXTRAPOLATION_BASE_RANKS = 64,
    STEPS_PER_RANK_FEW = 4,
    FEW_STEPS_RANKS_MAX = 1024,
    /* Rounds that are planned to count steps; the others are like them. */
    WORKLOAD_ROUNDS_MAX = 256,
};

DEFINE_CLEANUP(struct plan_nodes *, plan_nodes_destroy)

static struct plan_shape
estimate_shape_of(const struct estimate_environment *place,
                  enum collective_kind collective,
                  uint64_t n_bytes)
{
    const uint32_t size = place->nodes->n_ranks;
    const uint64_t n_blocks = registry_is_blockwise(collective) ? size : 1;
    const uint64_t count = n_bytes / ELEMENT_BYTES / n_blocks;

    return (struct plan_shape){
        .size = size,
        .count = count > 0 ? count : 1,
        .granule = GRANULE_ELEMENTS,
        .nodes = place->nodes,
        .slot_capacity = place->shm_region.slot_capacity / ELEMENT_BYTES,
        .has_cma = place->shm_region.has_cma,
    };
}

bool
estimate_can_choose(const struct estimate_environment *place,
                    const struct registry_algorithm *entry)
{
    const struct plan_shape shape =
        estimate_shape_of(place, entry->collective, 0);

    return !entry->is_opt_in && registry_algorithm_suits_shape(entry, &shape);
}

/* What one rank has to do. */
struct rank_step_workload {
    double n_steps;
    double n_elements;
};

/* Counts the steps of a rank in the middle. Its number is odd, which makes it a
 * leaf of a tree, as most ranks are. */
static enum hoop_status
rank_workload_count(const struct algorithm *algorithm,
                    const struct plan_shape *shape,
                    struct rank_step_workload *out_workload)
{
    struct plan_shape middle = *shape;
    struct rank_step_workload rank_step_workload = {0, 0};
    struct plan plan = {0};

    middle.rank = (shape->size / 2) | 1;
    const uint32_t n_rounds = algorithm_n_rounds(algorithm, &middle);
    const uint32_t n_counted =
        n_rounds < WORKLOAD_ROUNDS_MAX ? n_rounds : WORKLOAD_ROUNDS_MAX;
    for (uint32_t i = 0; i < n_counted; i++) {
        plan_clear(&plan);
        algorithm_plan_round(algorithm, &plan, &middle,
                             (uint32_t)((uint64_t)n_rounds * i / n_counted));
        for (size_t j = 0; j < plan.n_steps; j++)
            rank_step_workload.n_elements +=
                (double)(plan.steps[j].from.count > plan.steps[j].to.count
                             ? plan.steps[j].from.count
                             : plan.steps[j].to.count);
        rank_step_workload.n_steps += (double)plan.n_steps;
    }
    const enum hoop_status status = plan_status(&plan);
    plan_deinit(&plan);
    if (status != HOOP_OK)
        return error_pass(status);
    if (n_counted > 0) {
        rank_step_workload.n_steps *= (double)n_rounds / n_counted;
        rank_step_workload.n_elements *= (double)n_rounds / n_counted;
    }
    *out_workload = rank_step_workload;
    return HOOP_OK;
}

static enum hoop_status
simulate_algorithm(const struct estimate_environment *place,
                   const struct algorithm *algorithm,
                   const struct plan_shape *shape,
                   double *out_ns)
{
    struct simulation_result result = {0};
    const enum hoop_status status = simulation_run_fast(
        algorithm, shape, ELEMENT_BYTES, place->machine, &result);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_ns = result.time_ns;
    return HOOP_OK;
}

/* The nodes of the first n_ranks ranks. */
static enum hoop_status
plan_nodes_of_first_ranks(const struct estimate_environment *full,
                          uint32_t n_ranks,
                          struct plan_nodes **out_nodes)
{
    return plan_nodes_create(full->nodes->node_of, n_ranks, out_nodes);
}

double
estimate_oversubscription(const struct estimate_environment *place)
{
    uint32_t n_most = 1;

    for (uint32_t node = 0; node < place->nodes->n_nodes; node++) {
        const uint32_t n = plan_nodes_node_size(place->nodes, node);

        n_most = n > n_most ? n : n_most;
    }
    const double oversubscription =
        (double)n_most / place->machine->n_processors;
    return oversubscription > 1 ? oversubscription : 1;
}

/* The messages are as large as they are among all ranks. */
static enum hoop_status
simulate_few_and_scale(const struct estimate_environment *full,
                       const struct algorithm *algorithm,
                       const struct plan_shape *shape,
                       const struct rank_step_workload *rank_step_workload,
                       double *out_ns)
{
    CLEANUP(plan_nodes_destroy) struct plan_nodes *nodes = NULL;
    struct plan_shape few = *shape;
    struct rank_step_workload share;

    enum hoop_status status =
        plan_nodes_of_first_ranks(full, EXTRAPOLATION_BASE_RANKS, &nodes);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct estimate_environment place = {.nodes = nodes,
                                               .machine = full->machine};
    few.size = EXTRAPOLATION_BASE_RANKS;
    few.nodes = nodes;
    status = rank_workload_count(algorithm, &few, &share);
    if (status != HOOP_OK)
        return error_pass(status);
    if (share.n_elements > 0)
        few.count = (size_t)((double)few.count *
                                 (rank_step_workload->n_elements /
                                  rank_step_workload->n_steps) /
                                 (share.n_elements / share.n_steps) +
                             1);
    status = simulate_algorithm(&place, algorithm, &few, out_ns);
    if (status != HOOP_OK)
        return error_pass(status);
    if (share.n_steps > 0)
        *out_ns *= rank_step_workload->n_steps / share.n_steps;
    *out_ns *=
        estimate_oversubscription(full) / estimate_oversubscription(&place);
    return HOOP_OK;
}

/* Simulates the same call in a communicator of the first n_ranks ranks. */
static enum hoop_status
simulate_first_ranks(const struct estimate_environment *full,
                     const struct algorithm *algorithm,
                     const struct plan_shape *shape,
                     uint32_t n_ranks,
                     double *out_ns)
{
    CLEANUP(plan_nodes_destroy) struct plan_nodes *nodes = NULL;
    struct plan_shape part = *shape;

    enum hoop_status status = plan_nodes_of_first_ranks(full, n_ranks, &nodes);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct estimate_environment place = {.nodes = nodes,
                                               .machine = full->machine};
    part.size = n_ranks;
    part.nodes = nodes;
    status = simulate_algorithm(&place, algorithm, &part, out_ns);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_ns *=
        estimate_oversubscription(full) / estimate_oversubscription(&place);
    return HOOP_OK;
}

static enum hoop_status
simulate_few_and_extrapolate(const struct estimate_environment *full,
                             const struct algorithm *algorithm,
                             const struct plan_shape *shape,
                             double *out_ns)
{
    double half_ns = 0;
    double ns = 0;

    if (shape->size <= FEW_STEPS_RANKS_MAX)
        return simulate_algorithm(full, algorithm, shape, out_ns);
    enum hoop_status status = simulate_first_ranks(
        full, algorithm, shape, FEW_STEPS_RANKS_MAX / 2, &half_ns);
    if (status == HOOP_OK)
        status = simulate_first_ranks(full, algorithm, shape,
                                      FEW_STEPS_RANKS_MAX, &ns);
    if (status != HOOP_OK)
        return error_pass(status);
    uint32_t n_ranks = FEW_STEPS_RANKS_MAX;
    const double growth = ns / half_ns;
    for (; n_ranks <= shape->size / 2; n_ranks *= 2)
        ns *= growth;
    *out_ns = ns * (1 + (growth - 1) * (shape->size - n_ranks) / n_ranks);
    return HOOP_OK;
}

/* For more ranks than are simulated in any case. */
static enum hoop_status
simulate_large_group(const struct estimate_environment *place,
                     const struct registry_algorithm *entry,
                     const struct plan_shape *shape,
                     double *out_ns)
{
    const struct algorithm *algorithm = entry->algorithm;
    const size_t n_all = registry_is_blockwise(entry->collective)
                             ? 0
                             : (size_t)shape->size * GRANULE_ELEMENTS;
    struct plan_shape filled = *shape;
    struct rank_step_workload rank_step_workload;

    filled.count = shape->count > n_all ? shape->count : n_all;
    enum hoop_status status =
        rank_workload_count(algorithm, &filled, &rank_step_workload);
    if (status != HOOP_OK)
        return error_pass(status);
    /* A ring: with fewer elements, most of its messages would be empty. */
    if (rank_step_workload.n_steps >= shape->size)
        return simulate_few_and_scale(place, algorithm, &filled,
                                      &rank_step_workload, out_ns);
    status = rank_workload_count(algorithm, shape, &rank_step_workload);
    if (status != HOOP_OK)
        return error_pass(status);
    if (rank_step_workload.n_steps <= STEPS_PER_RANK_FEW)
        return simulate_few_and_extrapolate(place, algorithm, shape, out_ns);
    if (rank_step_workload.n_steps * shape->size > SIMULATED_STEPS_MAX)
        return simulate_few_and_scale(place, algorithm, shape,
                                      &rank_step_workload, out_ns);
    return simulate_algorithm(place, algorithm, shape, out_ns);
}

enum hoop_status
estimate_cost(const struct estimate_environment *place,
              const struct registry_algorithm *entry,
              uint64_t n_bytes,
              double *out_ns)
{
    const struct plan_shape shape =
        estimate_shape_of(place, entry->collective, n_bytes);
    const enum hoop_status status =
        shape.size > EXTRAPOLATION_BASE_RANKS
            ? simulate_large_group(place, entry, &shape, out_ns)
            : simulate_algorithm(place, entry->algorithm, &shape, out_ns);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The elements that a rank combines in one round. */
static double
combined_elements_in_round(const struct plan *plan)
{
    double n_elements = 0;

    for (size_t i = 0; i < plan->n_steps; i++) {
        const enum plan_step_type kind = plan->steps[i].kind;

        if (kind == PLAN_REDUCE || kind == PLAN_COMBINE ||
            kind == PLAN_FETCH_REDUCE)
            n_elements += (double)plan->steps[i].to.count;
    }
    return n_elements;
}

enum hoop_status
estimate_combined_share(const struct estimate_environment *place,
                        const struct registry_algorithm *entry,
                        uint64_t n_bytes,
                        double *out_share)
{
    const struct algorithm *algorithm = entry->algorithm;
    struct plan_shape shape =
        estimate_shape_of(place, entry->collective, n_bytes);
    struct plan plan = {0};
    double n_elements = 0;

    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        const uint32_t n_rounds = algorithm_n_rounds(algorithm, &shape);

        for (uint32_t round = 0; round < n_rounds; round++) {
            plan_clear(&plan);
            algorithm_plan_round(algorithm, &plan, &shape, round);
            n_elements += combined_elements_in_round(&plan);
        }
    }
    const enum hoop_status status = plan_status(&plan);
    plan_deinit(&plan);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_share = n_elements / shape.size / ((double)n_bytes / ELEMENT_BYTES);
    return HOOP_OK;
}
