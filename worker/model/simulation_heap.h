/*
 * model/simulation_heap.h - steps that may begin, earliest first
 *
 * Steps of the same time come out in the order in which they were pushed.
 */

#ifndef MODEL_SIMULATION_HEAP_H
#define MODEL_SIMULATION_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

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
