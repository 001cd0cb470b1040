/* tests/unit/worker/state/quota_test.c - who sends which blocks */

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "state/quota.h"
#include "state_case.h"

enum {
    PARTS_MAX = 9,
    GAPS_ROOM = 32,
};

/* Blocks that lie together, but for a tensor's end and a message's. */
static const size_t sizes[] = {5 * CASE_BLOCK, 0, 100, 64 * CASE_BLOCK,
                               CASE_BLOCK - 1};

static uint64_t
bytes_of(const struct inventory *inventory, const uint8_t *gaps)
{
    uint64_t n_bytes = 0;

    for (uint64_t i = 0; i < inventory->n_blocks; i++) {
        if (gaps_has(gaps, i))
            n_bytes += inventory_run(inventory, i, 1).n_bytes;
    }
    return n_bytes;
}

/* The part's bytes; its blocks are crossed off in left. */
static uint64_t
part_take(struct quota quota, uint8_t *left)
{
    const struct inventory *inventory = quota.inventory;
    struct inventory_run run;
    uint64_t n_bytes = 0;

    while (quota_next(&quota, &run)) {
        const struct inventory_entry *entry = &inventory->entries[run.entry];
        const uint64_t first = entry->first + run.offset / CASE_BLOCK;

        assert_int_equal(run.offset % CASE_BLOCK, 0);
        assert_true(run.offset + run.n_bytes <= entry->n_bytes);
        n_bytes += run.n_bytes;
        for (uint64_t i = 0; i * CASE_BLOCK < run.n_bytes; i++) {
            assert_true(gaps_has(left, first + i));
            left[(first + i) / 8] &= (uint8_t) ~(1U << ((first + i) % 8));
        }
    }
    return n_bytes;
}

/* Each block once, and parts that differ by one block at most. */
static void
require_even(const struct inventory *inventory, const uint8_t *gaps)
{
    const uint64_t n_bytes = bytes_of(inventory, gaps);

    for (uint32_t n_parts = 1; n_parts <= PARTS_MAX; n_parts++) {
        uint8_t left[GAPS_ROOM];

        memcpy(left, gaps, sizeof(left));
        for (uint32_t i = 0; i < n_parts; i++) {
            const struct quota_part part = {i, n_parts};
            const uint64_t n_part =
                part_take(quota_of(inventory, gaps, n_bytes, part), left);

            assert_true(n_part <= n_bytes / n_parts + CASE_BLOCK);
            assert_true(n_part + CASE_BLOCK >= n_bytes / n_parts);
        }
        for (size_t i = 0; i < sizeof(left); i++)
            assert_int_equal(left[i], 0);
    }
}

static void
quotas_are_even_and_leave_nothing(void **state)
{
    struct inventory *inventory = state_case_of(sizes, COUNT_OF(sizes));
    uint32_t chance = 12345;

    (void)state;
    for (unsigned round = 0; round < 200; round++) {
        uint8_t gaps[GAPS_ROOM] = {0};

        for (uint64_t i = 0; i < inventory->n_blocks; i++) {
            chance = chance * 1664525 + 1013904223;
            if (chance >> 24 < round * 2)
                gaps[i / 8] = (uint8_t)(gaps[i / 8] | 1U << (i % 8));
        }
        require_even(inventory, gaps);
    }
    inventory_destroy(inventory);
}

static void
quota_joins_what_lies_together(void **state)
{
    struct inventory *inventory = state_case_of(sizes, COUNT_OF(sizes));
    static const size_t expected[] = {5 * CASE_BLOCK, 100, 64 * CASE_BLOCK,
                                      CASE_BLOCK - 1};
    uint8_t gaps[GAPS_ROOM];
    struct inventory_run run;

    (void)state;
    memset(gaps, 0xff, sizeof(gaps));
    struct quota quota = quota_of(inventory, gaps, inventory->n_bytes,
                                  (struct quota_part){0, 1});
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(quota_next(&quota, &run));
        assert_int_equal(run.n_bytes, expected[i]);
    }
    assert_false(quota_next(&quota, &run));
    inventory_destroy(inventory);
}

/* No memory is touched: the tensor need not be there. */
static void
quota_of_much_is_cut_into_messages(void **state)
{
    uint8_t nothing[1];
    const struct hoop_named_tensor large = {
        "t", {nothing, HOOP_UINT8, {1, {(size_t)3 * LIMIT_STATE_MESSAGE}}, 0}};
    const struct hoop_state it = {&large, 1, 1, 3 * CASE_BLOCK};
    struct inventory *inventory = NULL;
    struct inventory_run run;
    uint64_t n_bytes = 0;

    (void)state;
    assert_int_equal(inventory_create(&it, &inventory), HOOP_OK);
    uint8_t *gaps = malloc(gaps_bytes(inventory));
    memset(gaps, 0xff, gaps_bytes(inventory));
    struct quota quota = quota_of(inventory, gaps, inventory->n_bytes,
                                  (struct quota_part){0, 1});
    while (quota_next(&quota, &run)) {
        assert_true(run.n_bytes <= LIMIT_STATE_MESSAGE);
        assert_int_equal(run.offset, n_bytes);
        n_bytes += run.n_bytes;
    }
    assert_int_equal(n_bytes, inventory->n_bytes);
    free(gaps);
    inventory_destroy(inventory);
}

/* One that is larger than a message goes alone. */
static void
quota_of_large_blocks_is_one_by_one(void **state)
{
    uint8_t nothing[1];
    const size_t n_block = (size_t)2 * LIMIT_STATE_MESSAGE;
    const struct hoop_named_tensor large = {
        "t", {nothing, HOOP_UINT8, {1, {n_block + 1}}, NULL}};
    const struct hoop_state it = {&large, 1, 1, n_block};
    const uint8_t gaps[] = {3};
    struct inventory *inventory = NULL;
    struct inventory_run run;

    (void)state;
    assert_int_equal(inventory_create(&it, &inventory), HOOP_OK);
    struct quota quota = quota_of(inventory, gaps, inventory->n_bytes,
                                  (struct quota_part){0, 1});
    assert_true(quota_next(&quota, &run));
    assert_int_equal(run.n_bytes, n_block);
    assert_true(quota_next(&quota, &run));
    assert_int_equal(run.n_bytes, 1);
    assert_false(quota_next(&quota, &run));
    inventory_destroy(inventory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotas_are_even_and_leave_nothing),
        cmocka_unit_test(quota_joins_what_lies_together),
        cmocka_unit_test(quota_of_much_is_cut_into_messages),
        cmocka_unit_test(quota_of_large_blocks_is_one_by_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
