/* tests/unit/common/rpc/messages/message_test.c - rpc/messages/message.c */

#include <stdlib.h>

#include "base/cleanup.h"
#include "check.h"
#include "rpc/messages/message.h"
#include "wire/pack.h"

struct number {
    uint32_t value;
};
MESSAGE(number, FIELD(value))

struct numbers {
    size_t n_items;
    uint64_t *items;
};
MESSAGE(numbers, FIELD_VALUES(items, n_items, 3))

struct words {
    char *room;
    size_t n_words;
    const char **words;
};
MESSAGE(words, ROOM(room), FIELD_VALUES(words, n_words, 3))

/* A field that has a value of its own when it is missing, and two that are
 * missing together. */
struct grown {
    uint64_t since;
    uint32_t first;
    uint32_t second;
    uint32_t last;
};
MESSAGE(grown,
        OPTIONAL(1),
        FIELD_OR(since, 77),
        OPTIONAL(2),
        FIELD(first),
        FIELD(second),
        OPTIONAL(1),
        FIELD(last))

/* Lists in the elements of a list, as many of one as of the other or none. */
struct table {
    size_t n_rows;
    struct numbers *rows;
    struct number *heads;
};
MESSAGE(table,
        FIELD_STRUCTS(rows, n_rows, numbers, 2),
        FIELD_STRUCTS_PARALLEL(heads, n_rows, number, 2))

#define SPAN(bytes)                                                            \
    ((struct message_span){(const uint8_t *)(bytes), sizeof(bytes) - 1})

static void
unknown_fields_are_passed_over(void **state)
{
    struct number number;

    assert_ok(number_decode(SPAN("\x93\1\2\3"), &number));
    assert_int_equal(number.value, 1);
}

static void
missing_field_is_refused(void **state)
{
    struct number number = {7};

    assert_int_equal(number_decode(SPAN("\x90"), &number), HOOP_E_DATA_LOSS);
    assert_int_equal(number.value, 7);
}

static void
empty_body_is_refused(void **state)
{
    struct number number;

    assert_int_equal(number_decode((struct message_span){0}, &number),
                     HOOP_E_DATA_LOSS);
}

static void
number_above_32_bits_is_refused(void **state)
{
    struct number number;

    assert_int_equal(number_decode(SPAN("\x91\xcf\0\0\0\1\0\0\0\0"), &number),
                     HOOP_E_DATA_LOSS);
}

static void
list_above_its_bound_is_refused(void **state)
{
    struct numbers numbers = {.n_items = 77};

    assert_int_equal(numbers_decode(SPAN("\x91\x94\1\2\3\4"), &numbers),
                     HOOP_E_DATA_LOSS);
    assert_int_equal(numbers.n_items, 77);
}

static void
list_within_its_bound_is_read(void **state)
{
    CLEANUP(numbers_deinit) struct numbers numbers = {0};

    assert_ok(numbers_decode(SPAN("\x91\x93\1\2\3"), &numbers));
    assert_int_equal(numbers.n_items, 3);
    assert_int_equal(numbers.items[2], 3);
}

static void
texts_fill_their_room_exactly(void **state)
{
    CLEANUP(words_deinit) struct words words = {0};

    assert_ok(words_decode(SPAN("\x91\x93\xa2"
                                "ab\xa0\xa1"
                                "c"),
                           &words));
    assert_int_equal(words.n_words, 3);
    assert_string_equal(words.words[0], "ab");
    assert_string_equal(words.words[1], "");
    assert_string_equal(words.words[2], "c");
}

static void
missing_fields_have_their_value(void **state)
{
    struct grown grown;

    assert_ok(grown_decode(SPAN("\x90"), &grown));
    assert_int_equal(grown.since, 77);
    assert_ok(grown_decode(SPAN("\x91\5"), &grown));
    assert_int_equal(grown.since, 5);
    assert_int_equal(grown.first, 0);
}

static void
fields_that_are_missing_together_are_not_read_alone(void **state)
{
    struct grown grown;

    assert_ok(grown_decode(SPAN("\x92\5\6"), &grown));
    assert_int_equal(grown.first, 0);
    assert_int_equal(grown.last, 0);
    assert_ok(grown_decode(SPAN("\x93\5\6\7"), &grown));
    assert_int_equal(grown.first, 6);
    assert_int_equal(grown.second, 7);
    assert_int_equal(grown.last, 0);
}

static void
lists_in_lists_are_read_and_freed(void **state)
{
    CLEANUP(table_deinit) struct table table = {0};

    assert_ok(table_decode(
        SPAN("\x92\x92\x91\x92\1\2\x91\x91\3\x92\x91\4\x91\5"), &table));
    assert_int_equal(table.n_rows, 2);
    assert_int_equal(table.rows[0].items[1], 2);
    assert_int_equal(table.rows[1].items[0], 3);
    assert_int_equal(table.heads[1].value, 5);
}

static void
parallel_list_is_as_long_as_the_other_or_empty(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(table_deinit) struct table table = {0};
    CLEANUP(free) uint8_t *bytes = NULL;
    struct table refused;
    size_t n_bytes = 0;

    assert_int_equal(
        table_decode(SPAN("\x92\x91\x91\x91\1\x92\x91\4\x91\5"), &refused),
        HOOP_E_DATA_LOSS);
    assert_ok(table_decode(SPAN("\x92\x91\x91\x91\1\x90"), &table));
    assert_null(table.heads);
    pack_init(&pack, 64);
    table_encode(&table, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_int_equal(n_bytes, 6);
    assert_memory_equal(bytes, "\x92\x91\x91\x91\1\x90", 6);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_fields_are_passed_over),
        cmocka_unit_test(missing_field_is_refused),
        cmocka_unit_test(empty_body_is_refused),
        cmocka_unit_test(number_above_32_bits_is_refused),
        cmocka_unit_test(list_above_its_bound_is_refused),
        cmocka_unit_test(list_within_its_bound_is_read),
        cmocka_unit_test(texts_fill_their_room_exactly),
        cmocka_unit_test(missing_fields_have_their_value),
        cmocka_unit_test(fields_that_are_missing_together_are_not_read_alone),
        cmocka_unit_test(lists_in_lists_are_read_and_freed),
        cmocka_unit_test(parallel_list_is_as_long_as_the_other_or_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
