/*
 * plan/shm_plan.h - what shared-memory plans share: how a call is cut into rounds
 *
 * What does not fit a slot goes through it in parts, one in each round. All
 * ranks cut alike, so that each knows what lies where in another's slot.
 */

#ifndef PLAN_SHM_PLAN_H
#define PLAN_SHM_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

/* The largest part of which n_shares fit a slot together; whole granules where
 * there is room for one. n_shares <= shape->n_slot. */
size_t
shm_plan_count(const struct plan_shape *shape, size_t n_shares);

enum {
    SHM_PLAN_SLOTS = 16 /* that a part of a direct plan is as long as */
};

/* The part of a direct plan's round, which goes through no slot: yet who reads
 * for long is not heard meanwhile. */
size_t
shm_plan_direct(const struct plan_shape *shape, size_t n_shares);

/* Rounds for count elements, n_part in each; none for none. */
uint32_t
shm_plan_rounds(size_t count, size_t n_part);

/* The part of a span that a round moves; empty behind its end. */
struct plan_span
shm_plan_part(struct plan_span whole, size_t n_part, uint32_t round);

/* The buffer that holds what this rank brings. */
enum plan_buffer
shm_plan_source(const struct plan_shape *shape);

/* The other ranks, i from 0 to size - 2: from the next one on, around. */
uint32_t
shm_plan_next(const struct plan_shape *shape, uint32_t i);

/*
 * The other ranks in an order in which they may be combined with this one: from
 * it down to the first, then from it up to the last. Lower ranks stand left;
 * the last combination is final. Only for what no other rank combines as well:
 * the brackets are this rank's own.
 */
uint32_t
shm_plan_nearest(const struct plan_shape *shape, uint32_t i);

/* Of a direct plan with so many parts: behind them comes one in which ranks await
 * those who read of them. */
uint32_t
shm_plan_direct_rounds(const struct plan_shape *shape, uint32_t n_parts);

/* Until all others have published the round: the last of a direct plan. */
void
shm_plan_await(struct plan *plan, const struct plan_shape *shape);

/* What the i-th of these posted, or shows first, from element first on, (op) to -> to. */
void
shm_plan_combine(struct plan *plan,
                 const struct plan_shape *shape,
                 uint32_t i,
                 size_t first,
                 struct plan_span to);

#endif
