/*
 * parallel/redistribution_steps.h - the steps of a redistribution, found
 *
 * Joins the search (parallel/shortest_path.h) with what steps cost (parallel/step_cost.h).
 * Addends that are not to stay are reduced on the way; new ones are made of
 * what is whole at the end.
 */

#ifndef PARALLEL_REDISTRIBUTION_STEPS_H
#define PARALLEL_REDISTRIBUTION_STEPS_H

#include "parallel/exchange.h"
#include "parallel/redistribution.h"

/* A request, checked. */
struct redistribution_problem {
    const struct redistribution_request *request;
    enum exchange_meshes meshes;
    struct hoop_sharding from; /* backward: without addends */
    struct hoop_sharding to;
    const struct exchange_side *sides[2]; /* by mesh; their tilings are from's
                                             and to's */
    const struct replicas *replicas;
};

struct redistribution_steps {
    uint32_t n_steps;
    struct redistribution_step steps[HOOP_MAX_STEPS];
};

/* Bits of from's axes that hold addends and are reduced on the way: all but
 * those that stay partial, with the same operator on the same mesh. */
unsigned
redistribution_reduced(const struct redistribution_problem *problem);

/* The exchange from one sharding to another. */
struct exchange
problem_exchange(const struct redistribution_problem *problem,
                 const struct hoop_sharding *before,
                 const struct hoop_sharding *after);

/* Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
redistribution_steps_find(const struct redistribution_problem *problem,
                          struct redistribution_steps *out_steps);

#endif
