/* tests/unit/server/core/token_test.c - equal or not, of any length */

#include <string.h>

#include "check.h"
#include "core/token.h"
#include "fence.h"

static void
token_only_the_same_text_matches(void **state)
{
    static const char *const texts[] = {"", "a", "b", "ab", "aB", "abc"};
    struct token token;

    (void)state;
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++) {
            assert_int_equal(token_derive_roles(&token, texts[i]), HOOP_OK);
            assert_int_equal(token_find_role(&token, texts[j]),
                             i == j ? ROLE_WORKER : ROLE_ANYBODY);
        }
}

static void
token_null_is_empty(void **state)
{
    struct token token;

    (void)state;
    assert_int_equal(token_derive_roles(&token, NULL), HOOP_OK);
    assert_int_equal(token_find_role(&token, ""), ROLE_WORKER);
    assert_int_equal(token_find_role(&token, NULL), ROLE_WORKER);
    assert_int_equal(token_find_role(&token, "x"), ROLE_ANYBODY);
}

static void
token_too_long_is_refused_and_never_matches(void **state)
{
    struct token token;
    char text[LIMIT_TOKEN + 1] = {0};

    (void)state;
    memset(text, 'x', LIMIT_TOKEN - 1);
    assert_int_equal(token_derive_roles(&token, text), HOOP_OK);
    assert_int_equal(token_find_role(&token, text), ROLE_WORKER);
    text[LIMIT_TOKEN - 1] = 'x';
    assert_int_equal(token_find_role(&token, text), ROLE_ANYBODY);
    assert_int_equal(token_derive_roles(&token, text), HOOP_E_INVALID);
}

static bool
tokens_compare(const void *left, const void *right)
{
    return token_find_role(left, right) == ROLE_WORKER;
}

/* All of a token is read, however soon it differs. */
static void
token_matches_reads_on_where_they_differ(void **state)
{
    struct token whole;
    /* But for its last byte. */
    struct token *part = fence_before(sizeof(*part) - 1);

    (void)state;
    assert_int_equal(token_derive_roles(&whole, "right"), HOOP_OK);
    memcpy(part, &whole, sizeof(*part) - 1);
    assert_true(fence_stops(tokens_compare, part, "wrong"));
    assert_false(fence_stops(tokens_compare, &whole, "wrong"));
}

static void
token_of_a_lesser_role_is_known_and_no_secret(void **state)
{
    struct token token;
    struct token other;
    char text[LIMIT_TOKEN];

    (void)state;
    assert_int_equal(token_derive_roles(&token, "secret"), HOOP_OK);
    for (enum role role = ROLE_OPERATOR; role < ROLE_ANYBODY; role++) {
        assert_int_equal(role_derive_token(role, "secret", text), HOOP_OK);
        assert_int_equal(token_find_role(&token, text), role);
        assert_int_equal(token_derive_roles(&other, text), HOOP_E_DENIED);
        assert_int_equal(role_derive_token(role, "Secret", text), HOOP_OK);
        assert_int_equal(token_find_role(&token, text), ROLE_ANYBODY);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_only_the_same_text_matches),
        cmocka_unit_test(token_null_is_empty),
        cmocka_unit_test(token_too_long_is_refused_and_never_matches),
        cmocka_unit_test(token_matches_reads_on_where_they_differ),
        cmocka_unit_test(token_of_a_lesser_role_is_known_and_no_secret),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
