/* tests/unit/common/base/setting_table_test.c - base/setting_table.c */

#include <stdbool.h>
#include <string.h>

#include "base/limits.h"
#include "base/log.h"
#include "base/settings.h"
#include "check.h"
#include "codec/codec.h"

static const struct setting *
row(size_t i)
{
    return setting_row((enum setting_id)i);
}

static void
setting_table_rows_are_whole(void **state)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        assert_non_null(row(i)->name);
        assert_non_null(row(i)->environment);
        assert_non_null(row(i)->option);
        assert_non_null(row(i)->placeholder);
        assert_non_null(row(i)->help);
        assert_in_range(row(i)->users, SETTING_USER_WORKER,
                        SETTING_USER_WORKER | SETTING_USER_HOOPD);
        assert_true(row(i)->type == SETTING_TYPE_CHOICE
                        ? row(i)->choices != NULL
                        : row(i)->max >= row(i)->min && row(i)->max > 0);
    }
}

/* join_timeout is --join-timeout. */
static void
setting_table_option_is_name_with_dashes(void **state)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const char *name = row(i)->name;
        const char *option = row(i)->option;

        assert_int_equal(strlen(name), strlen(option));
        for (size_t at = 0; name[at]; at++)
            assert_int_equal(name[at] == '_' ? '-' : name[at], option[at]);
    }
}

/* Two users may share a variable (HOOP_LOG), one user's are distinct. */
static void
setting_table_names_are_unique(void **state)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(row(i)->name, row(j)->name);
            if (row(i)->users & row(j)->users)
                assert_string_not_equal(row(i)->environment,
                                        row(j)->environment);
        }
    }
}

static void
setting_table_texts_fit_their_value(void **state)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        if (row(i)->type == SETTING_TYPE_TEXT)
            assert_true(row(i)->max < LIMIT_SETTING);
    }
}

static void
setting_table_choices_match_their_enums(void **state)
{
    enum log_level level;
    enum log_format format;
    const char *const *levels = setting_row(SETTING_LOG)->choices;
    const char *const *formats = setting_row(SETTING_LOG_FORMAT)->choices;

    for (size_t i = 0; levels[i]; i++) {
        assert_ok(log_level_parse(levels[i], &level));
        assert_int_equal(level, i);
    }
    for (size_t i = 0; formats[i]; i++) {
        assert_ok(log_format_parse(formats[i], &format));
        assert_int_equal(format, i);
    }
    assert_string_equal(setting_row(SETTING_CODEC)->choices[CODEC_NONE],
                        "none");
    assert_string_equal(setting_row(SETTING_CODEC)->choices[CODEC_ZSTD],
                        "zstd");
    assert_string_equal(setting_row(SETTING_CODEC)->choices[CODEC_AUTO],
                        "auto");
    assert_string_equal(setting_row(SETTING_CODEC)->choices[CODEC_PLANES],
                        "planes");
    const char *const *dtypes = setting_row(SETTING_WIRE_DTYPE)->choices;
    assert_string_equal(dtypes[LOSS_NONE], "none");
    assert_string_equal(dtypes[LOSS_BF16], "bf16");
    assert_string_equal(dtypes[LOSS_FP16], "fp16");
    assert_string_equal(dtypes[LOSS_INT8], "int8");
    assert_null(dtypes[LOSS_COUNT]);
}

static void
setting_describe_says_help_choices_default_and_variable(void **state)
{
    char text[512];

    setting_describe(setting_row(SETTING_CODEC), text, sizeof(text));
    assert_string_equal(text, "lossless compression of payloads on the wire: "
                              "none, zstd, planes or auto (default none; "
                              "HOOP_CODEC)");
    setting_describe(setting_row(SETTING_WIRE_DTYPE), text, sizeof(text));
    assert_non_null(strstr(text, ": none, bf16, fp16 or int8 (default none; "));
    setting_describe(setting_row(SETTING_LOG_FORMAT), text, sizeof(text));
    assert_non_null(strstr(text, ": text or json (default text; "));
    setting_describe(setting_row(SETTING_TIMEOUT), text, sizeof(text));
    assert_non_null(strstr(text, "(default 600, in CI 60; HOOP_TIMEOUT)"));
    setting_describe(setting_row(SETTING_RANK), text, sizeof(text));
    assert_non_null(strstr(text, "chooses (HOOP_RANK)"));
}

static void
setting_describe_is_cut_to_its_room(void **state)
{
    char text[16];

    setting_describe(setting_row(SETTING_LOG), text, sizeof(text));
    assert_string_equal(text, "what the librar");
}

/* Internal settings of tests begin alike, and no other setting does. */
static void
setting_table_debug_settings_are_internal(void **state)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const bool is_debug =
            strncmp(row(i)->environment, "HOOP_DEBUG_", 11) == 0;

        assert_int_equal(is_debug, strncmp(row(i)->name, "debug_", 6) == 0);
        assert_int_equal(row(i)->is_internal,
                         is_debug || (int)i == SETTING_ENDINGS);
    }
}

/* A former name is no name of today. */
static void
setting_table_former_names_are_free(void **state)
{
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        for (size_t j = 0; j < SETTING_COUNT && row(i)->former; j++)
            assert_string_not_equal(row(i)->former, row(j)->environment);
    }
}

static void
setting_users_are_named(void **state)
{
    assert_string_equal(setting_users_name(SETTING_USER_HOOPD), "hoopd");
    assert_string_equal(setting_users_name(SETTING_USER_WORKER), "workers");
    assert_string_equal(
        setting_users_name(SETTING_USER_WORKER | SETTING_USER_HOOPD),
        "workers and hoopd");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_table_rows_are_whole),
        cmocka_unit_test(setting_table_option_is_name_with_dashes),
        cmocka_unit_test(setting_table_names_are_unique),
        cmocka_unit_test(setting_table_texts_fit_their_value),
        cmocka_unit_test(setting_table_choices_match_their_enums),
        cmocka_unit_test(
            setting_describe_says_help_choices_default_and_variable),
        cmocka_unit_test(setting_describe_is_cut_to_its_room),
        cmocka_unit_test(setting_table_debug_settings_are_internal),
        cmocka_unit_test(setting_table_former_names_are_free),
        cmocka_unit_test(setting_users_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
