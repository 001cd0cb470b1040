/*
 * model/simulation_index.h - finds the ranges that overlap a given one
 *
 * For rounds of thousands of steps, such as those that pack blocks.
 */

#ifndef MODEL_SIMULATION_INDEX_H
#define MODEL_SIMULATION_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "model/simulation_range.h"
#include "plan/plan.h"

struct simulation_index_entry {
    struct simulation_range range;
    /* The greatest end of this and all earlier ranges of the buffer. */
    size_t reach;
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

/* Add a range; an empty one is ignored. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_index_add_range(struct simulation_index *index,
                           enum plan_buffer buffer,
                           const struct simulation_range *range,
                           uint32_t step);

/* Call once after the last range was added and before the first search. */
void
simulation_index_sort(struct simulation_index *index);

/* Returns the number of the first entry that may overlap range. ... */
size_t
simulation_index_find_first(const struct simulation_index *index,
                            enum plan_buffer buffer,
                            const struct simulation_range *range);

/* ... The caller goes through the entries from there on while this returns
 * true. */
bool
simulation_index_entry_may_overlap(const struct simulation_index *index,
                                   size_t number,
                                   enum plan_buffer buffer,
                                   const struct simulation_range *range);

#endif
