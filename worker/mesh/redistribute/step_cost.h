/*
 * mesh/redistribute/step_cost.h - estimates the cost of a redistribution's step
 *
 * The functions are pure and use what all ranks know alike: the machine, and
 * which ranks share a node. The collective of a line is simulated with the
 * plans that would run (model/estimate.h), on the line's share of what its node
 * has. The cost of an exchange is the work of the busiest rank, processor or
 * network interface.
 */

#ifndef MESH_REDISTRIBUTE_STEP_COST_H
#define MESH_REDISTRIBUTE_STEP_COST_H

#include "algorithms/registry.h"
#include "mesh/redistribute/exchange.h"
#include "mesh/redistribute/mesh_step.h"
#include "plan/nodes.h"
#include "select/overrides.h"

/* The lines along some axes, represented by the one on most nodes. */
struct step_cost_line {
    struct plan_nodes *nodes; /* NULL: not computed yet */
    uint32_t n_lines;         /* lines that share its first rank's node */
};

enum {
    STEP_COST_AXIS_MASKS = 1 << HOOP_MAX_AXES,
    STEP_COST_CACHE_SIZE = 128,
};

/* The result of an earlier simulation. */
struct step_cost_cached {
    enum collective_kind collective;
    uint64_t n_bytes;
    const struct step_cost_line *line;
    const struct algorithm *algorithm;
    double ns;
};

struct step_costs {
    struct simulation_machine machine;
    struct overrides overrides;
    uint32_t *node_of_rank; /* [rank of the context] */
    uint32_t n_ranks;
    size_t element_size;
    const struct exchange_side *sides[2]; /* by mesh, borrowed: their places */
    /* by mesh and mask of axes */
    struct step_cost_line lines[2][STEP_COST_AXIS_MASKS];
    uint32_t n_kept;
    struct step_cost_cached kept[STEP_COST_CACHE_SIZE];
};

struct step_cost {
    double ns;
    const struct algorithm *algorithm; /* NULL: nothing is sent */
};

/* Initialises for a request. world_ranks is as in the request; without a tuner
 * the machine is a typical one. The caller calls step_costs_deinit() also after
 * a failure.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
step_costs_init(struct step_costs *step_costs,
                const struct redistribution_request *request);
/* Zeroed memory is allowed. */
void
step_costs_deinit(struct step_costs *step_costs);

/* A step on lines, not an exchange, and how many elements a rank has before and
 * after it. */
struct step_cost_request {
    const struct mesh_step *mesh_step;
    enum redistribution_mesh mesh;
    size_t elements_before;
    size_t elements_after;
};

/* Estimate the time of a step on lines or of an exchange, and choose its
 * algorithm.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
step_cost_of_mesh_step(struct step_costs *step_costs,
                       const struct step_cost_request *mesh_step,
                       struct step_cost *out_step_cost);
enum hoop_status
step_cost_of_exchange(const struct step_costs *step_costs,
                      const struct exchange *exchange,
                      struct step_cost *out_step_cost);

#endif
