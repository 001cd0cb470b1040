/* algorithms/shm_plan.c - how shared-memory plans cut a call into rounds */

#include "algorithms/shm_plan.h"

#include <assert.h>

size_t
shm_plan_part_size(const struct plan_shape *shape, size_t n_shares)
{
    const size_t n_part = shape->slot_capacity / n_shares;

    assert(n_part > 0);
    assert(shape->granule > 0);
    return n_part < shape->granule ? n_part : n_part - n_part % shape->granule;
}

size_t
shm_plan_direct_part_size(const struct plan_shape *shape, size_t n_shares)
{
    return SHM_PLAN_SLOTS_PER_RANK * shm_plan_part_size(shape, n_shares);
}

uint32_t
shm_plan_direct_round_count(const struct plan_shape *shape, uint32_t n_parts)
{
    return shape->size == 1 || n_parts == 0 ? n_parts : n_parts + 1;
}

uint32_t
shm_plan_round_count(size_t count, size_t n_part)
{
    return (uint32_t)(count / n_part + (count % n_part != 0));
}

struct plan_span
shm_plan_part_span(struct plan_span whole, size_t n_part, uint32_t round)
{
    const size_t before = n_part * round;
    const size_t rest = before < whole.count ? whole.count - before : 0;

    return (struct plan_span){
        .buffer = whole.buffer,
        .first = whole.first + before,
        .count = rest < n_part ? rest : n_part,
    };
}

enum plan_buffer
shm_plan_source_buffer(const struct plan_shape *shape)
{
    return shape->is_in_place ? PLAN_OUTPUT : PLAN_INPUT;
}

uint32_t
shm_plan_next_peer(const struct plan_shape *shape, uint32_t i)
{
    assert(i + 1 < shape->size);
    return (shape->rank + 1 + i) % shape->size;
}

uint32_t
shm_plan_nearest_peer(const struct plan_shape *shape, uint32_t i)
{
    assert(i + 1 < shape->size);
    return i < shape->rank ? shape->rank - 1 - i : i + 1;
}

void
shm_plan_add_offer(struct plan *plan,
                   enum shm_plan_offer offer,
                   struct plan_span from)
{
    if (offer == SHM_PLAN_EXPOSE)
        plan_add_expose(plan, 0, from);
    else
        plan_add_post(plan, from);
}

void
shm_plan_add_await_all(struct plan *plan, const struct plan_shape *shape)
{
    for (uint32_t i = 0; i + 1 < shape->size; i++)
        plan_add_await(plan, shm_plan_next_peer(shape, i));
}

void
shm_plan_add_combine(struct plan *plan,
                     const struct plan_shape *shape,
                     uint32_t i,
                     size_t first,
                     struct plan_span to)
{
    const uint32_t peer = shm_plan_nearest_peer(shape, i);

    plan_add_step(plan,
                  &(struct plan_step){
                      .kind = PLAN_FETCH_REDUCE,
                      .peer = peer,
                      .from = {.first = first, .count = to.count},
                      .to = to,
                      .side = peer < shape->rank ? PLAN_RECEIVED_IS_LEFT_OPERAND
                                                 : PLAN_OWN_IS_LEFT_OPERAND,
                      .is_final = i + 2 == shape->size,
                  });
}
