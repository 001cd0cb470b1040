/*
 * engine/prefetch.c - writes what a round combines to where the next round
 * posts it
 *
 * A part of a vector that one round combines is posted in the next, which would
 * read it again from the second-level cache. If the place of the post is free
 * already, the combination writes the result there, too, and the post finds it
 * (engine/shm_reduce.c, engine/shm_executor.c). No peer sees it before it is
 * published, and if it is not used it is written again. The place may be used
 * once the others have read this round's post, because no plan with such rounds
 * fetches its own post.
 */

#include "engine/state.h"
#include "transport/sequence.h"
#include "transport/shm_region.h"

static bool
is_same_span(const struct plan_span *a, const struct plan_span *b)
{
    return a->buffer == b->buffer && a->first == b->first &&
           a->count == b->count;
}

static bool
is_touched(const struct plan_span *span, const struct plan_span *by)
{
    return by->buffer == span->buffer &&
           by->first < span->first + span->count &&
           span->first < by->first + by->count;
}

/* Returns the last step that touches span, if that step combines exactly it
 * into its final value; else n_steps. span is what the next round posts. */
static size_t
maker_of(const struct plan *plan, const struct plan_span *span)
{
    for (size_t i = plan->n_steps; i-- > 0;) {
        const struct plan_step *step = &plan->steps[i];

        if (step->kind != PLAN_POST && is_touched(span, &step->to))
            return step->is_final && is_same_span(&step->to, span)
                       ? i
                       : plan->n_steps;
    }
    return plan->n_steps;
}

/* Returns how many elements the next round posts, and finds which post this
 * round produces. */
static size_t
prefetch_find(struct op *op)
{
    struct rounds *rounds = &op->rounds;
    size_t n_posted = 0;

    rounds->prefetch_combine = rounds->plan.n_steps;
    for (size_t i = 0; i < rounds->next.n_steps; i++) {
        const struct plan_step *step = &rounds->next.steps[i];

        if (step->kind != PLAN_POST)
            break;
        const size_t maker = maker_of(&rounds->plan, &step->from);
        if (maker < rounds->plan.n_steps) {
            rounds->prefetch_combine = maker;
            rounds->prefetch_post = i;
            rounds->n_prefetched = n_posted * op->element_size;
        }
        n_posted += step->from.count;
    }
    return n_posted;
}

void
prefetch_prepare(struct op *op)
{
    struct shm_region *shm_region = op->context->shm_region;
    struct rounds *rounds = &op->rounds;
    const uint64_t sequence =
        sequence_of(op->number, op->stage, rounds->round + 1);
    uint32_t late;

    plan_clear(&rounds->next);
    op->algorithm->plan_round(&rounds->next, &op->shape, rounds->round + 1);
    rounds->is_planned = true;
    const size_t n_bytes = prefetch_find(op) * op->element_size;
    if (rounds->prefetch_combine < rounds->plan.n_steps &&
        shm_region_is_free(shm_region, sequence, n_bytes, &late))
        rounds->prefetch = shm_region_reserve(shm_region, sequence, n_bytes);
}
