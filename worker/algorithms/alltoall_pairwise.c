/*
 * algorithms/alltoall_pairwise.c - all-to-all in n rounds, two by two
 *
 * In every round the ranks form pairs, and the two of a pair exchange their
 * blocks. For a power of two, the partner of rank r in round i is r xor i;
 * otherwise it is i - r modulo n. Either way each rank meets each other rank
 * once, and itself once, when it copies its own block. Partners, n = 3:
 *
 *     round     0  1  2
 *     rank 0    0  1  2
 *     rank 1    2  0  1
 *     rank 2    1  2  0
 *
 * Shifted partners (to r+i, from r-i) would need one round less for odd n, but
 * rounds do not synchronize ranks at run time, and in place pairs have an
 * advantage: a block from a partner belongs where the block for that partner
 * stood. Two slots of the largest block are therefore enough: a block that
 * arrives waits in one of them until the block that stood there has been sent,
 * and is copied in the next round. A slot is free again when both messages of a
 * round are done, which depends only on earlier rounds; ranks never wait for
 * each other in a circle.
 *
 * In place with uneven blocks, an arriving block may be larger than the one
 * that leaves, and may overlap several blocks that are still to be sent. The
 * part of the output that will be overwritten is therefore first copied to
 * scratch and sent from there. Each rank decides this for itself: the messages
 * are the same.
 *
 * Cost: (n-1) * (alpha + block * beta).
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

enum alltoall_buffering {
    ALLTOALL_OUT_OF_PLACE, /* out of place */
    /* In place with equal blocks in both directions: through a slot. */
    ALLTOALL_IN_PLACE_SWAP,
    ALLTOALL_IN_PLACE_COPY, /* in place otherwise: copied to scratch first */
};

static enum alltoall_buffering
in_place_method(const struct plan_shape *shape)
{
    assert(!shape->counts == !shape->recv_counts);
    assert(!shape->is_in_place ||
           (!shape->firsts && !shape->recv_displacements));

    if (!shape->is_in_place)
        return ALLTOALL_OUT_OF_PLACE;
    for (uint32_t i = 0; shape->counts && i < shape->size; i++) {
        if (shape->counts[i] != shape->recv_counts[i])
            return ALLTOALL_IN_PLACE_COPY;
    }
    return ALLTOALL_IN_PLACE_SWAP;
}

static uint32_t
partner(const struct plan_shape *shape, uint32_t round)
{
    const bool is_power_of_two = (shape->size & (shape->size - 1)) == 0;

    if (is_power_of_two)
        return shape->rank ^ round;
    return round >= shape->rank ? round - shape->rank
                                : round + (shape->size - shape->rank);
}

/* The end of the last received block. */
static size_t
received_blocks_end(const struct plan_shape *shape)
{
    const struct plan_span last =
        recv_block_span(shape, PLAN_OUTPUT, shape->size - 1);

    return last.first + last.count;
}

/* The elements of all blocks that begin where something will be written. */
static size_t
saved_input_count(const struct plan_shape *shape)
{
    const size_t end = received_blocks_end(shape);
    size_t n_saved = 0;

    for (uint32_t i = 0; i < shape->size && n_saved < end; i++)
        n_saved += shape->counts[i];
    return n_saved;
}

static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return shape->size + (shape->is_in_place ? 1 : 0);
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    const size_t n_slots = shape->size > 2 ? 2 : shape->size - 1;

    switch (in_place_method(shape)) {
    case ALLTOALL_OUT_OF_PLACE:
        break;
    case ALLTOALL_IN_PLACE_SWAP:
        return n_slots * caller_block_max_count(shape);
    case ALLTOALL_IN_PLACE_COPY:
        return saved_input_count(shape);
    }
    return 0;
}

/* Consecutive rounds use different slots; the rank's own block needs none. */
static struct plan_span
scratch_slot_span(const struct plan_shape *shape, uint32_t round)
{
    const bool is_second = shape->size > 2 && round % 2 != 0;

    return (struct plan_span){
        .buffer = PLAN_SCRATCH,
        .first = is_second ? caller_block_max_count(shape) : 0,
        .count =
            caller_block_span(shape, PLAN_OUTPUT, partner(shape, round)).count,
    };
}

static struct plan_span
send_source_span(const struct plan_shape *shape,
                 enum alltoall_buffering way,
                 uint32_t peer)
{
    struct plan_span span = caller_block_span(shape, PLAN_OUTPUT, peer);

    if (way == ALLTOALL_OUT_OF_PLACE)
        span.buffer = PLAN_INPUT;
    if (way == ALLTOALL_OUT_OF_PLACE && shape->firsts)
        span.first = shape->firsts[peer];
    if (way == ALLTOALL_IN_PLACE_COPY && span.first < saved_input_count(shape))
        span.buffer = PLAN_SCRATCH;
    return span;
}

static struct plan_span
receive_target_span(const struct plan_shape *shape, uint32_t peer)
{
    struct plan_span span = recv_block_span(shape, PLAN_OUTPUT, peer);

    if (shape->recv_displacements)
        span.first = shape->recv_displacements[peer];
    return span;
}

static void
plan_add_exchange(struct plan *plan,
                  const struct plan_shape *shape,
                  enum alltoall_buffering way,
                  uint32_t round)
{
    const uint32_t peer = partner(shape, round);
    const struct plan_span from = send_source_span(shape, way, peer);
    const struct plan_span place = receive_target_span(shape, peer);

    if (peer != shape->rank) {
        plan_add_send(plan, peer, 0, from);
        plan_add_store(plan, peer, 0,
                       way == ALLTOALL_IN_PLACE_SWAP
                           ? scratch_slot_span(shape, round)
                           : place);
    } else if (way == ALLTOALL_OUT_OF_PLACE || from.first != place.first) {
        plan_add_copy(plan, from, place);
    }
}

/* Copy what arrived in a round to its place. */
static void
plan_add_slot_copy(struct plan *plan,
                   const struct plan_shape *shape,
                   uint32_t round)
{
    const uint32_t peer = partner(shape, round);

    if (peer != shape->rank)
        plan_add_copy(plan, scratch_slot_span(shape, round),
                      caller_block_span(shape, PLAN_OUTPUT, peer));
}

static void
plan_add_input_copy(struct plan *plan, const struct plan_shape *shape)
{
    const size_t n_saved = saved_input_count(shape);

    plan_add_copy(plan, (struct plan_span){PLAN_OUTPUT, 0, n_saved},
                  (struct plan_span){PLAN_SCRATCH, 0, n_saved});
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));

    const enum alltoall_buffering way = in_place_method(shape);

    switch (way) {
    case ALLTOALL_OUT_OF_PLACE:
        plan_add_exchange(plan, shape, way, round);
        break;
    case ALLTOALL_IN_PLACE_SWAP:
        if (round > 0)
            plan_add_slot_copy(plan, shape, round - 1);
        if (round < shape->size)
            plan_add_exchange(plan, shape, way, round);
        break;
    case ALLTOALL_IN_PLACE_COPY:
        if (round == 0)
            plan_add_input_copy(plan, shape);
        else
            plan_add_exchange(plan, shape, way, round - 1);
        break;
    }
}

const struct algorithm algorithm_alltoall_pairwise = {
    .name = "pairwise",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
