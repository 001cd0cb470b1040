/*
 * plan/simulation_index.h - finds those of many ranges that meet one
 *
 * For rounds of thousands of steps, as packing blocks for somebody makes them.
 */

#ifndef PLAN_SIMULATION_INDEX_H
#define PLAN_SIMULATION_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/plan.h"
#include "plan/simulation_range.h"

struct simulation_index_entry {
    struct simulation_range range;
    size_t reach; /* the greatest end up to here, of this buffer */
    uint32_t buffer;
    uint32_t step;
};

/* Zeroed memory is an empty index. */
struct simulation_index {
    struct simulation_index_entry *entries;
    size_t n_entries;
    size_t capacity;
};

void
simulation_index_deinit(struct simulation_index *index);

/* An empty range is not added. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_index_add(struct simulation_index *index,
                     enum plan_buffer buffer,
                     const struct simulation_range *range,
                     uint32_t step);

/* After the last one was added. */
void
simulation_index_sort(struct simulation_index *index);

/* The number of the first entry that may meet range, ... */
size_t
simulation_index_first(const struct simulation_index *index,
                       enum plan_buffer buffer,
                       const struct simulation_range *range);

/* ... and from there on, each up to where this is false. */
bool
simulation_index_goes_on(const struct simulation_index *index,
                         size_t number,
                         enum plan_buffer buffer,
                         const struct simulation_range *range);

#endif
