/*
 * plan/simulation_scheduler.h - runs a mapping through some rounds of an algorithm
 *
 * Steps are played in the order of their begin: then all that they wait for
 * is known, and processors and networks get their work in that order.
 */

#ifndef PLAN_SIMULATION_SCHEDULER_H
#define PLAN_SIMULATION_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/simulation_graph.h"

struct simulation_run_result {
    double end_ns;   /* of all steps */
    double half_ns;  /* of those in the first half of the rounds */
    double bytes;    /* of sends */
    double messages; /* sends */
    /* Messages that were sent and not taken, or the other way round. In a part
     * of the rounds there may be some; what waits for one is left out. */
    uint64_t n_unmatched;
};

/*
 * Handle: HOOP_E_INTERNAL (ranks wait for each other for ever; all rounds
 * only).
 */
enum hoop_status
simulation_scheduler_run(const struct simulation_setup *setup,
                         struct simulation_run_result *out_result);

#endif
