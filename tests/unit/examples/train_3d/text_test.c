/* tests/unit/examples/train_3d/text_test.c - train_3d/text.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "temporary.h"
#include "train_3d/text.h"

static enum hoop_status
bytes_load(const char *bytes, size_t n_bytes, struct text *out_text)
{
    char path[TEMPORARY_PATH] = "hoop_text_XXXXXX";
    const int fd = temporary_file(path, sizeof(path));

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n_bytes), n_bytes);
    close(fd);
    const enum hoop_status status = text_load(path, out_text);
    unlink(path);
    return status;
}

static void
text_shipped_file_is_whole(void **state)
{
    struct text text = {0};

    (void)state;
    assert_int_equal(text_load(DEVILS_DICTIONARY, &text), HOOP_OK);
    assert_in_range(text.n_bytes, 300000, 500000);
    assert_memory_equal(text.bytes, "PREFACE\n", 8);
    text_deinit(&text);
}

static void
text_that_cannot_be_learnt_is_refused(void **state)
{
    struct text text = {0};

    (void)state;
    assert_int_equal(bytes_load("", 0, &text), HOOP_E_INVALID);
    assert_int_equal(bytes_load("caf\xc3\xa9", 5, &text), HOOP_E_INVALID);
    assert_int_equal(text_load("/nowhere/text", &text), HOOP_E_NOT_FOUND);
    assert_null(text.bytes);
}

/* Every window is a piece of the text, each token's next byte is there. */
static void
text_windows_are_pieces_of_it(void **state)
{
    const struct windows windows = {.seed = 4, .first = 9, .n_positions = 4};
    struct text text = {0};
    struct token tokens[12];

    (void)state;
    assert_int_equal(bytes_load("abcdefg", 7, &text), HOOP_OK);
    text_cut(&text, &windows, span_all(12), tokens);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(tokens[i].position, i % 4);
        assert_int_equal(tokens[i].next, tokens[i].seen + 1);
        assert_in_range(tokens[i].next, 'b', 'g');
        if (i % 4 > 0)
            assert_int_equal(tokens[i].seen, tokens[i - 1].next);
    }
    text_deinit(&text);
}

/* Who has half of the rows sees the same as who has all; so does who begins
 * with a later window. */
static void
text_rows_do_not_depend_on_who_asks(void **state)
{
    const struct windows windows = {.seed = 4, .first = 0, .n_positions = 4};
    const struct windows later = {.seed = 4, .first = 2, .n_positions = 4};
    struct text text = {0};
    struct token all[12];
    struct token some[6];

    (void)state;
    assert_int_equal(bytes_load("abcdefghijklmn", 14, &text), HOOP_OK);
    text_cut(&text, &windows, span_all(12), all);
    text_cut(&text, &windows, span_part(12, 1, 2), some);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(some[i].seen, all[6 + i].seen);
    text_cut(&text, &later, span_all(4), some);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(some[i].seen, all[8 + i].seen);
    text_deinit(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_shipped_file_is_whole),
        cmocka_unit_test(text_that_cannot_be_learnt_is_refused),
        cmocka_unit_test(text_windows_are_pieces_of_it),
        cmocka_unit_test(text_rows_do_not_depend_on_who_asks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
