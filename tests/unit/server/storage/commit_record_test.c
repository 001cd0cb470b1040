/* tests/unit/server/storage/commit_record_test.c - what was written is told from what was not */

#include <string.h>

#include "check.h"
#include "storage/changeset.h"

static void
seal_is_what_was_encoded(void **state)
{
    static const struct commit_record commit_record = {7, UINT64_MAX,
                                                       0x0102030405060708};
    uint8_t bytes[COMMIT_RECORD_BYTES];
    struct commit_record read = {0};

    (void)state;
    commit_record_encode(&commit_record, bytes);
    assert_true(commit_record_decode(
        (struct storage_span){bytes, sizeof(bytes)}, &read));
    assert_int_equal(read.commit, 7);
    assert_true(read.n_records == UINT64_MAX);
    assert_int_equal(read.sum, 0x0102030405060708);
    assert_int_equal(bytes[0], 7);
    assert_false(commit_record_decode(
        (struct storage_span){bytes, sizeof(bytes) - 1}, &read));
}

static void
seal_key_is_before_all_others(void **state)
{
    (void)state;
    assert_true(commit_record_is_key(commit_record_key()));
    assert_false(commit_record_is_key((struct storage_span){"\1", 1}));
    assert_false(commit_record_is_key((struct storage_span){"\0a", 2}));
    assert_false(commit_record_is_key((struct storage_span){NULL, 0}));
}

static void
record_with_any_bit_changed_is_not_opened(void **state)
{
    uint8_t key[] = "key";
    uint8_t stored[RECORD_SUM_BYTES + 5] = {0};
    const struct storage_span name = {key, 3};
    const struct storage_span record = {stored, sizeof(stored)};
    struct storage_span value;
    uint64_t sum;

    (void)state;
    memcpy(stored + RECORD_SUM_BYTES, "value", 5);
    sum = record_checksum(name,
                          (struct storage_span){stored + RECORD_SUM_BYTES, 5});
    memcpy(stored, &sum, sizeof(sum));
    assert_true(record_split_and_verify(name, record, &value, &sum));
    assert_int_equal(value.n_bytes, 5);
    assert_memory_equal(value.bytes, "value", 5);
    for (size_t bit = 0; bit < 8 * sizeof(stored); bit++) {
        stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(record_split_and_verify(name, record, &value, &sum));
        stored[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t bit = 0; bit < 24; bit++) {
        key[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_false(record_split_and_verify(name, record, &value, &sum));
        key[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_false(record_split_and_verify(name, (struct storage_span){stored, 7},
                                         &value, &sum));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seal_is_what_was_encoded),
        cmocka_unit_test(seal_key_is_before_all_others),
        cmocka_unit_test(record_with_any_bit_changed_is_not_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
