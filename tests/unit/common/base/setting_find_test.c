/* tests/unit/common/base/setting_find_test.c - base/settings.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/settings.h"
#include "check.h"

static int
worker_create(void **state)
{
    struct settings *settings = NULL;

    if (settings_create(SETTING_USER_WORKER, &settings) != HOOP_OK)
        return -1;
    *state = settings;
    return 0;
}

static int
worker_destroy(void **state)
{
    settings_destroy(*state);
    return 0;
}

static void
every_name_is_found(void **state)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *row = setting_row((enum setting_id)i);
        const enum setting_user user = row->users & SETTING_USER_WORKER
                                           ? SETTING_USER_WORKER
                                           : SETTING_USER_HOOPD;
        enum setting_id id = SETTING_COUNT;

        assert_ok(setting_find("here", row->name, user, &id));
        assert_int_equal(id, i);
    }
}

static void
wrong_names_are_refused_with_the_right_one(void **state)
{
    static const struct {
        enum setting_user user;
        const char *name;
        const char *says;
    } rows[] = {
        {SETTING_USER_WORKER, "timeot",
         "here: unknown setting 'timeot'; do you mean 'timeout'?"},
        {SETTING_USER_WORKER, "HOOP_TIMEOUT",
         "here: unknown setting 'HOOP_TIMEOUT'; do you mean 'timeout'?"},
        {SETTING_USER_WORKER, "Join-Timeout",
         "here: unknown setting 'Join-Timeout'; do you mean 'join_timeout'?"},
        {SETTING_USER_WORKER, "quantum_flux",
         "here: unknown setting 'quantum_flux'; hoop(7) lists what there is"},
        {SETTING_USER_WORKER, "",
         "here: unknown setting ''; hoop(7) lists what there is"},
        {SETTING_USER_HOOPD, "quantum_flux",
         "here: unknown setting 'quantum_flux'; hoopd(8) lists what there is"},
        {SETTING_USER_WORKER, "lease",
         "here: 'lease' is a setting of hoopd, not of workers"},
        {SETTING_USER_WORKER, "spin", "here: 'spin' is named 'debug_spin' now"},
        {SETTING_USER_WORKER, "HOOP_LINK",
         "here: 'HOOP_LINK' is named 'debug_link' now"},
        {SETTING_USER_WORKER, "fault",
         "here: 'fault' is named 'debug_fault' now"},
    };
    enum setting_id id = SETTING_COUNT;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(setting_find("here", rows[i].name, rows[i].user, &id),
                         HOOP_E_INVALID);
        assert_string_equal(error_text(), rows[i].says);
    }
    assert_int_equal(id, SETTING_COUNT);
}

/* Of each type; the last byte of a value may be a = as well. */
static void
items_of_a_list_are_taken(void **state)
{
    char port[] = "port=5000-5063";
    const char *const list[] = {"timeout=2.5s", "rank=3",     "codec=zstd",
                                port,           "token=a=b=", NULL};

    assert_ok(settings_read_list(*state, NULL));
    assert_ok(settings_read_list(*state, &list[5]));
    assert_ok(settings_read_list(*state, list));
    memset(port, 'x', sizeof(port) - 1);
    assert_int_equal(settings_number(*state, SETTING_TIMEOUT), 2500);
    assert_int_equal(settings_number(*state, SETTING_RANK), 3);
    assert_string_equal(settings_text(*state, SETTING_CODEC), "zstd");
    assert_string_equal(settings_text(*state, SETTING_PORT), "5000-5063");
    assert_int_equal(settings_port_range(*state, SETTING_PORT).last, 5063);
    assert_string_equal(settings_text(*state, SETTING_TOKEN), "a=b=");
    assert_int_equal(settings_origin(*state, SETTING_RANK),
                     SETTING_FROM_CALLER);
    assert_false(settings_is_set(*state, SETTING_JOB));
}

/* The first item is right; what is wrong with the second. */
static void
wrong_items_are_refused(void **state)
{
    static const char *const rows[][2] = {
        {"timeot=5", "unknown setting 'timeot'; do you mean 'timeout'?"},
        {"timeout=soon", "'soon' is no value for timeout: give seconds, or a "
                         "number with ms, s, m or h"},
        {"timeout=0", "'0' is too small for timeout: 1 ms to 604800000 ms are "
                      "allowed"},
        {"world_size=-1",
         "'-1' is no value for world_size: give a whole number"},
        {"checksum=yes", "'yes' is no value for checksum: give off or on"},
        {"codec=bf16+zstd",
         "'bf16+zstd' is codec=zstd and wire_dtype=bf16 now"},
        {"timeout=", "timeout has no value"},
        {"timeout", "an item is name=value, with a name of less than 128 "
                    "bytes"},
        {"", "an item is name=value, with a name of less than 128 bytes"},
        {"=5", "unknown setting ''; hoop(7) lists what there is"},
        {" timeout=5", "unknown setting ' timeout'; do you mean 'timeout'?"},
        {"lease=5", "'lease' is a setting of hoopd, not of workers"},
        {"spin=never", "'spin' is named 'debug_spin' now"},
        {"job=other", "job is given twice, first in settings[0]"},
        {"job=mine", "job is given twice, first in settings[0]"},
    };
    char expected[256];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *const list[] = {"job=mine", rows[i][0], NULL};
        CLEANUP(settings_destroy) struct settings *settings = NULL;

        assert_ok(settings_create(SETTING_USER_WORKER, &settings));
        assert_int_equal(settings_read_list(settings, list), HOOP_E_INVALID);
        snprintf(expected, sizeof(expected), "options.settings[1]: %s",
                 rows[i][1]);
        assert_string_equal(error_text(), expected);
    }
}

/* Errors go to logs. */
static void
secrets_are_not_told(void **state)
{
    const char *const twice[] = {"token=hunter2", "token=hunter2", NULL};
    const char *const unknown[] = {"tokenn=hunter2", NULL};

    assert_int_equal(settings_read_list(*state, twice), HOOP_E_INVALID);
    assert_null(strstr(error_text(), "hunter2"));
    assert_int_equal(settings_read_list(*state, unknown), HOOP_E_INVALID);
    assert_null(strstr(error_text(), "hunter2"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_is_found),
        cmocka_unit_test(wrong_names_are_refused_with_the_right_one),
        cmocka_unit_test_setup_teardown(items_of_a_list_are_taken,
                                        worker_create, worker_destroy),
        cmocka_unit_test(wrong_items_are_refused),
        cmocka_unit_test_setup_teardown(secrets_are_not_told, worker_create,
                                        worker_destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
