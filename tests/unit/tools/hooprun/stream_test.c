/* tests/unit/tools/hooprun/stream_test.c - hooprun/stream.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "hooprun/stream.h"

/* What was emitted, as "W(text)P(text)...". */
struct record {
    struct stream stream;
    char text[4096];
};

static void
line_record(void *owner, enum line_kind kind, const char *bytes, size_t n_bytes)
{
    struct record *record = owner;
    const size_t n = strlen(record->text);

    snprintf(record->text + n, sizeof(record->text) - n, "%c(%.*s)",
             kind == LINE_WHOLE ? 'W' : 'P', n_bytes < 100 ? (int)n_bytes : 100,
             bytes);
}

static int
record_create(void **state)
{
    *state = calloc(1, sizeof(struct record));
    return *state ? 0 : -1;
}

static int
record_destroy(void **state)
{
    free(*state);
    return 0;
}

static void
feed(struct record *record, const char *text)
{
    stream_feed(&record->stream, text, strlen(text), line_record, record);
}

static void
end(struct record *record)
{
    stream_end(&record->stream, line_record, record);
}

static void
stream_lines_in_one_piece_are_cut(void **state)
{
    struct record *record = *state;

    feed(record, "one\n\ntwo\n");
    end(record);
    assert_string_equal(record->text, "W(one)W()W(two)");
}

static void
stream_line_in_pieces_is_joined(void **state)
{
    struct record *record = *state;

    feed(record, "o");
    feed(record, "n");
    assert_string_equal(record->text, "");
    feed(record, "e\nt");
    assert_string_equal(record->text, "W(one)");
    end(record);
    assert_string_equal(record->text, "W(one)W(t)");
}

static void
stream_return_before_newline_is_one_ending(void **state)
{
    struct record *record = *state;

    feed(record, "one\r\ntwo\r\n");
    end(record);
    assert_string_equal(record->text, "W(one)W(two)");
}

static void
stream_return_split_from_newline_is_one_ending(void **state)
{
    struct record *record = *state;

    feed(record, "one\r");
    feed(record, "\n");
    end(record);
    assert_string_equal(record->text, "P(one)W(one)");
}

static void
stream_leading_return_is_shown_at_once(void **state)
{
    struct record *record = *state;

    feed(record, "\rstep 1");
    assert_string_equal(record->text, "P(step 1)");
    feed(record, "\rstep 2");
    assert_string_equal(record->text, "P(step 1)P(step 1)P(step 2)");
    feed(record, "\rready\n");
    end(record);
    assert_string_equal(record->text,
                        "P(step 1)P(step 1)P(step 2)P(step 2)W(ready)");
}

static void
stream_erased_line_is_empty_progress(void **state)
{
    struct record *record = *state;

    feed(record, "\rstep 1");
    feed(record, "\r\033[K");
    end(record);
    assert_string_equal(record->text, "P(step 1)P(step 1)P()P()");
}

static void
stream_erase_before_text_is_dropped(void **state)
{
    struct record *record = *state;

    feed(record, "\r\033[K\033[Kresult\n");
    assert_string_equal(record->text, "W(result)");
}

static void
stream_long_line_is_cut_in_pieces(void **state)
{
    struct record *record = *state;

    for (size_t i = 0; i < STREAM_LINE_MAX / 16; i++)
        feed(record, "0123456789abcdef");
    assert_string_equal(record->text, "");
    feed(record, "rest\n");
    assert_int_equal(record->text[0], 'W');
    assert_non_null(strstr(record->text, ")W(rest)"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(stream_lines_in_one_piece_are_cut,
                                        record_create, record_destroy),
        cmocka_unit_test_setup_teardown(stream_line_in_pieces_is_joined,
                                        record_create, record_destroy),
        cmocka_unit_test_setup_teardown(
            stream_return_before_newline_is_one_ending, record_create,
            record_destroy),
        cmocka_unit_test_setup_teardown(
            stream_return_split_from_newline_is_one_ending, record_create,
            record_destroy),
        cmocka_unit_test_setup_teardown(stream_leading_return_is_shown_at_once,
                                        record_create, record_destroy),
        cmocka_unit_test_setup_teardown(stream_erased_line_is_empty_progress,
                                        record_create, record_destroy),
        cmocka_unit_test_setup_teardown(stream_erase_before_text_is_dropped,
                                        record_create, record_destroy),
        cmocka_unit_test_setup_teardown(stream_long_line_is_cut_in_pieces,
                                        record_create, record_destroy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
