/* tests/unit/common/base/setting_parse_test.c - base/setting_parse.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/settings.h"
#include "check.h"

static enum hoop_status
parse(enum setting_id id, const char *text, uint64_t *out_number)
{
    return setting_parse(setting_row(id),
                         &(struct setting_input){
                             .origin = SETTING_FROM_CALLER,
                             .where = "--here",
                             .text = text,
                         },
                         out_number);
}

static void
assert_refused(enum setting_id id, const char *text, const char *says)
{
    uint64_t number;

    assert_int_equal(parse(id, text, &number), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "--here: "));
    if (!strstr(error_text(), says))
        fail_msg("'%s' does not say '%s'", error_text(), says);
}

static void
setting_parse_duration_knows_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } rows[] = {
        {"10", 10000},   {"10s", 10000},  {"2.5", 2500}, {"500ms", 500},
        {"5m", 300000},  {"1h", 3600000}, {"0.001", 1},  {"1.9999", 1999},
        {"0.5m", 30000}, {"007", 7000},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t number = 0;

        assert_ok(parse(SETTING_TIMEOUT, rows[i].text, &number));
        assert_int_equal(number, rows[i].ms);
    }
}

static void
setting_parse_duration_refuses_what_is_none(void **state)
{
    static const char *const texts[] = {"ten", "-1",  "1.",  ".5", "5 s",
                                        "5x",  "1.s", "1e3", "+1", "1.2.3"};

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_refused(SETTING_TIMEOUT, texts[i],
                       "give seconds, or a number with ms, s, m or h");
}

static void
setting_parse_duration_is_bounded(void **state)
{
    assert_refused(SETTING_TIMEOUT, "0", "too small for timeout: 1 ms to ");
    assert_refused(SETTING_TIMEOUT, "99999999999", "too large");
    assert_refused(SETTING_TIMEOUT, "18446744073709551615h", "too large");
    assert_refused(SETTING_TIMEOUT, "5124095576030.9h", "too large");
}

static void
setting_parse_uint_takes_its_bounds(void **state)
{
    uint64_t number = 7;

    assert_ok(parse(SETTING_RANK, "0", &number));
    assert_int_equal(number, 0);
    assert_ok(parse(SETTING_CONNECTIONS_PER_ADDRESS, "1", &number));
    assert_int_equal(number, 1);
    assert_refused(SETTING_RANK, "999999999", "too large for rank: 0 to ");
    assert_refused(SETTING_WORLD_SIZE, "0", "too small");
    assert_refused(SETTING_RANK, "18446744073709551616", "too large");
}

static void
setting_parse_uint_refuses_what_is_none(void **state)
{
    static const char *const texts[] = {"x", "-1", "1x", "0x10", " 1", "1.0"};

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_refused(SETTING_RANK, texts[i], "give a whole number");
}

static void
setting_parse_ports_are_one_or_a_range(void **state)
{
    static const struct {
        const char *text;
        unsigned first;
        unsigned last;
    } rows[] = {
        {"0", 0, 0},
        {"5000", 5000, 5000},
        {"65535", 65535, 65535},
        {"5000-5063", 5000, 5063},
        {"7-7", 7, 7},
        {"1-65535", 1, 65535},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        CLEANUP(settings_destroy) struct settings *settings = NULL;

        assert_ok(settings_create(SETTING_USER_WORKER, &settings));
        assert_ok(
            settings_set(settings, SETTING_PORT,
                         &(struct setting_input){SETTING_FROM_CALLER, "--here",
                                                 rows[i].text}));
        const struct port_range ports =
            settings_port_range(settings, SETTING_PORT);
        assert_int_equal(ports.first, rows[i].first);
        assert_int_equal(ports.last, rows[i].last);
    }
}

static void
setting_parse_ports_refuse_what_is_none(void **state)
{
    static const char *const texts[] = {
        "5063-5000", "0-10",  "5000-", "-5000",     "5000-5063-5100",
        "5000:5063", "5000 ", "ten",   "5000,5001",
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_refused(SETTING_PORT, texts[i],
                       "is no value for port: give a port, or a range such as "
                       "5000-5063");
    assert_refused(SETTING_PORT, "65536", "too large for port: 0 to 65535");
    assert_refused(SETTING_PORT, "5000-65536", "too large for port");
    assert_refused(SETTING_PORT, "18446744073709551616", "too large");
}

static void
setting_parse_choice_is_its_index(void **state)
{
    uint64_t number = 7;

    assert_ok(parse(SETTING_CODEC, "zstd", &number));
    assert_int_equal(number, 1);
    assert_refused(SETTING_CODEC, "lz4",
                   "--here: 'lz4' is no value for codec: give none, zstd, "
                   "planes or auto");
    assert_refused(SETTING_CODEC, "ZSTD", "give none, zstd, planes or auto");
    assert_refused(SETTING_WIRE_DTYPE, "float16",
                   "--here: 'float16' is no value for wire_dtype: give none, "
                   "bf16, fp16 or int8");
    assert_refused(SETTING_TRANSPORT, "rdma", "give auto, tcp or shm");
}

static void
setting_parse_text_is_bounded(void **state)
{
    char text[LIMIT_NAME + 1];
    uint64_t number;

    memset(text, 'x', LIMIT_NAME);
    text[LIMIT_NAME] = '\0';
    assert_refused(SETTING_JOB, text, "has 128 bytes, more than 127");
    text[LIMIT_NAME - 1] = '\0';
    assert_ok(parse(SETTING_JOB, text, &number));
}

static void
setting_parse_empty_is_refused_for_every_setting(void **state)
{
    for (size_t i = 0; i < SETTING_COUNT; i++)
        assert_refused((enum setting_id)i, "", "has no value");
}

/* Error texts end up in logs. */
static void
setting_parse_does_not_quote_a_token(void **state)
{
    char text[LIMIT_TOKEN + 1];

    memset(text, 's', LIMIT_TOKEN);
    text[LIMIT_TOKEN] = '\0';
    assert_refused(SETTING_TOKEN, text, "more than 255");
    assert_null(strstr(error_text(), "ssss"));
}

/* Until there was a setting for conversions, the codec said both. */
static void
setting_parse_codec_names_the_present_settings(void **state)
{
    static const struct {
        enum setting_origin origin;
        const char *text;
        const char *says;
    } rows[] = {
        {SETTING_FROM_ENVIRONMENT, "bf16",
         "HOOP_CODEC: 'bf16' is HOOP_WIRE_DTYPE=bf16 now"},
        {SETTING_FROM_ENVIRONMENT, "int8+auto",
         "HOOP_CODEC: 'int8+auto' is HOOP_CODEC=auto and HOOP_WIRE_DTYPE=int8 "
         "now"},
        {SETTING_FROM_CALLER, "fp16", "codec: 'fp16' is wire_dtype=fp16 now"},
        {SETTING_FROM_CALLER, "fp16+planes",
         "codec: 'fp16+planes' is codec=planes and wire_dtype=fp16 now"},
        {SETTING_FROM_CALLER, "fp16+lz4",
         "codec: 'fp16+lz4' is no value for codec: give none, zstd, planes or "
         "auto"},
    };
    uint64_t number;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct setting_input input = {
            .origin = rows[i].origin,
            .where =
                rows[i].origin == SETTING_FROM_CALLER ? "codec" : "HOOP_CODEC",
            .text = rows[i].text,
        };

        assert_int_equal(
            setting_parse(setting_row(SETTING_CODEC), &input, &number),
            HOOP_E_INVALID);
        assert_string_equal(error_text(), rows[i].says);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(setting_parse_duration_knows_units),
        cmocka_unit_test(setting_parse_duration_refuses_what_is_none),
        cmocka_unit_test(setting_parse_duration_is_bounded),
        cmocka_unit_test(setting_parse_uint_takes_its_bounds),
        cmocka_unit_test(setting_parse_uint_refuses_what_is_none),
        cmocka_unit_test(setting_parse_ports_are_one_or_a_range),
        cmocka_unit_test(setting_parse_ports_refuse_what_is_none),
        cmocka_unit_test(setting_parse_choice_is_its_index),
        cmocka_unit_test(setting_parse_text_is_bounded),
        cmocka_unit_test(setting_parse_empty_is_refused_for_every_setting),
        cmocka_unit_test(setting_parse_does_not_quote_a_token),
        cmocka_unit_test(setting_parse_codec_names_the_present_settings),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
