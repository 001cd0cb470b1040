/* tests/unit/common/base/escape_test.c - base/escape.c */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/escape.h"
#include "check.h"

static void
assert_shown(const char *text, const char *expected)
{
    char shown[256];

    escape_text(text, shown, sizeof(shown));
    assert_string_equal(shown, expected);
}

static void
escape_leaves_ordinary_text_of_any_language(void **state)
{
    static const char *const texts[] = {
        "",
        "job-1/key \"quoted\" \\ ~",
        "na\xc3\xafve",
        "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e",
        "\xd7\xa2\xd7\x91",
        "\xf0\x9f\x98\x80 \xc2\xa0.",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_shown(texts[i], texts[i]);
}

static void
escape_spells_out_what_moves_the_cursor_or_turns_letters(void **state)
{
    assert_shown("a\nb\x1b[2J\x7f", "a\\u000ab\\u001b[2J\\u007f");
    /* C1: CSI as one character. */
    assert_shown("\xc2\x9b"
                 "2J\xc2\x85",
                 "\\u009b2J\\u0085");
    assert_shown("a\xe2\x80\xae"
                 "b\xe2\x81\xa6"
                 "c\xe2\x80\x8f",
                 "a\\u202eb\\u2066c\\u200f");
    assert_shown("\xe2\x80\xa8\xe2\x80\xa9", "\\u2028\\u2029");
    assert_shown("jo\xe2\x80\x8b"
                 "b\xef\xbb\xbf",
                 "jo\\u200bb\\ufeff");
    assert_shown("\xf3\xa0\x80\x81", "\\U000e0001");
    assert_shown("\xf4\x8f\xbf\xbf", "\\U0010ffff");
}

static void
escape_spells_out_each_byte_that_is_no_utf_8(void **state)
{
    assert_shown("\xff|\xc3|\xc0\x80|\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82",
                 "\\xff|\\xc3|\\xc0\\x80|\\xed\\xa0\\x80|"
                 "\\xf4\\x90\\x80\\x80|\\xe2\\x82");
}

/* Whatever room there is, no character and no escape is torn. */
static void
escape_cuts_between_characters(void **state)
{
    static const char text[] = "a\n\xc3\xa9";
    static const char whole[] = "a\\u000a\xc3\xa9";
    static const size_t ends[] = {0, 1, 7, 9};
    char shown[sizeof(whole) + 8];

    for (size_t n = 1; n < sizeof(shown); n++) {
        size_t n_expected = 0;

        for (size_t i = 0; i < COUNT_OF(ends); i++)
            n_expected = ends[i] < n ? ends[i] : n_expected;
        memset(shown, 'x', sizeof(shown));
        escape_text(text, shown, n);
        assert_int_equal(strlen(shown), n_expected);
        assert_memory_equal(shown, whole, n_expected);
        assert_int_equal(shown[n], n + 1 < sizeof(shown) ? 'x' : shown[n]);
    }
}

static void
error_text_has_no_character_that_is_unsafe(void **state)
{
    error_raise(HOOP_E_INVALID, "no job '%s'", "a\n\xe2\x80\xae\xc2\x9b\xff");
    assert_string_equal(error_text(), "no job 'a\\u000a\\u202e\\u009b\\xff'");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(escape_leaves_ordinary_text_of_any_language),
        cmocka_unit_test(
            escape_spells_out_what_moves_the_cursor_or_turns_letters),
        cmocka_unit_test(escape_spells_out_each_byte_that_is_no_utf_8),
        cmocka_unit_test(escape_cuts_between_characters),
        cmocka_unit_test(error_text_has_no_character_that_is_unsafe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
