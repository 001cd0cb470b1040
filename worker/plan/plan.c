/* plan/plan.c - a growable list of steps */

#include "plan/plan.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"

enum {
    PLAN_CAPACITY_MIN = 16
};

void
plan_clear(struct plan *plan)
{
    plan->n_steps = 0;
    plan->status = HOOP_OK;
}

void
plan_deinit(struct plan *plan)
{
    free(plan->steps);
    *plan = (struct plan){0};
}

static void
plan_grow_steps(struct plan *plan)
{
    const size_t capacity =
        plan->capacity ? 2 * plan->capacity : PLAN_CAPACITY_MIN;
    struct plan_step *steps =
        reallocarray(plan->steps, capacity, sizeof(*steps));

    if (!steps) {
        plan->status = error_raise(HOOP_E_EXHAUSTED,
                                   "no memory for a plan of %zu steps; free "
                                   "some or run fewer operations at once",
                                   capacity);
        return;
    }
    plan->steps = steps;
    plan->capacity = capacity;
}

static size_t
step_element_count(const struct plan_step *step)
{
    const bool only_gives = step->kind == PLAN_SEND ||
                            step->kind == PLAN_POST_TO_SLOT ||
                            step->kind == PLAN_EXPOSE;

    return only_gives ? step->from.count : step->to.count;
}

static void
plan_append_step(struct plan *plan, const struct plan_step *step)
{
    if (plan->status == HOOP_OK && plan->n_steps == plan->capacity)
        plan_grow_steps(plan);
    if (plan->status != HOOP_OK)
        return;
    assert(plan->n_steps < plan->capacity);
    plan->steps[plan->n_steps++] = *step;
}

void
plan_add_step(struct plan *plan, const struct plan_step *step)
{
    if (step_element_count(step) > 0)
        plan_append_step(plan, step);
}

void
plan_add_send(struct plan *plan,
              uint32_t peer,
              uint32_t message,
              struct plan_span from)
{
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_SEND,
                            .peer = peer,
                            .message = message,
                            .from = from,
                        });
}

void
plan_add_store(struct plan *plan,
               uint32_t peer,
               uint32_t message,
               struct plan_span to)
{
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_STORE,
                            .peer = peer,
                            .message = message,
                            .to = to,
                        });
}

void
plan_add_copy(struct plan *plan, struct plan_span from, struct plan_span to)
{
    assert(from.count == to.count);
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_COPY,
                            .from = from,
                            .to = to,
                        });
}

void
plan_add_post(struct plan *plan, struct plan_span from)
{
    plan_add_step(plan,
                  &(struct plan_step){.kind = PLAN_POST_TO_SLOT, .from = from});
}

void
plan_add_expose(struct plan *plan, uint32_t message, struct plan_span from)
{
    assert(message < PLAN_EXPOSED_MAX);
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_EXPOSE,
                            .message = message,
                            .from = from,
                        });
}

void
plan_add_fetch(struct plan *plan,
               uint32_t peer,
               size_t first,
               struct plan_span to)
{
    plan_add_step(plan, &(struct plan_step){
                            .kind = PLAN_FETCH,
                            .peer = peer,
                            .from = {.first = first, .count = to.count},
                            .to = to,
                        });
}

void
plan_add_await(struct plan *plan, uint32_t peer)
{
    plan_append_step(plan,
                     &(struct plan_step){.kind = PLAN_FETCH, .peer = peer});
}

static struct plan_span
span_without_alias(struct plan_span span, const struct plan_shape *shape)
{
    if (span.buffer == PLAN_INPUT && shape->is_in_place)
        span.buffer = PLAN_OUTPUT;
    return span;
}

struct plan_access
plan_step_access(const struct plan_step *step, const struct plan_shape *shape)
{
    struct plan_access access = {
        .reads = span_without_alias(step->from, shape),
        .writes = span_without_alias(step->to, shape),
    };

    if (step->kind == PLAN_SEND)
        access.writes = (struct plan_span){0};
    if (step->kind == PLAN_STORE ||
        (access.reads.buffer == access.writes.buffer &&
         access.reads.first == access.writes.first &&
         access.reads.count == access.writes.count))
        access.reads = (struct plan_span){0};
    return access;
}

enum hoop_status
plan_status(const struct plan *plan)
{
    return plan->status;
}

size_t
plan_shm_region_slot_bytes(uint32_t n_ranks)
{
    size_t n_bytes = LIMIT_SHM_REGION_SLOT_MAX;

    while (n_bytes > LIMIT_SHM_REGION_SLOT_MIN &&
           LIMIT_SHM_REGION_RANK_SLOTS * n_bytes * n_ranks > LIMIT_SHM_REGION)
        n_bytes /= 2;
    return n_bytes;
}

bool
plan_shm_region_can_run(const struct plan_shm_region *shm_region,
                        const struct algorithm *algorithm)
{
    return (shm_region->slot_capacity > 0 || !algorithm->is_shm) &&
           (shm_region->has_cma || !algorithm->is_direct);
}
