/*
 * plan/simulation_link.h - finds what a step waits for
 *
 * The steps of earlier rounds of its actor that touch the same bytes, one of
 * the two writing: the tracker's rule (plan/tracker.h).
 */

#ifndef PLAN_SIMULATION_LINK_H
#define PLAN_SIMULATION_LINK_H

#include "hoop/status.h"

#include "plan/simulation_graph.h"

/* step is the youngest of its actor. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_link_step(struct simulation_graph *graph, uint32_t step);

/* The round in slot is complete: who comes later shall find quickly what its
 * steps touch. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_link_index(struct simulation_graph *graph,
                      struct simulation_slot *slot);

/* Its steps go. */
void
simulation_link_forget(struct simulation_slot *slot);

#endif
