/*
 * mesh/redistribute/redistribution_steps.h - finds the steps of a
 * redistribution
 *
 * Joins the path search (mesh/redistribute/shortest_path.h) with the cost of
 * steps (mesh/redistribute/step_cost.h). Partial axes that do not stay partial
 * are reduced on the way; new partial axes are made from whole elements by a
 * last step, a fill.
 */

#ifndef MESH_REDISTRIBUTE_REDISTRIBUTION_STEPS_H
#define MESH_REDISTRIBUTE_REDISTRIBUTION_STEPS_H

#include "mesh/redistribute/exchange.h"
#include "mesh/redistribute/redistribution.h"

/* Returns a bit for each axis of from that is partial and gets reduced: all but
 * those that stay partial with the same operator on the same mesh. */
unsigned
redistribution_reduced_axes(const struct redistribution_problem *problem);

/* Finds the cheapest steps.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
redistribution_steps_find(const struct redistribution_problem *problem,
                          struct redistribution_steps *out_steps);

#endif
