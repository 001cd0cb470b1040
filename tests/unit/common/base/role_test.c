/* tests/unit/common/base/role_test.c - base/role.c */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/role.h"
#include "check.h"

static void
role_tokens_are_those_of_the_document(void **state)
{
    char token[LIMIT_TOKEN];

    assert_ok(role_derive_token(ROLE_WORKER, "secret", token));
    assert_string_equal(token, "secret");
    assert_ok(role_derive_token(ROLE_OPERATOR, "secret", token));
    assert_string_equal(
        token,
        "hoop-operator-"
        "991d250f3045b0cc8b6d4130405dcd0f62ec259636eedd0d3c1a8b801a769825");
    assert_ok(role_derive_token(ROLE_METRICS, "secret", token));
    assert_string_equal(
        token,
        "hoop-metrics-"
        "3fa857d4d6cb3788d7cd04d713071f844d754862d6d0068f2f71386f13509bf7");
}

static void
role_tokens_of_another_secret_are_others(void **state)
{
    static const char *const secrets[] = {"", "s", "secret", "secret "};
    char tokens[2 * COUNT_OF(secrets)][LIMIT_TOKEN];

    for (size_t i = 0; i < COUNT_OF(tokens); i++)
        assert_ok(role_derive_token(i % 2 ? ROLE_OPERATOR : ROLE_METRICS,
                                    secrets[i / 2], tokens[i]));
    for (size_t i = 0; i < COUNT_OF(tokens); i++) {
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(tokens[i], tokens[j]);
    }
}

static void
role_token_is_no_secret_of_others(void **state)
{
    char token[LIMIT_TOKEN];
    char again[LIMIT_TOKEN];

    assert_int_equal(role_of_token("secret"), ROLE_WORKER);
    assert_int_equal(role_of_token("hoop-operators"), ROLE_WORKER);
    for (enum role role = ROLE_OPERATOR; role <= ROLE_METRICS; role++) {
        assert_ok(role_derive_token(role, "secret", token));
        assert_int_equal(role_of_token(token), role);
        assert_int_equal(role_derive_token(ROLE_METRICS, token, again),
                         HOOP_E_DENIED);
        assert_null(strstr(error_text(), token));
    }
}

static void
role_of_too_long_a_secret_is_none(void **state)
{
    char secret[LIMIT_TOKEN + 1];
    char token[LIMIT_TOKEN];

    memset(secret, 'x', LIMIT_TOKEN);
    secret[LIMIT_TOKEN] = '\0';
    assert_int_equal(role_derive_token(ROLE_OPERATOR, secret, token),
                     HOOP_E_INVALID);
    secret[LIMIT_TOKEN - 1] = '\0';
    assert_ok(role_derive_token(ROLE_OPERATOR, secret, token));
    assert_ok(role_derive_token(ROLE_WORKER, secret, token));
    assert_string_equal(token, secret);
}

static void
role_names_are_read_again(void **state)
{
    enum role found = ROLE_ANYBODY;

    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        assert_ok(role_parse(role_name(role), &found));
        assert_int_equal(found, role);
    }
    assert_int_equal(role_parse("anybody", &found), HOOP_E_INVALID);
    assert_int_equal(role_parse("", &found), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "operator"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(role_tokens_are_those_of_the_document),
        cmocka_unit_test(role_tokens_of_another_secret_are_others),
        cmocka_unit_test(role_token_is_no_secret_of_others),
        cmocka_unit_test(role_of_too_long_a_secret_is_none),
        cmocka_unit_test(role_names_are_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
