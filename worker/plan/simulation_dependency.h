/*
 * plan/simulation_dependency.h - finds what a step waits for
 *
 * The steps of earlier rounds of its vrank that touch the same bytes, one of
 * the two writing: the tracker's rule (plan/tracker.h).
 */

#ifndef PLAN_SIMULATION_DEPENDENCY_H
#define PLAN_SIMULATION_DEPENDENCY_H

#include "hoop/status.h"

#include "plan/simulation_graph.h"

/* step is the youngest of its vrank. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_dependency_step(struct simulation_graph *graph, uint32_t step);

/* The round in slot is complete: who comes later shall find quickly what its
 * steps touch. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_dependency_index(struct simulation_graph *graph,
                            struct simulation_slot *slot);

/* Its steps go. */
void
simulation_dependency_forget(struct simulation_slot *slot);

#endif
