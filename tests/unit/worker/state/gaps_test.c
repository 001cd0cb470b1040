/* tests/unit/worker/state/gaps_test.c - which blocks a rank lacks */

#include <string.h>

#include "check.h"
#include "state/gaps.h"
#include "state_case.h"

static void
gaps_are_the_blocks_that_differ(void **state)
{
    static const size_t sizes[] = {9 * CASE_BLOCK, 1, CASE_BLOCK + 7};
    struct inventory *inventory = state_case_of(sizes, COUNT_OF(sizes));
    struct digest_wide truth[12];
    uint8_t gaps[2] = {0};

    (void)state;
    assert_int_equal(inventory->n_blocks, 12);
    assert_int_equal(gaps_bytes(inventory), 2);
    (void)inventory_digest(inventory);
    memcpy(truth, inventory->digests, sizeof(truth));
    struct gaps_sum sum = gaps_find(inventory, truth, gaps);
    assert_int_equal(sum.n_blocks, 0);
    assert_int_equal(sum.n_bytes, 0);
    truth[0].low ^= 1;
    truth[9].high ^= 1;
    truth[11].high ^= 1;
    sum = gaps_find(inventory, truth, gaps);
    assert_int_equal(sum.n_blocks, 3);
    assert_int_equal(sum.n_bytes, CASE_BLOCK + 1 + 7);
    assert_int_equal(gaps[0], 1);
    assert_int_equal(gaps[1], 2 | 8);
    for (uint64_t i = 0; i < 12; i++)
        assert_int_equal(gaps_has(gaps, i), i == 0 || i == 9 || i == 11);
    inventory_destroy(inventory);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gaps_are_the_blocks_that_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
