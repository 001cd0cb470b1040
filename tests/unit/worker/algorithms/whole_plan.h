/* tests/unit/worker/algorithms/whole_plan.h - all rounds of one rank, and counted */

#ifndef TESTS_PLAN_WHOLE_PLAN_H
#define TESTS_PLAN_WHOLE_PLAN_H

#include <stddef.h>

#include "algorithms/algorithms.h"

/* All rounds, appended. The caller's to deinit. */
static inline struct plan
whole_plan_of(const struct algorithm *algorithm, const struct plan_shape *shape)
{
    struct plan plan = {0};

    for (uint32_t i = 0; i < algorithm_n_rounds(algorithm, shape); i++)
        algorithm_plan_round(algorithm, &plan, shape, i);
    return plan;
}

static inline size_t
whole_plan_count(const struct plan *plan, enum plan_step_type kind)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_steps; i++)
        n += plan->steps[i].kind == kind ? 1 : 0;
    return n;
}

static inline size_t
whole_plan_count_final(const struct plan *plan)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->n_steps; i++)
        n += plan->steps[i].is_final ? 1 : 0;
    return n;
}

#endif
