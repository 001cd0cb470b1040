/*
 * model/simulation_scheduler.h - simulates some rounds of an algorithm
 *
 * Steps are simulated in the order of their starts. By then everything that
 * they wait for is known, and processors and networks get their work in that
 * order.
 */

#ifndef MODEL_SIMULATION_SCHEDULER_H
#define MODEL_SIMULATION_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "model/simulation_graph.h"

struct simulation_scheduler_result {
    double end_ns; /* when the last step ends */
    /* When the last step of the first half of the rounds ends. */
    double half_ns;
    double bytes;    /* sum of all sends */
    double messages; /* number of sends */
    /* Messages that were sent and not received, or the reverse. If only some of
     * the rounds are simulated there may be some; steps that wait for one are
     * left out. */
    uint64_t n_unpaired_messages;
};

/*
 * Handle: HOOP_E_INTERNAL (ranks wait for each other for ever; reported only if
 * all rounds are simulated).
 */
enum hoop_status
simulation_scheduler_run(const struct simulation_setup *setup,
                         struct simulation_scheduler_result *out_result);

/*
 * A heap of steps by time. Steps of the same time come out in the order in
 * which they were pushed.
 */

struct simulation_heap_entry;

/* Zeroed memory is an empty heap. */
struct simulation_heap {
    struct simulation_heap_entry *entries;
    size_t n_entries;
    size_t capacity;
    uint64_t n_pushed;
};

void
simulation_heap_deinit(struct simulation_heap *heap);

/* Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_heap_push(struct simulation_heap *heap, double at_ns, uint32_t step);

/* The heap must not be empty. */
uint32_t
simulation_heap_pop(struct simulation_heap *heap);

#endif
