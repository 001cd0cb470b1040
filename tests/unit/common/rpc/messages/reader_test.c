/* tests/unit/common/rpc/messages/reader_test.c - rpc/messages/reader.c */

#include <stdlib.h>

#include "base/cleanup.h"
#include "check.h"
#include "rpc/messages/reader.h"

/* [1, 2, 3] */
static const uint8_t three[] = {0x93, 1, 2, 3};

static struct message_span
span(const uint8_t *bytes, size_t n_bytes)
{
    return (struct message_span){bytes, n_bytes};
}

static void
unknown_fields_are_passed_over(void **state)
{
    struct unpack unpack;

    (void)state;
    const size_t n_unknown =
        message_open(&unpack, span(three, sizeof(three)), 1);
    assert_int_equal(n_unknown, 2);
    assert_int_equal(message_read_u32(&unpack), 1);
    assert_int_equal(message_close(&unpack, n_unknown), HOOP_OK);
}

static void
missing_field_is_refused(void **state)
{
    struct unpack unpack;

    (void)state;
    const size_t n_unknown =
        message_open(&unpack, span(three, sizeof(three)), 4);
    assert_int_equal(n_unknown, 0);
    assert_int_equal(message_close(&unpack, n_unknown), HOOP_E_DATA_LOSS);
}

static void
empty_body_is_refused(void **state)
{
    struct unpack unpack;

    (void)state;
    const size_t n_unknown = message_open(&unpack, span(NULL, 0), 1);
    assert_int_equal(message_close(&unpack, n_unknown), HOOP_E_DATA_LOSS);
}

static void
list_above_its_bound_is_refused(void **state)
{
    struct message_items items = {NULL, 77};
    struct unpack unpack;

    (void)state;
    unpack_init(&unpack, three, sizeof(three), sizeof(three));
    assert_int_equal(
        message_list_open(&unpack, &(struct message_list){2, 8}, &items),
        HOOP_E_DATA_LOSS);
    assert_int_equal(items.n_items, 77);
}

static void
list_within_its_bound_is_zeroed_memory(void **state)
{
    struct message_items items = {0};
    struct unpack unpack;

    (void)state;
    unpack_init(&unpack, three, sizeof(three), sizeof(three));
    assert_int_equal(
        message_list_open(&unpack, &(struct message_list){3, 8}, &items),
        HOOP_OK);
    assert_int_equal(items.n_items, 3);
    assert_int_equal(((const uint64_t *)items.first)[2], 0);
    free(items.first);
}

static void
number_above_32_bits_is_refused(void **state)
{
    static const uint8_t large[] = {0x91, 0xcf, 0, 0, 0, 1, 0, 0, 0, 0};
    struct unpack unpack;

    (void)state;
    const size_t n_unknown =
        message_open(&unpack, span(large, sizeof(large)), 1);
    assert_int_equal(message_read_u32(&unpack), 0);
    assert_int_equal(message_close(&unpack, n_unknown), HOOP_E_DATA_LOSS);
}

static void
texts_fill_their_room_exactly(void **state)
{
    /* ["ab", "", "c"] */
    static const uint8_t texts_in[] = {0x93, 0xa2, 'a', 'b', 0xa0, 0xa1, 'c'};
    CLEANUP(free) char *room = NULL;
    struct message_texts texts;
    struct unpack unpack;

    (void)state;
    unpack_init(&unpack, texts_in, sizeof(texts_in), sizeof(texts_in));
    assert_int_equal(unpack_array(&unpack, 3), 3);
    assert_int_equal(message_texts_create(span(texts_in, sizeof(texts_in)), 3,
                                          &texts, &room),
                     HOOP_OK);
    assert_string_equal(message_texts_read(&texts, &unpack), "ab");
    assert_string_equal(message_texts_read(&texts, &unpack), "");
    assert_string_equal(message_texts_read(&texts, &unpack), "c");
    assert_int_equal(message_close(&unpack, 0), HOOP_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_fields_are_passed_over),
        cmocka_unit_test(missing_field_is_refused),
        cmocka_unit_test(empty_body_is_refused),
        cmocka_unit_test(list_above_its_bound_is_refused),
        cmocka_unit_test(list_within_its_bound_is_zeroed_memory),
        cmocka_unit_test(number_above_32_bits_is_refused),
        cmocka_unit_test(texts_fill_their_room_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
