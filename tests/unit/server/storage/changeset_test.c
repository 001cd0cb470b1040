/* tests/unit/server/storage/changeset_test.c - lists of changes */

#include <string.h>

#include "check.h"
#include "storage/changeset.h"

/* after cmocka */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "storage/changeset.h"

static struct storage_span
text(const char *text)
{
    return (struct storage_span){text, strlen(text)};
}

static void
expect(const struct changeset *changes, size_t *at, const char *line)
{
    struct change change;
    char found[128];

    assert_true(changeset_next(changes, at, &change));
    snprintf(found, sizeof(found), "%d %.*s=%.*s", change.kind,
             (int)change.key.n_bytes, (const char *)change.key.bytes,
             (int)change.value.n_bytes, (const char *)change.value.bytes);
    assert_string_equal(found, line);
}

static void
changes_come_back_in_order(void **state)
{
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    size_t at = 0;
    struct change change;

    assert_false(changeset_next(&changes, &at, &change));
    changeset_put(&changes, 'a', text("one"), text("1"));
    changeset_erase(&changes, 'b', text(""));
    changeset_put(&changes, 'c', text("three"), text(""));
    expect(&changes, &at, "0 aone=1");
    expect(&changes, &at, "1 b=");
    expect(&changes, &at, "0 cthree=");
    assert_false(changeset_next(&changes, &at, &change));
}

static void
list_moved_comes_behind_the_other(void **state)
{
    CLEANUP(changeset_deinit) struct changeset to = {0};
    CLEANUP(changeset_deinit) struct changeset from = {0};
    size_t at = 0;

    changeset_put(&from, 'a', text("1"), text("x"));
    changeset_append_and_clear(&to, &from);
    assert_int_equal(from.n_bytes, 0);
    changeset_put(&from, 'a', text("2"), text("y"));
    changeset_append_and_clear(&to, &from);
    changeset_append_and_clear(&to, &from);
    expect(&to, &at, "0 a1=x");
    expect(&to, &at, "0 a2=y");
    assert_int_equal(at, to.n_bytes);
}

static void
large_values_fit_and_their_memory_goes(void **state)
{
    static char value[3 << 20];
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    struct change change;
    size_t at = 0;

    memset(value, 'v', sizeof(value));
    for (int i = 0; i < 3; i++)
        changeset_put(&changes, 'a', text("k"),
                      (struct storage_span){value, sizeof(value)});
    for (int i = 0; i < 3; i++) {
        assert_true(changeset_next(&changes, &at, &change));
        assert_int_equal(change.value.n_bytes, sizeof(value));
        assert_memory_equal(change.value.bytes, value, sizeof(value));
    }
    changeset_clear(&changes);
    assert_null(changes.bytes);
}

static void
seal_is_what_was_encoded(void **state)
{
    static const struct commit_record commit_record = {7, UINT64_MAX,
                                                       0x0102030405060708};
    uint8_t bytes[COMMIT_RECORD_BYTES];
    struct commit_record read = {0};

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
    assert_true(commit_record_is_key(commit_record_key()));
    assert_false(commit_record_is_key((struct storage_span){"\1", 1}));
    assert_false(commit_record_is_key((struct storage_span){"\0a", 2}));
    assert_false(commit_record_is_key((struct storage_span){NULL, 0}));
}

static void
record_with_any_bit_changed_is_not_opened(void **state)
{
    uint8_t key[] = "key";
    uint8_t stored[RECORD_CHECKSUM_BYTES + 5] = {0};
    const struct storage_span name = {key, 3};
    const struct storage_span record = {stored, sizeof(stored)};
    struct storage_span value;
    uint64_t sum;

    memcpy(stored + RECORD_CHECKSUM_BYTES, "value", 5);
    sum = record_checksum(
        name, (struct storage_span){stored + RECORD_CHECKSUM_BYTES, 5});
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
        cmocka_unit_test(changes_come_back_in_order),
        cmocka_unit_test(list_moved_comes_behind_the_other),
        cmocka_unit_test(large_values_fit_and_their_memory_goes),
        cmocka_unit_test(seal_is_what_was_encoded),
        cmocka_unit_test(seal_key_is_before_all_others),
        cmocka_unit_test(record_with_any_bit_changed_is_not_opened),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
