/* tests/unit/common/base/settings_test.c - base/settings.c */

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/settings.h"
#include "check.h"

/* No HOOP_* variable of whoever runs the tests, and not in CI. */
static int
environment_empty(void **state)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        unsetenv(setting_row((enum setting_id)i)->environment);
    unsetenv("CI");
    return 0;
}

static struct settings *
created(enum setting_user user)
{
    struct settings *settings = NULL;

    assert_ok(settings_create(user, &settings));
    assert_int_equal(settings_user(settings), user);
    return settings;
}

static enum hoop_status
set(struct settings *settings, enum setting_origin origin, const char *text)
{
    return settings_set(settings, SETTING_LEASE,
                        &(struct setting_input){
                            .origin = origin,
                            .where = "here",
                            .text = text,
                        });
}

static void
settings_begin_at_their_defaults(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = created(SETTING_USER_WORKER);

    assert_string_equal(settings_text(settings, SETTING_JOB), "default");
    assert_int_equal(settings_number(settings, SETTING_TIMEOUT), 600000);
    assert_int_equal(settings_number(settings, SETTING_JOIN_TIMEOUT), 60000);
    assert_null(settings_text(settings, SETTING_RANK));
    for (size_t i = 0; i < SETTING_COUNT; i++)
        assert_false(settings_is_set(settings, (enum setting_id)i));
}

static void
settings_stronger_origin_stays_in_any_order(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = created(SETTING_USER_HOOPD);

    assert_ok(set(settings, SETTING_FROM_ENVIRONMENT, "2"));
    assert_ok(set(settings, SETTING_FROM_FILE, "3"));
    assert_int_equal(settings_number(settings, SETTING_LEASE), 2000);
    assert_ok(set(settings, SETTING_FROM_CALLER, "4"));
    assert_ok(set(settings, SETTING_FROM_ENVIRONMENT, "5"));
    assert_int_equal(settings_number(settings, SETTING_LEASE), 4000);
    assert_string_equal(settings_text(settings, SETTING_LEASE), "4");
    assert_true(settings_is_set(settings, SETTING_LEASE));
}

static void
settings_last_of_one_origin_wins(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = created(SETTING_USER_HOOPD);

    assert_ok(set(settings, SETTING_FROM_CALLER, "2"));
    assert_ok(set(settings, SETTING_FROM_CALLER, "3"));
    assert_int_equal(settings_number(settings, SETTING_LEASE), 3000);
}

static void
settings_bad_value_is_refused_and_changes_nothing(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = created(SETTING_USER_HOOPD);

    assert_ok(set(settings, SETTING_FROM_CALLER, "2"));
    assert_int_equal(set(settings, SETTING_FROM_CALLER, "no"), HOOP_E_INVALID);
    /* Even where it would not have counted. */
    assert_int_equal(set(settings, SETTING_FROM_FILE, "no"), HOOP_E_INVALID);
    assert_int_equal(settings_number(settings, SETTING_LEASE), 2000);
}

static void
settings_set_number_is_the_callers(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = created(SETTING_USER_WORKER);

    assert_ok(settings_set_number(settings, SETTING_TIMEOUT, 1234));
    assert_int_equal(settings_number(settings, SETTING_TIMEOUT), 1234);
    assert_ok(settings_set_number(settings, SETTING_RANK, 3));
    assert_string_equal(settings_text(settings, SETTING_RANK), "3");
    assert_int_equal(settings_set_number(settings, SETTING_RANK, 1u << 30),
                     HOOP_E_INVALID);

    setenv("HOOP_RANK", "5", 1);
    assert_ok(settings_read_environment(settings));
    assert_int_equal(settings_number(settings, SETTING_RANK), 3);
}

static void
settings_environment_is_taken_empty_is_not(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = created(SETTING_USER_WORKER);

    setenv("HOOP_JOB", "night", 1);
    setenv("HOOP_CODEC", "", 1);
    setenv("HOOP_LEASE", "hoopd alone reads this", 1);
    assert_ok(settings_read_environment(settings));
    assert_string_equal(settings_text(settings, SETTING_JOB), "night");
    assert_true(settings_is_set(settings, SETTING_JOB));
    assert_false(settings_is_set(settings, SETTING_CODEC));
}

static void
settings_environment_bad_value_names_the_variable(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = created(SETTING_USER_WORKER);

    setenv("HOOP_TIMEOUT", "soon", 1);
    assert_int_equal(settings_read_environment(settings), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "HOOP_TIMEOUT: 'soon' is no value"));
}

static void
settings_in_ci_have_other_defaults(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = created(SETTING_USER_WORKER);

    setenv("CI", "true", 1);
    assert_ok(settings_read_environment(settings));
    assert_int_equal(settings_number(settings, SETTING_TIMEOUT), 60000);
    assert_false(settings_is_set(settings, SETTING_TIMEOUT));

    setenv("HOOP_TIMEOUT", "7", 1);
    assert_ok(settings_read_environment(settings));
    assert_int_equal(settings_number(settings, SETTING_TIMEOUT), 7000);
}

/* HOOP_LOG is read by both, with defaults of their own. */
static void
settings_users_share_a_variable(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *hoopd = created(SETTING_USER_HOOPD);
    CLEANUP(settings_destroy)
    struct settings *worker = created(SETTING_USER_WORKER);

    assert_string_equal(settings_text(hoopd, SETTING_LOG_LEVEL), "info");
    assert_string_equal(settings_text(worker, SETTING_LOG), "off");
    setenv("HOOP_LOG", "debug", 1);
    assert_ok(settings_read_environment(hoopd));
    assert_ok(settings_read_environment(worker));
    assert_string_equal(settings_text(hoopd, SETTING_LOG_LEVEL), "debug");
    assert_string_equal(settings_text(worker, SETTING_LOG), "debug");
}

/* Also where the present one is set. */
static void
settings_environment_refuses_former_names(void **state)
{
    static const char *const rows[][2] = {
        {"HOOP_SPIN", "HOOP_SPIN is named HOOP_DEBUG_SPIN now"},
        {"HOOP_LINK", "HOOP_LINK is named HOOP_DEBUG_LINK now"},
        {"HOOP_FAULT", "HOOP_FAULT is named HOOP_DEBUG_FAULT now"},
    };

    setenv("HOOP_DEBUG_SPIN", "never", 1);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(settings_destroy)
        struct settings *settings = created(SETTING_USER_WORKER);

        setenv(rows[i][0], "never", 1);
        assert_int_equal(settings_read_environment(settings), HOOP_E_INVALID);
        assert_string_equal(error_text(), rows[i][1]);
        setenv(rows[i][0], "", 1);
        assert_ok(settings_read_environment(settings));
        unsetenv(rows[i][0]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(settings_begin_at_their_defaults,
                               environment_empty),
        cmocka_unit_test_setup(settings_stronger_origin_stays_in_any_order,
                               environment_empty),
        cmocka_unit_test_setup(settings_last_of_one_origin_wins,
                               environment_empty),
        cmocka_unit_test_setup(
            settings_bad_value_is_refused_and_changes_nothing,
            environment_empty),
        cmocka_unit_test_setup(settings_set_number_is_the_callers,
                               environment_empty),
        cmocka_unit_test_setup(settings_environment_is_taken_empty_is_not,
                               environment_empty),
        cmocka_unit_test_setup(
            settings_environment_bad_value_names_the_variable,
            environment_empty),
        cmocka_unit_test_setup(settings_in_ci_have_other_defaults,
                               environment_empty),
        cmocka_unit_test_setup(settings_users_share_a_variable,
                               environment_empty),
        cmocka_unit_test_setup(settings_environment_refuses_former_names,
                               environment_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
