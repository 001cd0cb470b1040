/* tests/unit/common/base/config_fields_test.c - base/config.c */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "base/settings.h"
#include "check.h"
#include "default_config.h"
#include "setting_values.h"

/* Returns settings with the values of tests/setting_values.h: n of them, from
 * first. */
static struct settings *
settings_of(size_t first, size_t n)
{
    struct settings *settings = NULL;

    assert_ok(settings_create(SETTING_USER_WORKER, &settings));
    for (size_t i = first; i < first + n; i++) {
        char item[64];

        snprintf(item, sizeof(item), "%s=%s",
                 setting_row(setting_values[i].id)->name,
                 setting_values[i].text);
        assert_ok(settings_read_list(settings, (const char *[]){item, NULL}));
    }
    return settings;
}

static void
config_has_each_number_in_its_field(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = settings_of(0, COUNT_OF(setting_values));
    struct config config;

    config_init_from_settings(&config, settings);
    assert_int_equal(config.rank, 7);
    assert_int_equal(config.world_size, 9);
    assert_int_equal(config.join_timeout_ms, 300000);
    assert_int_equal(config.op_timeout_ms, 2500);
    assert_int_equal(config.failure_timeout_ms, 700);
    assert_int_equal(config.late_warning_ms, 1000);
    assert_int_equal(config.wait_notice_ms, 2000);
    assert_int_equal(config.on_failure, COMM_POLICY_RETRY);
    assert_int_equal(config.ports.first, 5000);
    assert_int_equal(config.ports.last, 5063);
    assert_int_equal(config.codec, CODEC_AUTO);
    assert_int_equal(config.loss, LOSS_INT8);
    assert_int_equal(config.checking, ENGINE_CHECK_BEFORE_DATA);
    assert_true(config.has_frame_checksums);
    assert_int_equal(config.shm_negotiation, SHM_MODE_NEVER);
    assert_int_equal(config.attaching, CMA_ALWAYS);
    assert_true(config.is_encrypted);
    assert_int_equal(config.n_streams, 3);
    assert_int_equal(config.log.level, LOG_WARNING);
    assert_int_equal(config.log.format, LOG_JSON);
    assert_int_equal(config.spinning, ENGINE_SPIN_ALWAYS);
}

static void
config_has_each_text_in_its_field(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = settings_of(0, COUNT_OF(setting_values));
    struct config config;

    config_init_from_settings(&config, settings);
    assert_string_equal(config.coordinator, "host:1");
    assert_string_equal(config.job, "trial");
    assert_string_equal(config.token, "secret");
    assert_string_equal(config.token_file, "/nowhere");
    assert_string_equal(config.exit_status, "/endings");
    assert_string_equal(config.recorder.folder, "/records");
    assert_string_equal(config.recorder.signal, "USR1");
    assert_string_equal(config.advertise, "node");
    assert_string_equal(config.interface, "eth0");
    assert_string_equal(config.tls.cert, "/cert");
    assert_string_equal(config.tls.key, "/key");
    assert_string_equal(config.tls.ca, "/ca");
    assert_string_equal(config.node, "rack");
    assert_string_equal(config.algorithms, "allreduce:ring");
    assert_string_equal(config.tuning, "model");
    assert_string_equal(config.link, "latency=20us");
    assert_string_equal(config.faults, "rank=1,do=kill");
}

/* Facts that no setting says are 0. */
static void
config_without_settings_has_the_defaults_of_the_table(void **state)
{
    struct config config;

    memset(&config, 0xff, sizeof(config));
    default_config_init(&config);
    assert_string_equal(config.job, "default");
    assert_string_equal(config.coordinator, "");
    assert_int_equal(config.failure_timeout_ms, 2000);
    assert_int_equal(config.late_warning_ms, 10000);
    assert_int_equal(config.n_streams, 0);
    assert_false(config.is_encrypted);
    assert_int_equal(config.place.membership, 0);
}

static size_t
field_size(const struct setting *setting)
{
    if (setting->type == SETTING_TYPE_TEXT)
        return setting->max + 1;
    if (setting->type == SETTING_TYPE_PORTS)
        return sizeof(struct port_range);
    return setting->choices == setting_choices_switches ? sizeof(bool)
                                                        : sizeof(uint32_t);
}

/* No two settings share a byte, whatever their values are. */
static void
config_fields_lie_apart(void **state)
{
    static bool is_taken[sizeof(struct config)];

    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = setting_row((enum setting_id)i);

        if (!(setting->users & SETTING_USER_WORKER))
            continue;
        assert_true(setting->field + field_size(setting) <=
                    sizeof(struct config));
        for (size_t at = 0; at < field_size(setting); at++) {
            assert_false(is_taken[setting->field + at]);
            is_taken[setting->field + at] = true;
        }
    }
}

/* Returns the index in setting_values. */
static size_t
setting_value_find(enum setting_id id)
{
    for (size_t i = 0; i < COUNT_OF(setting_values); i++) {
        if (setting_values[i].id == id)
            return i;
    }
    fail_msg("tests/setting_values.h has no value of %s",
             setting_row(id)->name);
    return 0;
}

static void
config_of_one_setting_differs_in_its_field_alone(void **state)
{
    struct config defaults;

    default_config_init(&defaults);
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *setting = setting_row((enum setting_id)i);
        struct config config;

        if (!(setting->users & SETTING_USER_WORKER))
            continue;
        CLEANUP(settings_destroy)
        struct settings *settings =
            settings_of(setting_value_find((enum setting_id)i), 1);
        config_init_from_settings(&config, settings);
        char *field = (char *)&config + setting->field;
        const char *usual = (const char *)&defaults + setting->field;
        const size_t n_bytes = field_size(setting);

        if (memcmp(field, usual, n_bytes) == 0)
            fail_msg("%s leaves its field as it is", setting->name);
        memcpy(field, usual, n_bytes);
        if (memcmp(&config, &defaults, sizeof(config)) != 0)
            fail_msg("%s changes another field", setting->name);
    }
}

static void
config_deinit_wipes_the_token(void **state)
{
    CLEANUP(settings_destroy)
    struct settings *settings = settings_of(0, COUNT_OF(setting_values));
    struct config config;

    config_init_from_settings(&config, settings);
    config_deinit(&config);
    for (size_t i = 0; i < sizeof(config.token); i++)
        assert_int_equal(config.token[i], 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_has_each_number_in_its_field),
        cmocka_unit_test(config_has_each_text_in_its_field),
        cmocka_unit_test(config_without_settings_has_the_defaults_of_the_table),
        cmocka_unit_test(config_fields_lie_apart),
        cmocka_unit_test(config_of_one_setting_differs_in_its_field_alone),
        cmocka_unit_test(config_deinit_wipes_the_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
