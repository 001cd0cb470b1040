/* tests/unit/common/base/spelling_test.c - base/spelling.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/settings.h"
#include "base/spelling.h"
#include "check.h"

static void
text_take(void *owner, const char *text)
{
    snprintf(owner, 256, "%s", text);
}

/* What is said of one variable; NULL: nothing. */
static void
assert_told(const char *variable, const char *expected)
{
    const char *const variables[] = {"PATH=/bin", variable, NULL};
    char text[256] = "";

    assert_int_equal(spelling_check(variables, text_take, text),
                     expected != NULL);
    assert_string_equal(text, expected ? expected : "");
}

static void
misspelt_settings_are_told_with_the_nearest(void **state)
{
    static const char *const pairs[][2] = {
        {"HOOP_TIMEOT", "HOOP_TIMEOUT"},
        {"HOOP_TIMOEUT", "HOOP_TIMEOUT"},
        {"HOOP_COORDINATER", "HOOP_COORDINATOR"},
        {"HOOP_FAILURE_TIME_OUT", "HOOP_FAILURE_TIMEOUT"},
        {"HOOP_TOKENFILE", "HOOP_TOKEN_FILE"},
        {"HOOP_WORLDSIZE", "HOOP_WORLD_SIZE"},
        {"HOOP_CHECKSUMS", "HOOP_CHECKSUM"},
        {"HOOP_ALGORITHMS", "HOOP_ALGORITHM"},
    };
    char variable[64];
    char expected[128];

    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        snprintf(variable, sizeof(variable), "%s=1", pairs[i][0]);
        snprintf(expected, sizeof(expected),
                 "%s is not a setting of hoop; do you mean %s?", pairs[i][0],
                 pairs[i][1]);
        assert_told(variable, expected);
    }
    assert_told("HOOP_QUANTUM_FLUX=1",
                "HOOP_QUANTUM_FLUX is not a setting of hoop");
    assert_told("HOOP_SPIN=never", "HOOP_SPIN is named HOOP_DEBUG_SPIN now");
    assert_told("HOOP_LINK=", "HOOP_LINK is named HOOP_DEBUG_LINK now");
    assert_told("HOOP_FAULT=x", "HOOP_FAULT is named HOOP_DEBUG_FAULT now");
    assert_told("HOOP_=1", "HOOP_ is not a setting of hoop");
}

static void
settings_and_what_others_set_are_let_be(void **state)
{
    static const char *const known[] = {
        "HOOP_LOCAL_RANK=0",
        "HOOP_PROGRESS=1",
        "HOOP_RSH=ssh",
        "HOOP_TEST_SEED=3",
        "HOOP_REQUIRE_NETNS=1",
        "HOOP_SERVICE_HOST=10.0.0.1",
        "HOOP_COORDINATOR_SERVICE_PORT_RPC=4667",
        "HOOP_COORDINATOR_PORT=tcp://10.0.0.1:4667",
        "HOOP_COORDINATOR_PORT_4667_TCP=tcp://10.0.0.1:4667",
        "HOOPLA=1",
        "HOOP=1",
        "MY_HOOP_TIMEOT=1",
        "HOOP_NO_VALUE",
        "HOOP_A_NAME_THAT_IS_LONGER_THAN_ANY_SETTING_OF_HOOP_WILL_EVER_BE=1",
    };
    char variable[64];

    for (int id = 0; id < SETTING_COUNT; id++) {
        snprintf(variable, sizeof(variable), "%s=1",
                 setting_row((enum setting_id)id)->environment);
        assert_told(variable, NULL);
    }
    for (size_t i = 0; i < COUNT_OF(known); i++)
        assert_told(known[i], NULL);
    assert_int_equal(spelling_check(NULL, text_take, NULL), 0);
}

static void
warning_comes_once(void **state)
{
    char text[512];
    int pipes[2];

    assert_int_equal(setenv("HOOP_TIMEOT", "5", 1), 0);
    assert_int_equal(unsetenv("HOOP_LOG"), 0);
    assert_int_equal(pipe(pipes), 0);
    const int former = dup(STDERR_FILENO);
    dup2(pipes[1], STDERR_FILENO);
    close(pipes[1]);
    spelling_warn();
    spelling_warn();
    dup2(former, STDERR_FILENO);
    close(former);
    const ssize_t n = read(pipes[0], text, sizeof(text) - 1);
    assert_true(n > 0);
    text[n] = '\0';
    const char *first = strstr(text, "do you mean HOOP_TIMEOUT?");
    assert_non_null(first);
    assert_null(strstr(first + 1, "is not a setting"));
    close(pipes[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misspelt_settings_are_told_with_the_nearest),
        cmocka_unit_test(settings_and_what_others_set_are_let_be),
        cmocka_unit_test(warning_comes_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
