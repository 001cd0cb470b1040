/*
 * algorithms/alltoall_bruck.c - all-to-all of even blocks in ceil(log2 n) exchanges
 *
 * Let block j of rank r be the one for rank r+j: it has to move j ranks
 * forward. For each bit k of the block numbers there is one exchange, in which
 * all blocks that have this bit set move 2^k ranks forward together, in one
 * message. After all bits, every block has arrived; a rank's block j then comes
 * from the rank j before it. Blocks moved by each exchange, n = 6:
 *
 *     1 3 5    2 3    4 5
 *
 * Block j stands at place r-j of the output, where the block from rank r-j
 * belongs, so nothing has to be rotated at the end. At the beginning each block
 * is copied from place r+j of the input (in place: of a copy of it). All places
 * count modulo n. Blocks that move together are packed in scratch; they stand
 * in runs of 2^k, and a run of blocks that meets the end of the output is split in two.
 *
 * Cost: ceil(log2 n) * alpha + log2 n * n/2 * block * beta, and as much copying
 * in each exchange. For blocks so small that alpha is all that counts.
 */

#include <assert.h>

#include "algorithms/algorithms.h"
#include "plan/topology.h"

/* The scratch holds the packed blocks, the received blocks and a copy of the
 * input. Packing copies from the output, unpacking from the scratch. */
static uint32_t
packed_blocks_begin(const struct plan_shape *shape, enum plan_buffer from)
{
    return from == PLAN_OUTPUT ? 0 : shape->size / 2;
}

static uint32_t
saved_input_begin(const struct plan_shape *shape)
{
    return shape->size / 2 * 2;
}

/* With two ranks, every block already stands where it belongs. */
static bool
needs_input_copy(const struct plan_shape *shape)
{
    return shape->is_in_place && shape->size > 2;
}

static size_t
n_scratch(const struct plan_shape *shape)
{
    const uint32_t n_saved = needs_input_copy(shape) ? shape->size : 0;

    return (saved_input_begin(shape) + n_saved) * shape->count;
}

/* Save the input, rotate it; then, for each bit: pack, exchange, unpack. */
static uint32_t
n_rounds(const struct plan_shape *shape)
{
    return 2 + 3 * doubling_round_count(shape);
}

/* n_blocks of any buffer, from block first on. */
static struct plan_span
blocks_span(const struct plan_shape *shape,
            enum plan_buffer buffer,
            uint32_t first,
            uint32_t n_blocks)
{
    return (struct plan_span){
        .buffer = buffer,
        .first = first * shape->count,
        .count = n_blocks * shape->count,
    };
}

static void
plan_add_input_copy(struct plan *plan, const struct plan_shape *shape)
{
    if (needs_input_copy(shape))
        plan_add_copy(plan, blocks_span(shape, PLAN_OUTPUT, 0, shape->size),
                      blocks_span(shape, PLAN_SCRATCH, saved_input_begin(shape),
                                  shape->size));
}

static void
plan_add_rotation(struct plan *plan, const struct plan_shape *shape)
{
    const struct plan_span input =
        shape->is_in_place ? blocks_span(shape, PLAN_SCRATCH,
                                         saved_input_begin(shape), shape->size)
                           : blocks_span(shape, PLAN_INPUT, 0, shape->size);

    for (uint32_t j = 0; j < shape->size; j++) {
        const uint32_t target = ring_rank_before(shape, shape->size - j);
        const uint32_t place = ring_rank_before(shape, j);

        struct plan_span from = input;

        from.first += target * shape->count;
        from.count = shape->count;
        if (!shape->is_in_place || place != target)
            plan_add_copy(plan, from,
                          blocks_span(shape, PLAN_OUTPUT, place, 1));
    }
}

/* How many of the blocks 0 to end - 1 have the bit set. */
static uint32_t
count_blocks_with_bit(uint32_t bit, uint32_t end)
{
    const uint32_t rest = end % (2 * bit);

    return end / (2 * bit) * bit + (rest > bit ? rest - bit : 0);
}

/* Contiguous blocks that move together, and their place in the output. */
struct contiguous_block_run {
    uint32_t packed;
    uint32_t place;
    uint32_t n_blocks;
};

static void
plan_copy_block_run(struct plan *plan,
                    const struct plan_shape *shape,
                    enum plan_buffer from,
                    struct contiguous_block_run contiguous_block_run)
{
    const bool is_packing = from == PLAN_OUTPUT;
    const uint32_t packed =
        packed_blocks_begin(shape, from) + contiguous_block_run.packed;
    const struct plan_span placed_span =
        blocks_span(shape, PLAN_OUTPUT, contiguous_block_run.place,
                    contiguous_block_run.n_blocks);
    const struct plan_span packed_span =
        blocks_span(shape, PLAN_SCRATCH, packed, contiguous_block_run.n_blocks);

    plan_add_copy(plan, is_packing ? placed_span : packed_span,
                  is_packing ? packed_span : placed_span);
}

/* Pack from the output, or unpack from the scratch. The blocks of a run of
 * blocks are in descending order, and may wrap around the end of the output. */
static void
plan_pack_or_unpack(struct plan *plan,
                    const struct plan_shape *shape,
                    enum plan_buffer from,
                    uint32_t bit)
{
    for (uint32_t begin = bit; begin < shape->size; begin += 2 * bit) {
        const uint32_t rest = shape->size - begin;
        const uint32_t n_blocks = rest < bit ? rest : bit;
        const uint32_t packed = count_blocks_with_bit(bit, begin);
        const uint32_t place = ring_rank_before(shape, begin + n_blocks - 1);
        const uint32_t until_end = shape->size - place;
        const uint32_t n_high = n_blocks < until_end ? n_blocks : until_end;

        plan_copy_block_run(
            plan, shape, from,
            (struct contiguous_block_run){packed, place, n_high});
        plan_copy_block_run(plan, shape, from,
                            (struct contiguous_block_run){packed + n_high, 0,
                                                          n_blocks - n_high});
    }
}

static void
plan_add_exchange(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t bit)
{
    const uint32_t n_blocks = count_blocks_with_bit(bit, shape->size);

    plan_add_send(plan, ring_rank_before(shape, shape->size - bit), bit,
                  blocks_span(shape, PLAN_SCRATCH,
                              packed_blocks_begin(shape, PLAN_OUTPUT),
                              n_blocks));
    plan_add_store(plan, ring_rank_before(shape, bit), bit,
                   blocks_span(shape, PLAN_SCRATCH,
                               packed_blocks_begin(shape, PLAN_SCRATCH),
                               n_blocks));
}

static void
plan_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    assert(round < n_rounds(shape));
    assert(!shape->counts && !shape->recv_counts);

    if (round == 0) {
        plan_add_input_copy(plan, shape);
        return;
    }
    if (round == 1) {
        plan_add_rotation(plan, shape);
        return;
    }

    const uint32_t bit = (uint32_t)1 << (round - 2) / 3;

    if (round % 3 == 2)
        plan_pack_or_unpack(plan, shape, PLAN_OUTPUT, bit);
    if (round % 3 == 0)
        plan_add_exchange(plan, shape, bit);
    if (round % 3 == 1)
        plan_pack_or_unpack(plan, shape, PLAN_SCRATCH, bit);
}

const struct algorithm algorithm_alltoall_bruck = {
    .name = "bruck",
    .n_rounds = n_rounds,
    .plan_round = plan_round,
    .n_scratch = n_scratch,
};
