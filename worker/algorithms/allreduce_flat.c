/*
 * algorithms/allreduce_flat.c - all-reduce through the shared region, in one round
 *
 * Each rank posts its contribution and combines what all ranks have posted, in
 * the order of the ranks and with the same brackets everywhere, so that all
 * have the same bits:
 *
 *     ((0 op 1) op 2) op 3 ...
 *
 * A rank takes its own contribution from its own buffer. In place, the
 * combination of the ranks before it overwrites that buffer; so from rank 2 on,
 * a rank fetches its own contribution from its slot.
 *
 * A copy or a fetch comes right before the combination with its result: the
 * executor does both in one pass.
 *
 * Cost: one post and one wait per slot; each rank combines n times the bytes.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "algorithms/shm_plan.h"
#include "plan/topology.h"

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return shm_plan_round_count(shape->count, shm_plan_part_size(shape, 1));
}

/* Combine rank's contribution with what stands at to. */
static void
plan_add_combine_with_rank(struct plan *plan,
                           const struct plan_shape *shape,
                           uint32_t rank,
                           struct plan_step step)
{
    const bool is_own = rank == shape->rank && !shape->is_in_place;

    step.kind = is_own ? PLAN_COMBINE : PLAN_FETCH_REDUCE;
    step.peer = rank;
    step.side = PLAN_OWN_LEFT;
    step.is_final = rank + 1 == shape->size;
    if (!is_own)
        step.from.first = 0;
    plan_add_step(plan, &step);
}

/* Combine ranks 0 and 1, if this rank is rank 1; otherwise only bring rank 0's
 * contribution. Returns the next rank to combine. */
static uint32_t
plan_add_first_combine(struct plan *plan,
                       const struct plan_shape *shape,
                       struct plan_span own,
                       struct plan_span to)
{
    if (shape->rank == 0) {
        if (!shape->is_in_place)
            plan_add_copy(plan, own, to);
        return 1;
    }
    if (shape->rank > 1) {
        plan_add_fetch(plan, 0, 0, to);
        return 1;
    }
    if (!shape->is_in_place)
        plan_add_copy(plan, own, to);
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_FETCH_REDUCE,
                            .peer = 0,
                            .from = {.count = to.count},
                            .to = to,
                            .side = PLAN_ARRIVED_LEFT,
                            .is_final = shape->size == 2,
                        });
    return 2;
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const size_t n_part = shm_plan_part_size(shape, 1);
    const struct plan_span own = shm_plan_part_span(
        whole_buffer_span(shape, shm_plan_source_buffer(shape)), n_part, round);
    const struct plan_span to = shm_plan_part_span(
        whole_buffer_span(shape, PLAN_OUTPUT), n_part, round);

    if (shape->size > 1)
        plan_add_post(plan, own);
    for (uint32_t rank = plan_add_first_combine(plan, shape, own, to);
         rank < shape->size; rank++)
        plan_add_combine_with_rank(plan, shape, rank,
                                   (struct plan_step){.from = own, .to = to});
}

const struct algorithm algorithm_allreduce_flat = {
    .name = "flat",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .is_shm = true,
};
