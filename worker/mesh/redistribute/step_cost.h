/*
 * mesh/redistribute/step_cost.h - estimates the cost of a redistribution's step
 *
 * The functions are pure and use what all ranks know alike: the machine, and
 * which ranks share a node. The collective of a line is simulated with the
 * plans that would run (select/estimate.h), on the line's share of what its
 * node has. The cost of an exchange is the work of the busiest rank, processor
 * or network interface.
 */

#ifndef MESH_REDISTRIBUTE_STEP_COST_H
#define MESH_REDISTRIBUTE_STEP_COST_H

#include "base/cleanup.h"
#include "mesh/redistribute/exchange.h"
#include "mesh/redistribute/redistribution.h"

/* The machine, and the results of earlier simulations. */
struct step_costs;

/* Prepares estimates for a problem, which is borrowed. Without a tuner in its
 * request the machine is a typical one.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
step_costs_create(const struct redistribution_problem *problem,
                  struct step_costs **out_step_costs);
/* NULL is allowed. */
void
step_costs_destroy(struct step_costs *step_costs);
DEFINE_CLEANUP(struct step_costs *, step_costs_destroy)

/* Chooses the algorithm of a step and estimates its time.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
step_costs_estimate(struct step_costs *step_costs,
                    struct redistribution_step *step);

#endif
