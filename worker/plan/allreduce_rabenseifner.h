/*
 * plan/allreduce_rabenseifner.h - where its two halves meet
 *
 * For who puts something between them (plan/hierarchy.h): before the middle
 * round all sums have been made, from it on finished blocks are only given
 * away.
 */

#ifndef PLAN_ALLREDUCE_RABENSEIFNER_H
#define PLAN_ALLREDUCE_RABENSEIFNER_H

#include <stdint.h>

#include "plan/plan.h"

uint32_t
allreduce_rabenseifner_middle(const struct plan_shape *shape);

/* The one finished block that the rank has in its output then; whatever else
 * is there it will write over. One rank alone has done nothing yet. */
struct plan_span
allreduce_rabenseifner_block(const struct plan_shape *shape);

#endif
