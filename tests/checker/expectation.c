/* tests/checker/expectation.c - what each buffer holds before and after a
 * collective */

#include "checker/expectation.h"

#include "base/error.h"
#include "plan/topology.h"

/* How a checker run combines numbers that stand for bytes. */

/* A number stands for the function x -> affine_factor * x + offset, modulo
 * 2^32. Its high half is the factor, made odd so that no information is
 * lost; its low half is the offset. */
static uint32_t
affine_factor(uint64_t x)
{
    return (uint32_t)(x >> 32) | 1;
}

static uint64_t
affine_compose(uint64_t left, uint64_t right)
{
    const uint32_t both = affine_factor(left) * affine_factor(right);
    const uint32_t offset =
        affine_factor(right) * (uint32_t)left + (uint32_t)right;

    return (uint64_t)both << 32 | offset;
}

/* Uses unrelated constants for the two operands. */
static uint64_t
hash_combine(uint64_t left, uint64_t right)
{
    const uint64_t x =
        left * UINT64_C(0x2545f4914f6cdd1d) ^
        (right + UINT64_C(0x632be59bd9b4e019)) * UINT64_C(0xd1342543de82ef95);

    return x ^ x >> 29;
}

uint64_t
arithmetic_combine(enum arithmetic arithmetic, uint64_t left, uint64_t right)
{
    switch (arithmetic) {
    case ARITHMETIC_SUM:
        break;
    case ARITHMETIC_COMPOSE:
        return affine_compose(left, right);
    case ARITHMETIC_HASH:
        return hash_combine(left, right);
    }
    return left + right;
}

enum {
    ES = CHECKER_ELEMENT_BYTES
};

static const char *const buffer_names[] = {
    [PLAN_INPUT] = "input",
    [PLAN_OUTPUT] = "output",
    [PLAN_SCRATCH] = "scratch",
};

/* The finalizer of splitmix64. */
static uint64_t
hash_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t
contribution_value(uint32_t rank, size_t byte)
{
    return hash_mix(((uint64_t)rank << 36) + (byte << 2) + PLAN_SCRATCH + 1);
}

static uint64_t
junk_value(uint32_t rank, enum plan_buffer buffer, size_t byte)
{
    return hash_mix(((uint64_t)rank << 36) + (byte << 2) + (uint64_t)buffer);
}

/* The contributions of the first n_ranks (at least one), combined in the order
 * of the ranks. */
static uint64_t
sum_of_first_ranks(const struct checker_case *scenario,
                   uint32_t n_ranks,
                   size_t byte)
{
    uint64_t sum = contribution_value(0, byte);

    for (uint32_t rank = 1; rank < n_ranks; rank++)
        sum = arithmetic_combine(scenario->arithmetic, sum,
                                 contribution_value(rank, byte));
    return sum;
}

static uint64_t
sum_of_all_ranks(const struct checker_case *scenario, size_t byte)
{
    const uint64_t sum =
        sum_of_first_ranks(scenario, scenario->shape.size, byte);

    return scenario->shape.size == 1 ? sum : expectation_mark_final(sum);
}

uint64_t
expectation_mark_final(uint64_t sum)
{
    return sum * UINT64_C(0x9e3779b97f4a7c15);
}

struct plan_shape
expectation_shape_of_rank(const struct checker_case *scenario, uint32_t rank)
{
    struct plan_shape shape = scenario->shape;

    shape.rank = rank;
    if (scenario->to_each) {
        shape.counts = &scenario->to_each[(size_t)rank * shape.size];
        shape.recv_counts = &scenario->from_each[(size_t)rank * shape.size];
    }
    return shape;
}

/* The elements of all blocks that the caller laid out. */
static size_t
caller_blocks_count(const struct plan_shape *shape)
{
    const struct plan_span last =
        caller_block_span(shape, PLAN_OUTPUT, shape->size - 1);

    return last.first + last.count;
}

static bool
is_root(const struct plan_shape *shape)
{
    return shape->rank == shape->root;
}

/* The position of this rank's block in a buffer of all blocks. */
static struct plan_span
own_block_span(const struct plan_shape *shape)
{
    return caller_block_span(shape, PLAN_OUTPUT, shape->rank);
}

/* The elements that an all-to-all receives. */
static size_t
received_blocks_count(const struct plan_shape *shape)
{
    const struct plan_span last =
        recv_block_span(shape, PLAN_OUTPUT, shape->size - 1);

    return last.first + last.count;
}

static size_t
larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t
input_element_count(const struct checker_case *scenario,
                    const struct plan_shape *shape)
{
    if (shape->is_in_place)
        return 0;
    switch (scenario->goal) {
    case CHECKER_ALLREDUCE:
    case CHECKER_REDUCE:
    case CHECKER_SCAN:
    case CHECKER_EXSCAN:
        return shape->count;
    case CHECKER_REDUCE_SCATTER:
    case CHECKER_ALLTOALL:
        return caller_blocks_count(shape);
    case CHECKER_ALLGATHER:
    case CHECKER_GATHER:
        return own_block_span(shape).count;
    case CHECKER_BROADCAST:
        return is_root(shape) ? shape->count : 0;
    case CHECKER_SCATTER:
        return is_root(shape) ? caller_blocks_count(shape) : 0;
    case CHECKER_BARRIER:
        return 0;
    }
    return 0;
}

static size_t
output_element_count(const struct checker_case *scenario,
                     const struct plan_shape *shape)
{
    switch (scenario->goal) {
    case CHECKER_ALLREDUCE:
    case CHECKER_BROADCAST:
    case CHECKER_SCAN:
    case CHECKER_EXSCAN:
        return shape->count;
    case CHECKER_REDUCE:
        return is_root(shape) || shape->is_in_place ? shape->count : 0;
    case CHECKER_REDUCE_SCATTER:
        if (!shape->is_in_place)
            return own_block_span(shape).count;
        return caller_blocks_count(shape);
    case CHECKER_ALLGATHER:
        return caller_blocks_count(shape);
    case CHECKER_GATHER:
        if (is_root(shape))
            return caller_blocks_count(shape);
        return shape->is_in_place ? own_block_span(shape).count : 0;
    case CHECKER_SCATTER:
        if (is_root(shape) && shape->is_in_place)
            return caller_blocks_count(shape);
        return own_block_span(shape).count;
    case CHECKER_ALLTOALL:
        return larger(received_blocks_count(shape),
                      shape->is_in_place ? caller_blocks_count(shape) : 0);
    case CHECKER_BARRIER:
        return 0;
    }
    return 0;
}

size_t
expectation_buffer_bytes(const struct checker_case *scenario,
                         uint32_t rank,
                         enum plan_buffer buffer)
{
    const struct plan_shape shape = expectation_shape_of_rank(scenario, rank);

    switch (buffer) {
    case PLAN_INPUT:
        return input_element_count(scenario, &shape) * ES;
    case PLAN_OUTPUT:
        return output_element_count(scenario, &shape) * ES;
    case PLAN_SCRATCH:
        return algorithm_n_scratch(scenario->algorithm, &shape) * ES;
    }
    return 0;
}

/* What the output of an in-place call holds before the call. */
static uint64_t
output_initial_value(const struct checker_case *scenario,
                     const struct plan_shape *shape,
                     size_t byte)
{
    bool is_own = true;

    if (scenario->goal == CHECKER_BROADCAST ||
        scenario->goal == CHECKER_SCATTER)
        is_own = is_root(shape);
    if (scenario->goal == CHECKER_ALLGATHER ||
        (scenario->goal == CHECKER_GATHER && is_root(shape))) {
        const struct plan_span place = own_block_span(shape);

        is_own =
            byte / ES >= place.first && byte / ES < place.first + place.count;
        byte -= is_own ? place.first * ES : 0;
    }
    if (scenario->goal == CHECKER_ALLTOALL)
        is_own = byte / ES < caller_blocks_count(shape);
    return is_own ? contribution_value(shape->rank, byte)
                  : junk_value(shape->rank, PLAN_OUTPUT, byte);
}

static uint64_t
buffer_initial_value(const struct checker_case *scenario,
                     const struct plan_shape *shape,
                     enum plan_buffer buffer,
                     size_t byte)
{
    if (buffer == PLAN_INPUT)
        return contribution_value(shape->rank, byte);
    if (buffer == PLAN_OUTPUT && shape->is_in_place)
        return output_initial_value(scenario, shape, byte);
    if (buffer == PLAN_SCRATCH && scenario->goal == CHECKER_BARRIER &&
        byte < ES)
        return contribution_value(shape->rank, byte);
    return junk_value(shape->rank, buffer, byte);
}

void
expectation_fill_buffer(const struct checker_case *scenario,
                        uint32_t rank,
                        enum plan_buffer buffer,
                        uint64_t *bytes)
{
    const struct plan_shape shape = expectation_shape_of_rank(scenario, rank);
    const size_t n_bytes = expectation_buffer_bytes(scenario, rank, buffer);

    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = buffer_initial_value(scenario, &shape, buffer, i);
}

/* byte of a buffer of gathered values: finds the block that holds it. */
static uint64_t
gathered_value(const struct plan_shape *shape, size_t byte)
{
    for (uint32_t rank = 0; rank < shape->size; rank++) {
        const size_t n_bytes =
            ES * (shape->counts ? shape->counts[rank] : shape->count);

        if (byte < n_bytes)
            return contribution_value(rank, byte);
        byte -= n_bytes;
    }
    return 0;
}

/* byte of an all-to-all's output, where blocks are ordered by the rank that
 * sent them. */
static uint64_t
alltoall_value(const struct checker_case *scenario,
               const struct plan_shape *shape,
               size_t byte)
{
    for (uint32_t rank = 0; rank < shape->size; rank++) {
        const size_t n_bytes =
            ES * (shape->recv_counts ? shape->recv_counts[rank] : shape->count);

        if (byte < n_bytes) {
            const struct plan_shape source =
                expectation_shape_of_rank(scenario, rank);

            return contribution_value(
                rank,
                byte + ES * caller_block_span(&source, PLAN_INPUT, shape->rank)
                                .first);
        }
        byte -= n_bytes;
    }
    return 0;
}

/* Is byte beyond the blocks that an all-to-all received, where any value is
 * allowed? */
static bool
output_is_unspecified(const struct checker_case *scenario,
                      const struct plan_shape *shape,
                      size_t byte)
{
    return scenario->goal == CHECKER_ALLTOALL &&
           byte / ES >= received_blocks_count(shape);
}

static uint64_t
output_final_value(const struct checker_case *scenario,
                   const struct plan_shape *shape,
                   size_t byte)
{
    const uint64_t before =
        buffer_initial_value(scenario, shape, PLAN_OUTPUT, byte);

    switch (scenario->goal) {
    case CHECKER_ALLREDUCE:
        return sum_of_all_ranks(scenario, byte);
    case CHECKER_REDUCE_SCATTER:
        return byte / ES < own_block_span(shape).count
                   ? sum_of_all_ranks(scenario,
                                      own_block_span(shape).first * ES + byte)
                   : before;
    case CHECKER_ALLGATHER:
        return gathered_value(shape, byte);
    case CHECKER_BROADCAST:
        return contribution_value(shape->root, byte);
    case CHECKER_REDUCE:
        return is_root(shape) ? sum_of_all_ranks(scenario, byte) : before;
    case CHECKER_GATHER:
        return is_root(shape) ? gathered_value(shape, byte) : before;
    case CHECKER_SCATTER:
        if (is_root(shape) && shape->is_in_place)
            return before;
        return contribution_value(shape->root,
                                  own_block_span(shape).first * ES + byte);
    case CHECKER_ALLTOALL:
        return alltoall_value(scenario, shape, byte);
    case CHECKER_SCAN:
        return sum_of_first_ranks(scenario, shape->rank + 1, byte);
    case CHECKER_EXSCAN:
        return shape->rank == 0
                   ? before
                   : sum_of_first_ranks(scenario, shape->rank, byte);
    case CHECKER_BARRIER:
        return before;
    }
    return before;
}

/* The sum of the values of n_ranks ranks, from this one backwards. If n_ranks
 * exceeds the size, some count twice. */
static uint64_t
sum_of_ranks_before(const struct plan_shape *shape,
                    uint64_t n_ranks,
                    size_t byte)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < n_ranks; i++)
        sum += contribution_value(ring_rank_before(shape, (uint32_t)i), byte);
    return sum;
}

/* The expected last message of a barrier. It holds the value of each rank once
 * or, in the dissemination barrier of a size that is not a power of two, twice
 * for those that reached this rank in two ways. */
static uint64_t
barrier_expected_value(const struct plan_shape *shape, uint64_t is, size_t byte)
{
    const uint64_t once = sum_of_ranks_before(shape, shape->size, byte);
    uint64_t n_doubled = 1;

    if (is == once)
        return once;
    while (n_doubled < shape->size)
        n_doubled *= 2;
    return sum_of_ranks_before(shape, n_doubled, byte);
}

static enum hoop_status
byte_check_value(uint32_t rank,
                 enum plan_buffer buffer,
                 size_t byte,
                 const uint64_t is_and_should[2])
{
    if (is_and_should[0] == is_and_should[1])
        return HOOP_OK;
    return error_raise(HOOP_E_INTERNAL,
                       "rank %u: byte %zu of %s element %zu is wrong at the "
                       "end; look at the steps that write it",
                       rank, byte % ES, buffer_names[buffer], byte / ES);
}

static enum hoop_status
barrier_check_scratch(const struct checker_case *scenario,
                      const struct plan_shape *shape,
                      const uint64_t *bytes)
{
    const size_t n_bytes =
        expectation_buffer_bytes(scenario, shape->rank, PLAN_SCRATCH);

    if (scenario->goal != CHECKER_BARRIER || shape->size == 1)
        return HOOP_OK;
    if (n_bytes < ES)
        return error_raise(HOOP_E_INTERNAL,
                           "rank %u: a barrier without scratch proves nothing",
                           shape->rank);
    for (size_t i = 0; i < ES; i++) {
        const size_t byte = n_bytes - ES + i;
        const uint64_t pair[] = {bytes[byte],
                                 barrier_expected_value(shape, bytes[byte], i)};
        const enum hoop_status status =
            byte_check_value(shape->rank, PLAN_SCRATCH, byte, pair);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
expectation_check_content(const struct checker_case *scenario,
                          uint32_t rank,
                          enum plan_buffer buffer,
                          const uint64_t *bytes)
{
    const struct plan_shape shape = expectation_shape_of_rank(scenario, rank);
    const size_t n_bytes = expectation_buffer_bytes(scenario, rank, buffer);

    if (buffer == PLAN_SCRATCH)
        return barrier_check_scratch(scenario, &shape, bytes);
    for (size_t i = 0; i < n_bytes; i++) {
        if (buffer == PLAN_OUTPUT && output_is_unspecified(scenario, &shape, i))
            break;

        const uint64_t should =
            buffer == PLAN_OUTPUT
                ? output_final_value(scenario, &shape, i)
                : buffer_initial_value(scenario, &shape, buffer, i);
        const enum hoop_status status = byte_check_value(
            rank, buffer, i, (const uint64_t[]){bytes[i], should});

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}
