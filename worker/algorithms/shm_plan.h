/*
 * algorithms/shm_plan.h - how shared-memory plans cut a call into rounds
 *
 * Data that does not fit a slot goes through it in parts, one part in each
 * round. All ranks compute the same parts, so each knows the layout of the
 * others' slots.
 */

#ifndef ALGORITHMS_SHM_PLAN_H
#define ALGORITHMS_SHM_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

/* The size of the largest part of which n_shares fit a slot together, in
 * whole granules if a slot has room for one. n_shares must not exceed
 * shape->slot_capacity. */
size_t
shm_plan_part_size(const struct plan_shape *shape, size_t n_shares);

enum {
    SHM_PLAN_SLOTS_PER_RANK =
        16 /* slots that a part of a direct plan is as long as */
};

/* The size of a part of a direct plan. No slot limits it, but a rank publishes
 * nothing while it reads a part, and others wait for it. */
size_t
shm_plan_direct_part_size(const struct plan_shape *shape, size_t n_shares);

/* The number of rounds for count elements in parts of n_part; 0 if count is
 * 0. */
uint32_t
shm_plan_round_count(size_t count, size_t n_part);

/* The part of a span that a round moves; empty if the round is past its end. */
struct plan_span
shm_plan_part_span(struct plan_span whole, size_t n_part, uint32_t round);

/* The buffer that holds this rank's contribution. */
enum plan_buffer
shm_plan_source_buffer(const struct plan_shape *shape);

/* Enumerates the other ranks, for i from 0 to size - 2, beginning with the next
 * rank and wrapping around. */
uint32_t
shm_plan_next_peer(const struct plan_shape *shape, uint32_t i);

/*
 * Enumerates the other ranks in an order in which they can be combined with
 * this one: downward from this rank to the first, then upward from this rank to
 * the last. Lower ranks are on the left; the last combination is final. Use it
 * only for a block that no other rank combines, because the order depends on
 * this rank.
 */
uint32_t
shm_plan_nearest_peer(const struct plan_shape *shape, uint32_t i);

/* The rounds of a direct plan of n_parts parts: one more than n_parts, in which
 * ranks await those that read their memory. A single rank, or a plan of no
 * parts, needs no such round. */
uint32_t
shm_plan_direct_round_count(const struct plan_shape *shape, uint32_t n_parts);

/* How a rank lets others have a span in a round. */
enum shm_plan_offer {
    SHM_PLAN_POST,
    SHM_PLAN_EXPOSE, /* as message 0; only in a direct plan */
};

void
shm_plan_add_offer(struct plan *plan,
                   enum shm_plan_offer offer,
                   struct plan_span from);

/* Wait until all other ranks have published the round. Ends a direct plan. */
void
shm_plan_add_await_all(struct plan *plan, const struct plan_shape *shape);

/* Combine into to what the rank shm_plan_nearest_peer(i) posted, or exposed as
 * message 0, beginning at its element first. */
void
shm_plan_add_combine(struct plan *plan,
                     const struct plan_shape *shape,
                     uint32_t i,
                     size_t first,
                     struct plan_span to);

#endif
