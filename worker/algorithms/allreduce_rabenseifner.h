/*
 * algorithms/allreduce_rabenseifner.h - where the two halves of the plan meet
 *
 * algorithms/hierarchical.c inserts another algorithm between the two halves.
 * Rounds before the middle round compute the sums; from the middle round on,
 * ranks only distribute finished blocks.
 */

#ifndef ALGORITHMS_ALLREDUCE_RABENSEIFNER_H
#define ALGORITHMS_ALLREDUCE_RABENSEIFNER_H

#include <stdint.h>

#include "plan/plan.h"

uint32_t
allreduce_rabenseifner_middle_round(const struct plan_shape *shape);

/* The one finished block that this rank holds in its output at the middle
 * round. The second half overwrites the rest of the output. With one rank,
 * nothing has been done yet at that point. */
struct plan_span
allreduce_rabenseifner_own_block(const struct plan_shape *shape);

#endif
