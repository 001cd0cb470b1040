/*
 * model/simulation_dependency.h - finds the steps that a step depends on
 *
 * A step depends on each step of an earlier round of its virtual rank that
 * touches the same bytes if one of the two writes them: the tracker's rule
 * (plan/tracker.h).
 */

#ifndef MODEL_SIMULATION_DEPENDENCY_H
#define MODEL_SIMULATION_DEPENDENCY_H

#include "hoop/status.h"

#include "model/simulation_graph.h"

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
