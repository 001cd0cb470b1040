/*
 * mesh/redistribute/redistribution_steps.h - finds the steps of a redistribution
 *
 * Joins the path search (mesh/redistribute/shortest_path.h) with the cost of steps
 * (mesh/redistribute/step_cost.h). Partial axes that do not stay partial are reduced on
 * the way; new partial axes are made from whole elements by a last step, a
 * fill.
 */

#ifndef MESH_REDISTRIBUTE_REDISTRIBUTION_STEPS_H
#define MESH_REDISTRIBUTE_REDISTRIBUTION_STEPS_H

#include "mesh/redistribute/exchange.h"
#include "mesh/redistribute/redistribution.h"

/* A request that has been checked. */
struct redistribution_problem {
    const struct redistribution_request *request;
    enum exchange_meshes meshes;
    struct hoop_sharding from; /* backward: without partial axes, as to */
    struct hoop_sharding to;
    /* by mesh; their tilings are those of from and to */
    const struct exchange_side *sides[2];
    const struct replicas *replicas;
};

struct redistribution_steps {
    uint32_t n_steps;
    struct redistribution_step steps[HOOP_MAX_STEPS];
};

/* Returns a bit for each axis of from that is partial and gets reduced: all but
 * those that stay partial with the same operator on the same mesh. */
unsigned
redistribution_reduced_axes(const struct redistribution_problem *problem);

/* Returns the exchange between two shardings. */
struct exchange
problem_build_exchange(const struct redistribution_problem *problem,
                       const struct hoop_sharding *before,
                       const struct hoop_sharding *after);

/* Finds the cheapest steps.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
redistribution_steps_find(const struct redistribution_problem *problem,
                          struct redistribution_steps *out_steps);

#endif
