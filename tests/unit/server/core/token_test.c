/* tests/unit/server/core/token_test.c - equal or not, of any length */

#include <string.h>

#include "check.h"
#include "core/token.h"

static void
token_only_the_same_text_matches(void **state)
{
    static const char *const texts[] = {"", "a", "b", "ab", "aB", "abc"};
    struct token token;

    (void)state;
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++) {
            assert_int_equal(token_init(&token, texts[i]), HOOP_OK);
            assert_int_equal(token_matches(&token, texts[j]), i == j);
        }
}

static void
token_null_is_empty(void **state)
{
    struct token token;

    (void)state;
    assert_int_equal(token_init(&token, NULL), HOOP_OK);
    assert_true(token_matches(&token, ""));
    assert_true(token_matches(&token, NULL));
    assert_false(token_matches(&token, "x"));
}

static void
token_too_long_is_refused_and_never_matches(void **state)
{
    struct token token;
    char text[LIMIT_TOKEN + 1] = {0};

    (void)state;
    memset(text, 'x', LIMIT_TOKEN - 1);
    assert_int_equal(token_init(&token, text), HOOP_OK);
    assert_true(token_matches(&token, text));
    text[LIMIT_TOKEN - 1] = 'x';
    assert_false(token_matches(&token, text));
    assert_int_equal(token_init(&token, text), HOOP_E_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_only_the_same_text_matches),
        cmocka_unit_test(token_null_is_empty),
        cmocka_unit_test(token_too_long_is_refused_and_never_matches),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
