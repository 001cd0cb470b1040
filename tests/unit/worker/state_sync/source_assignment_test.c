/* tests/unit/worker/state_sync/source_assignment_test.c - who sends which
 * blocks */

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "state_case.h"
#include "state_sync/block_transfer.h"

enum {
    PARTS_MAX = 9,
    MISSING_BYTES_MAX = 32,
};

/* Blocks that lie together, but for a tensor's end and a message's. */
static const size_t tensor_sizes[] = {5 * CASE_BLOCK, 0, 100, 64 * CASE_BLOCK,
                                      CASE_BLOCK - 1};

static uint64_t
bytes_of(const struct state_manifest *tensor_manifest,
         const uint8_t *missing_blocks)
{
    uint64_t n_bytes = 0;

    for (uint64_t i = 0; i < tensor_manifest->n_blocks; i++) {
        if (missing_blocks_has(missing_blocks, i))
            n_bytes += state_manifest_byte_range(tensor_manifest, i, 1).n_bytes;
    }
    return n_bytes;
}

/* The part's bytes; its blocks are crossed off in left. */
static uint64_t
part_take(struct source_assignment source_assignment, uint8_t *left)
{
    const struct state_manifest *tensor_manifest =
        source_assignment.tensor_manifest;
    struct state_manifest_byte_range run;
    uint64_t n_bytes = 0;

    while (source_assignment_next_message(&source_assignment, &run)) {
        const struct state_manifest_tensor *entry =
            &tensor_manifest->entries[run.entry];
        const uint64_t first = entry->first + run.offset / CASE_BLOCK;

        assert_int_equal(run.offset % CASE_BLOCK, 0);
        assert_true(run.offset + run.n_bytes <= entry->n_bytes);
        n_bytes += run.n_bytes;
        for (uint64_t i = 0; i * CASE_BLOCK < run.n_bytes; i++) {
            assert_true(missing_blocks_has(left, first + i));
            left[(first + i) / 8] &= (uint8_t) ~(1U << ((first + i) % 8));
        }
    }
    return n_bytes;
}

/* Each block once, and parts that differ by one block at most. */
static void
require_even(const struct state_manifest *tensor_manifest,
             const uint8_t *missing_blocks)
{
    const uint64_t n_bytes = bytes_of(tensor_manifest, missing_blocks);

    for (uint32_t n_parts = 1; n_parts <= PARTS_MAX; n_parts++) {
        uint8_t left[MISSING_BYTES_MAX];

        memcpy(left, missing_blocks, sizeof(left));
        for (uint32_t i = 0; i < n_parts; i++) {
            const struct source_part part = {i, n_parts};
            const uint64_t n_part =
                part_take(source_assignment_compute(
                              tensor_manifest, missing_blocks, n_bytes, part),
                          left);

            assert_true(n_part <= n_bytes / n_parts + CASE_BLOCK);
            assert_true(n_part + CASE_BLOCK >= n_bytes / n_parts);
        }
        for (size_t i = 0; i < sizeof(left); i++)
            assert_int_equal(left[i], 0);
    }
}

static void
source_assignments_are_even_and_leave_nothing(void **state)
{
    struct state_manifest *tensor_manifest =
        state_case_of(tensor_sizes, COUNT_OF(tensor_sizes));
    uint32_t chance = 12345;

    for (unsigned round = 0; round < 200; round++) {
        uint8_t missing_blocks[MISSING_BYTES_MAX] = {0};

        for (uint64_t i = 0; i < tensor_manifest->n_blocks; i++) {
            chance = chance * 1664525 + 1013904223;
            if (chance >> 24 < round * 2)
                missing_blocks[i / 8] =
                    (uint8_t)(missing_blocks[i / 8] | 1U << (i % 8));
        }
        require_even(tensor_manifest, missing_blocks);
    }
    state_manifest_destroy(tensor_manifest);
}

static void
source_assignment_joins_what_lies_together(void **state)
{
    struct state_manifest *tensor_manifest =
        state_case_of(tensor_sizes, COUNT_OF(tensor_sizes));
    static const size_t expected[] = {5 * CASE_BLOCK, 100, 64 * CASE_BLOCK,
                                      CASE_BLOCK - 1};
    uint8_t missing_blocks[MISSING_BYTES_MAX];
    struct state_manifest_byte_range run;

    memset(missing_blocks, 0xff, sizeof(missing_blocks));
    struct source_assignment source_assignment = source_assignment_compute(
        tensor_manifest, missing_blocks, tensor_manifest->n_bytes,
        (struct source_part){0, 1});
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(source_assignment_next_message(&source_assignment, &run));
        assert_int_equal(run.n_bytes, expected[i]);
    }
    assert_false(source_assignment_next_message(&source_assignment, &run));
    state_manifest_destroy(tensor_manifest);
}

/* No memory is touched: the tensor need not be there. */
static void
source_assignment_of_much_is_cut_into_messages(void **state)
{
    uint8_t nothing[1];
    const struct hoop_named_tensor large = {
        "t", {nothing, HOOP_UINT8, {1, {(size_t)3 * LIMIT_STATE_MESSAGE}}, 0}};
    const struct hoop_state it = {&large, 1, 1, 3 * CASE_BLOCK};
    struct state_manifest *tensor_manifest = NULL;
    struct state_manifest_byte_range run;
    uint64_t n_bytes = 0;

    assert_ok(state_manifest_create(&it, &tensor_manifest));
    uint8_t *missing_blocks =
        malloc(missing_blocks_bitmap_bytes(tensor_manifest));
    memset(missing_blocks, 0xff, missing_blocks_bitmap_bytes(tensor_manifest));
    struct source_assignment source_assignment = source_assignment_compute(
        tensor_manifest, missing_blocks, tensor_manifest->n_bytes,
        (struct source_part){0, 1});
    while (source_assignment_next_message(&source_assignment, &run)) {
        assert_true(run.n_bytes <= LIMIT_STATE_MESSAGE);
        assert_int_equal(run.offset, n_bytes);
        n_bytes += run.n_bytes;
    }
    assert_int_equal(n_bytes, tensor_manifest->n_bytes);
    free(missing_blocks);
    state_manifest_destroy(tensor_manifest);
}

/* One that is larger than a message goes alone. */
static void
source_assignment_of_large_blocks_is_one_by_one(void **state)
{
    uint8_t nothing[1];
    const size_t n_block = (size_t)2 * LIMIT_STATE_MESSAGE;
    const struct hoop_named_tensor large = {
        "t", {nothing, HOOP_UINT8, {1, {n_block + 1}}, NULL}};
    const struct hoop_state it = {&large, 1, 1, n_block};
    const uint8_t missing_blocks[] = {3};
    struct state_manifest *tensor_manifest = NULL;
    struct state_manifest_byte_range run;

    assert_ok(state_manifest_create(&it, &tensor_manifest));
    struct source_assignment source_assignment = source_assignment_compute(
        tensor_manifest, missing_blocks, tensor_manifest->n_bytes,
        (struct source_part){0, 1});
    assert_true(source_assignment_next_message(&source_assignment, &run));
    assert_int_equal(run.n_bytes, n_block);
    assert_true(source_assignment_next_message(&source_assignment, &run));
    assert_int_equal(run.n_bytes, 1);
    assert_false(source_assignment_next_message(&source_assignment, &run));
    state_manifest_destroy(tensor_manifest);
}

static void
missing_blocks_are_the_blocks_that_differ(void **state)
{
    static const size_t sizes[] = {9 * CASE_BLOCK, 1, CASE_BLOCK + 7};
    struct state_manifest *tensor_manifest =
        state_case_of(sizes, COUNT_OF(sizes));
    struct digest_128 truth[12];
    uint8_t missing_blocks[2] = {0};

    assert_int_equal(tensor_manifest->n_blocks, 12);
    assert_int_equal(missing_blocks_bitmap_bytes(tensor_manifest), 2);
    (void)state_manifest_hash_blocks(tensor_manifest);
    memcpy(truth, tensor_manifest->digests, sizeof(truth));
    struct missing_blocks_totals sum =
        missing_blocks_find(tensor_manifest, truth, missing_blocks);
    assert_int_equal(sum.n_blocks, 0);
    assert_int_equal(sum.n_bytes, 0);
    truth[0].low ^= 1;
    truth[9].high ^= 1;
    truth[11].high ^= 1;
    sum = missing_blocks_find(tensor_manifest, truth, missing_blocks);
    assert_int_equal(sum.n_blocks, 3);
    assert_int_equal(sum.n_bytes, CASE_BLOCK + 1 + 7);
    assert_int_equal(missing_blocks[0], 1);
    assert_int_equal(missing_blocks[1], 2 | 8);
    for (uint64_t i = 0; i < 12; i++)
        assert_int_equal(missing_blocks_has(missing_blocks, i),
                         i == 0 || i == 9 || i == 11);
    state_manifest_destroy(tensor_manifest);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(source_assignments_are_even_and_leave_nothing),
        cmocka_unit_test(source_assignment_joins_what_lies_together),
        cmocka_unit_test(source_assignment_of_much_is_cut_into_messages),
        cmocka_unit_test(source_assignment_of_large_blocks_is_one_by_one),
        cmocka_unit_test(missing_blocks_are_the_blocks_that_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
