/*
 * engine/shm_reduce.c - executes the steps of a shared-memory round that follow
 * its posts
 *
 * All posts that the round reads have been published. The steps fetch, combine
 * and copy in the order of the plan.
 */

#include "base/copy.h"
#include "base/error.h"
#include "engine/state.h"
#include "transport/shm_region.h"

enum {
    CACHES_BYTES = 16 << 20, /* half of a third-level cache */
    TILE_BYTES = 4 << 10,    /* copied while it is in the first-level cache */
};

/* Returns the address of the step's other operand, or NULL if the peer's post
 * is too short. */
static const uint8_t *
step_source(const struct op *op, const struct plan_step *step)
{
    if (!shm_executor_reads(step))
        return op_span(op, &step->from);
    return shm_region_bytes(op->context->shm_region, step->peer,
                            step->from.first * op->element_size,
                            step->from.count * op->element_size);
}

/* to = own (op) arrived, in the order that side says. */
void
shm_reduce_combine(const struct op *op,
                   const struct plan_step *step,
                   const uint8_t *own,
                   const uint8_t *arrived)
{
    uint8_t *to = op_span(op, &step->to);

    if (step->side == PLAN_ARRIVED_LEFT)
        op->reduce(to, arrived, own, step->to.count);
    else
        op->reduce(to, own, arrived, step->to.count);
    if (step->is_final && op->divide)
        op->divide(to, step->to.count, op->shape.size);
}

/* Like shm_reduce_combine(), but also copy each result to where the next round
 * posts it. */
static void
combine_prefetch(const struct op *op,
                 const struct plan_step *step,
                 const uint8_t *own,
                 const uint8_t *arrived)
{
    const size_t n_tile = TILE_BYTES / op->element_size;
    uint8_t *prefetch = op->rounds.prefetch + op->rounds.n_prefetched;
    struct plan_step tile = *step;

    for (size_t n_left = step->to.count; n_left > 0;) {
        tile.to.count = n_left < n_tile ? n_left : n_tile;
        shm_reduce_combine(op, &tile, own, arrived);
        const size_t n_bytes = tile.to.count * op->element_size;
        copy_bytes(prefetch, op_span(op, &tile.to), n_bytes);
        prefetch += n_bytes;
        own += n_bytes;
        arrived += n_bytes;
        tile.to.first += tile.to.count;
        n_left -= tile.to.count;
    }
}

static void
combine(const struct op *op,
        const struct plan_step *step,
        const uint8_t *own,
        const uint8_t *arrived)
{
    const struct rounds *rounds = &op->rounds;

    if (rounds->prefetch &&
        step == &rounds->plan.steps[rounds->prefetch_combine])
        combine_prefetch(op, step, own, arrived);
    else
        shm_reduce_combine(op, step, own, arrived);
}

bool
shm_reduce_is_pair(const struct plan_step *step, const struct plan_step *next)
{
    return (step->kind == PLAN_FETCH ||
            (step->kind == PLAN_COPY &&
             step->from.buffer != step->to.buffer)) &&
           next->kind == PLAN_FETCH_REDUCE &&
           next->to.buffer == step->to.buffer &&
           next->to.first == step->to.first &&
           next->to.count == step->to.count && step->to.count > 0;
}

static enum hoop_status
post_broken(const struct op *op, const struct plan_step *step)
{
    char name[ROSTER_NAME_MAX];

    return error_raise(
        HOOP_E_DATA_LOSS,
        "what %s says of its part in the shared memory cannot "
        "be",
        roster_name(op->engine->roster, op->context->ranks[step->peer], name));
}

/* Returns whether the data of all ranks exceed the caches, given that each
 * touches about as much as this one, and the destination is not in the cache
 * because this rank has posted it. */
static bool
is_past_caches(const struct op *op)
{
    const struct rounds *rounds = &op->rounds;
    const size_t n_bytes =
        rounds->n_moved * rounds->n_rounds * op->element_size * op->shape.size;

    return n_bytes > CACHES_BYTES &&
           (!op->shape.is_in_place || rounds->n_posts == 0);
}

void
shm_reduce_copy(const struct op *op,
                const struct plan_step *step,
                const uint8_t *from)
{
    const size_t n_bytes = step->to.count * op->element_size;

    if (is_past_caches(op))
        copy_past_caches(op_span(op, &step->to), from, n_bytes);
    else
        copy_bytes(op_span(op, &step->to), from, n_bytes);
}

/* Do one step, or a pair. Returns how many, or 0 if a peer's post is too
 * short. */
static size_t
step_do(const struct op *op, const struct plan_step *step, size_t n_steps)
{
    const uint8_t *from =
        step->kind == PLAN_POST ? NULL : step_source(op, step);

    if (step->kind == PLAN_POST || (from && step->to.count == 0))
        return 1;
    if (!from)
        return 0;
    if (n_steps > 1 && shm_reduce_is_pair(step, step + 1)) {
        const uint8_t *other = step_source(op, step + 1);

        if (other)
            combine(op, step + 1, from, other);
        return other ? 2 : 0;
    }
    if (step->kind == PLAN_FETCH || step->kind == PLAN_COPY)
        shm_reduce_copy(op, step, from);
    else
        combine(op, step, op_span(op, &step->to), from);
    return 1;
}

enum hoop_status
shm_reduce_run(struct op *op)
{
    const struct plan *plan = &op->rounds.plan;
    size_t n_fetched = 0;
    enum hoop_status status = HOOP_OK;

    if (FAULT_IS_BUILT && op->label.faults)
        op_inject_fault(op, FAULT_AT_RECEIVE, op->rounds.round);
    if (op->algorithm->is_direct)
        status = shm_direct_run(op, &n_fetched);
    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < plan->n_steps && !op->algorithm->is_direct;) {
        const size_t n_done = step_do(op, &plan->steps[i], plan->n_steps - i);

        if (n_done == 0)
            return post_broken(op, &plan->steps[i]);
        for (size_t end = i + n_done; i < end; i++) {
            if (shm_executor_reads(&plan->steps[i]) &&
                plan->steps[i].peer != op->context->rank)
                n_fetched += plan->steps[i].to.count * op->element_size;
        }
    }
    transport_count(op->engine->transport, 0, n_fetched);
    return HOOP_OK;
}
