/* tests/unit/worker/state_sync/missing_blocks_test.c - which blocks a rank lacks */

#include <string.h>

#include "check.h"
#include "state_case.h"
#include "state_sync/block_transfer.h"

static void
missing_blocks_are_the_blocks_that_differ(void **state)
{
    static const size_t sizes[] = {9 * CASE_BLOCK, 1, CASE_BLOCK + 7};
    struct state_manifest *tensor_manifest =
        state_case_of(sizes, COUNT_OF(sizes));
    struct digest_128 truth[12];
    uint8_t missing_blocks[2] = {0};

    (void)state;
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
        cmocka_unit_test(missing_blocks_are_the_blocks_that_differ),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
