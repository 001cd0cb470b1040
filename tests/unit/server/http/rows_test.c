/* tests/unit/server/http/rows_test.c - http/rows.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "http/rows.h"

enum {
    NO_BOUND = 1 << 20,
};

/* Writes what the reader has not seen; expected may be "": nothing. */
static void
assert_news_within(const struct rows *rows,
                   struct rows_seen *seen,
                   size_t n_bytes_max,
                   const char *expected)
{
    char *text = NULL;
    size_t n_text = 0;
    FILE *out = open_memstream(&text, &n_text);

    if (rows_have_news(rows, seen))
        rows_write(rows, seen, n_bytes_max, out);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void
assert_news(const struct rows *rows,
            struct rows_seen *seen,
            const char *expected)
{
    assert_news_within(rows, seen, NO_BOUND, expected);
}

static void
reader_is_sent_all_rows_and_then_those_that_change(void **state)
{
    struct rows rows = {0};
    struct rows_seen seen = {0};
    struct rows_seen late = {0};

    (void)state;
    assert_news(&rows, &seen, "");
    rows_update(&rows, "{\"t\":1,\"ranks\":[\n{\"a\":1},\n{\"b\":2}\n]}");
    assert_news(&rows, &seen,
                "{\"t\":1,\"ranks\":{\"0\":{\"a\":1},\"1\":{\"b\":2}},"
                "\"n_rows\":2}");
    assert_news(&rows, &seen, "");
    rows_update(&rows, "{\"t\":1,\"ranks\":[\n{\"a\":1},\n{\"b\":3}\n]}");
    assert_news(&rows, &seen,
                "{\"t\":1,\"ranks\":{\"1\":{\"b\":3}},\"n_rows\":2}");
    rows_update(&rows, "{\"t\":2,\"ranks\":[\n{\"a\":1},\n{\"b\":3}\n]}");
    assert_news(&rows, &seen, "{\"t\":2,\"ranks\":{},\"n_rows\":2}");
    assert_news(&rows, &late,
                "{\"t\":2,\"ranks\":{\"0\":{\"a\":1},\"1\":{\"b\":3}},"
                "\"n_rows\":2}");
    rows_deinit(&rows);
}

static void
rows_come_and_go(void **state)
{
    struct rows rows = {0};
    struct rows_seen seen = {0};

    (void)state;
    rows_update(&rows, "{\"ranks\":[\n]}");
    assert_news(&rows, &seen, "{\"ranks\":{},\"n_rows\":0}");
    rows_update(&rows, "{\"ranks\":[\n{\"a\":1},\n{\"b\":2}\n]}");
    assert_news(&rows, &seen,
                "{\"ranks\":{\"0\":{\"a\":1},\"1\":{\"b\":2}},\"n_rows\":2}");
    /* What was the last row is followed by a comma no more. */
    rows_update(&rows, "{\"ranks\":[\n{\"a\":1}\n]}");
    assert_news(&rows, &seen, "{\"ranks\":{},\"n_rows\":1}");
    rows_update(&rows, "{\"ranks\":[\n{\"a\":1},\n{\"b\":2}\n]}");
    assert_news(&rows, &seen, "{\"ranks\":{\"1\":{\"b\":2}},\"n_rows\":2}");
    rows_deinit(&rows);
}

/* Each answer tells when a call began as its own time less the call's age. */
static void
time_that_differs_a_bit_is_the_same(void **state)
{
    static const struct {
        const char *row;
        bool is_same;
    } cases[] = {
        {"{\"n\":1,\"since_ms\":1999,\"w\":\"x\"}", true},
        {"{\"n\":1,\"since_ms\":2499,\"w\":\"x\"}", true},
        {"{\"n\":1,\"since_ms\":1500,\"w\":\"x\"}", false},
        {"{\"n\":1,\"since_ms\":2500,\"w\":\"x\"}", false},
        {"{\"n\":1,\"since_ms\":2000,\"w\":\"y\"}", false},
        {"{\"n\":2,\"since_ms\":2000,\"w\":\"x\"}", false},
        {"{\"n\":1,\"since_ms\":2000,\"w\":\"xy\"}", false},
        {"{\"n\":1}", false},
    };
    char text[128];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct rows rows = {0};
        struct rows_seen seen = {0};

        rows_update(&rows,
                    "{\"r\":[\n{\"n\":1,\"since_ms\":2000,\"w\":\"x\"}\n]}");
        assert_news(&rows, &seen,
                    "{\"r\":{\"0\":{\"n\":1,\"since_ms\":2000,\"w\":\"x\"}},"
                    "\"n_rows\":1}");
        snprintf(text, sizeof(text), "{\"r\":[\n%s\n]}", cases[i].row);
        rows_update(&rows, text);
        assert_int_equal(rows_have_news(&rows, &seen), !cases[i].is_same);
        rows_deinit(&rows);
    }
}

/* Otherwise one that creeps would never be told. */
static void
time_is_compared_with_what_was_told(void **state)
{
    struct rows rows = {0};
    struct rows_seen seen = {0};

    (void)state;
    rows_update(&rows, "{\"r\":[\n{\"since_ms\":1000}\n]}");
    assert_news(&rows, &seen,
                "{\"r\":{\"0\":{\"since_ms\":1000}},\"n_rows\":1}");
    rows_update(&rows, "{\"r\":[\n{\"since_ms\":1400}\n]}");
    assert_news(&rows, &seen, "");
    rows_update(&rows, "{\"r\":[\n{\"since_ms\":1800}\n]}");
    assert_news(&rows, &seen,
                "{\"r\":{\"0\":{\"since_ms\":1800}},\"n_rows\":1}");
    rows_deinit(&rows);
}

static void
many_rows_are_sent_in_portions(void **state)
{
    struct rows rows = {0};
    struct rows_seen seen = {0};

    (void)state;
    rows_update(&rows, "{\"r\":[\n{\"a\":1},\n{\"b\":1},\n{\"c\":1}\n]}");
    assert_news_within(&rows, &seen, 8,
                       "{\"r\":{\"0\":{\"a\":1},\"1\":{\"b\":1}},"
                       "\"n_rows\":3}");
    /* Meanwhile a row changes that was sent, and one that was not. */
    rows_update(&rows, "{\"r\":[\n{\"a\":2},\n{\"b\":1},\n{\"c\":2}\n]}");
    assert_news_within(&rows, &seen, 8,
                       "{\"r\":{\"2\":{\"c\":2}},\"n_rows\":3}");
    assert_true(rows_have_news(&rows, &seen));
    assert_news_within(&rows, &seen, 16,
                       "{\"r\":{\"0\":{\"a\":2},\"2\":{\"c\":2}},"
                       "\"n_rows\":3}");
    assert_news(&rows, &seen, "");
    /* Those that were to follow have gone. */
    rows_update(&rows, "{\"r\":[\n{\"a\":3},\n{\"b\":3},\n{\"c\":3}\n]}");
    assert_news_within(&rows, &seen, 8,
                       "{\"r\":{\"0\":{\"a\":3},\"1\":{\"b\":3}},"
                       "\"n_rows\":3}");
    rows_update(&rows, "{\"r\":[\n{\"a\":3}\n]}");
    assert_news_within(&rows, &seen, 8, "{\"r\":{},\"n_rows\":1}");
    assert_news(&rows, &seen, "{\"r\":{},\"n_rows\":1}");
    assert_news(&rows, &seen, "");
    rows_deinit(&rows);
}

static void
what_follows_the_rows_is_sent_when_it_has_changed(void **state)
{
    struct rows rows = {0};
    struct rows_seen seen = {0};
    struct rows_seen late = {0};

    (void)state;
    rows_update(&rows, "{\"t\":1,\"r\":[\n{\"a\":1},\n{\"b\":1}\n],\"o\":[1]}");
    /* It belongs to all rows, and so comes with the last one. */
    assert_news_within(&rows, &seen, 1,
                       "{\"t\":1,\"r\":{\"0\":{\"a\":1}},\"n_rows\":2}");
    assert_news(&rows, &seen,
                "{\"t\":1,\"r\":{\"1\":{\"b\":1}},\"n_rows\":2,\"o\":[1]}");
    rows_update(&rows, "{\"t\":2,\"r\":[\n{\"a\":1},\n{\"b\":1}\n],\"o\":[1]}");
    assert_news(&rows, &seen, "{\"t\":2,\"r\":{},\"n_rows\":2}");
    rows_update(&rows, "{\"t\":2,\"r\":[\n{\"a\":1},\n{\"b\":1}\n],\"o\":[2]}");
    assert_news(&rows, &seen, "{\"t\":2,\"r\":{},\"n_rows\":2,\"o\":[2]}");
    assert_news(&rows, &late,
                "{\"t\":2,\"r\":{\"0\":{\"a\":1},\"1\":{\"b\":1}},"
                "\"n_rows\":2,\"o\":[2]}");
    rows_update(&rows, "{\"t\":2,\"r\":[\n{\"a\":1},\n{\"b\":1}\n]}");
    assert_news(&rows, &seen, "{\"t\":2,\"r\":{},\"n_rows\":2}");
    rows_deinit(&rows);
}

static void
other_answer_is_a_head(void **state)
{
    struct rows rows = {0};
    struct rows_seen seen = {0};

    (void)state;
    rows_update(&rows, "{\"asked\":\"a\"}");
    assert_news(&rows, &seen, "{\"asked\":\"a\"}");
    rows_update(&rows, "{\"asked\":\"a\"}");
    assert_news(&rows, &seen, "");
    rows_deinit(&rows);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader_is_sent_all_rows_and_then_those_that_change),
        cmocka_unit_test(rows_come_and_go),
        cmocka_unit_test(time_that_differs_a_bit_is_the_same),
        cmocka_unit_test(time_is_compared_with_what_was_told),
        cmocka_unit_test(many_rows_are_sent_in_portions),
        cmocka_unit_test(what_follows_the_rows_is_sent_when_it_has_changed),
        cmocka_unit_test(other_answer_is_a_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
