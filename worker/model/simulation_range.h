/* model/simulation_range.h - ranges of elements of a buffer, and overlaps */

#ifndef MODEL_SIMULATION_RANGE_H
#define MODEL_SIMULATION_RANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "model/simulation_flow.h"

/* Empty if begin equals end; a step that does not access the buffer has {0,
 * 0}. */
struct simulation_range {
    size_t begin;
    size_t end;
};

bool
simulation_range_has_overlap(const struct simulation_range *one,
                             const struct simulation_range *other);

/* Does outer hold all of inner? */
bool
simulation_range_covers(const struct simulation_range *outer,
                        const struct simulation_range *inner);

/* The overlap of two ranges, which must overlap. */
struct simulation_flow_overlap
simulation_range_overlap(const struct simulation_range *earlier,
                         const struct simulation_range *later);

#endif
