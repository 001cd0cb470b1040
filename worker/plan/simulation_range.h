/* plan/simulation_range.h - elements of one buffer, and where two ranges meet */

#ifndef PLAN_SIMULATION_RANGE_H
#define PLAN_SIMULATION_RANGE_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/simulation_flow.h"

/* Empty when begin is end; none at all is {0, 0}. */
struct simulation_range {
    size_t begin;
    size_t end;
};

bool
simulation_range_meets(const struct simulation_range *one,
                       const struct simulation_range *other);

/* All of inner is in outer. */
bool
simulation_range_covers(const struct simulation_range *outer,
                        const struct simulation_range *inner);

/* Where two that meet do so. */
struct simulation_overlap
simulation_range_overlap(const struct simulation_range *earlier,
                         const struct simulation_range *later);

#endif
