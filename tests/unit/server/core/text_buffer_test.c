/* tests/unit/server/core/text_buffer_test.c - parts are joined, too many are cut */

#include <string.h>

#include "check.h"
#include "core/roster_text.h"

static void
text_buffer_parts_are_joined(void **state)
{
    struct text_buffer text_buffer = {0};

    (void)state;
    text_buffer_append(&text_buffer, "%d of %d", 3, 4);
    text_buffer_append(&text_buffer, "; %s", "rank 3");
    assert_string_equal(text_buffer.text, "3 of 4; rank 3");
}

static void
text_buffer_too_long_is_cut_and_says_so(void **state)
{
    struct text_buffer text_buffer = {0};

    (void)state;
    for (int i = 0; i < 500; i++)
        text_buffer_append(&text_buffer, "part %d, ", i);
    assert_int_equal(strlen(text_buffer.text), LIMIT_ERROR_TEXT - 1);
    assert_string_equal(text_buffer.text + LIMIT_ERROR_TEXT - 4, "...");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_buffer_parts_are_joined),
        cmocka_unit_test(text_buffer_too_long_is_cut_and_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
