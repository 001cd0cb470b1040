/* tests/unit/common/base/log_test.c - base/log.c, read back through a pipe */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "check.h"

/* What fd 2 was, and the pipe that it is instead. */
struct fixture {
    int former;
    int reader;
    char text[8192];
};

static int
fixture_create(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    int ends[2];

    assert_non_null(fixture);
    assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    fixture->former = dup(STDERR_FILENO);
    fixture->reader = ends[0];
    assert_int_equal(dup2(ends[1], STDERR_FILENO), STDERR_FILENO);
    close(ends[1]);
    log_set_name("rank 3");
    *state = fixture;
    return 0;
}

static int
fixture_destroy(void **state)
{
    struct fixture *fixture = *state;

    dup2(fixture->former, STDERR_FILENO);
    close(fixture->former);
    close(fixture->reader);
    log_configure(LOG_OFF, LOG_TEXT);
    log_set_name("hoop");
    free(fixture);
    return 0;
}

/* Everything logged since the last time. */
static const char *
logged(struct fixture *fixture)
{
    const ssize_t n =
        read(fixture->reader, fixture->text, sizeof(fixture->text) - 1);

    assert_true(n >= 0 || errno == EAGAIN);
    fixture->text[n > 0 ? n : 0] = '\0';
    return fixture->text;
}

static bool
ends_with(const char *text, const char *end)
{
    const size_t n_text = strlen(text);
    const size_t n_end = strlen(end);

    return n_text >= n_end && strcmp(text + n_text - n_end, end) == 0;
}

static void
log_all_levels(void)
{
    log_error("test", "an error");
    log_warning("test", "a warning");
    log_info("test", "an info");
    log_debug("test", "a debug");
}

static size_t
count_lines(const char *text)
{
    size_t n_lines = 0;

    for (; *text; text++)
        n_lines += *text == '\n';
    return n_lines;
}

static void
log_at_each_level_writes_that_and_graver_ones(void **state)
{
    struct fixture *fixture = *state;

    for (int level = LOG_OFF; level <= LOG_DEBUG; level++) {
        log_configure((enum log_level)level, LOG_TEXT);
        log_all_levels();
        assert_int_equal(count_lines(logged(fixture)), level);
    }
}

static void
log_below_its_level_does_not_look_at_its_arguments(void **state)
{
    int n_asked = 0;

    log_configure(LOG_INFO, LOG_TEXT);
    log_debug("test", "%d", ++n_asked);
    assert_int_equal(n_asked, 0);
}

static void
log_text_line_has_time_speaker_level_subject_and_message(void **state)
{
    struct fixture *fixture = *state;
    int year = 0;
    int n_stamp = 0;

    log_configure(LOG_INFO, LOG_TEXT);
    log_info("peer", "rank %u connected from %s", 7, "host");

    const char *line = logged(fixture);
    assert_int_equal(
        sscanf(line, "%4d-%*2d-%*2dT%*2d:%*2d:%*2d.%*3dZ%n", &year, &n_stamp),
        1);
    assert_int_equal(n_stamp, strlen("2026-01-01T00:00:00.000Z"));
    assert_in_range(year, 2020, 2999);
    assert_string_equal(line + n_stamp,
                        " rank 3 info peer: rank 7 connected from host\n");
}

static void
log_json_line_has_the_same_members(void **state)
{
    struct fixture *fixture = *state;

    log_configure(LOG_WARNING, LOG_JSON);
    log_warning("lease", "late by %d ms", 5);

    const char *line = logged(fixture);
    assert_memory_equal(line, "{\"time\":\"2", 10);
    assert_true(ends_with(line, "Z\",\"from\":\"rank 3\",\"level\":\"warning\","
                                "\"subject\":\"lease\","
                                "\"message\":\"late by 5 ms\"}\n"));
}

static void
log_json_escapes_quotes_and_control_characters(void **state)
{
    struct fixture *fixture = *state;

    log_configure(LOG_INFO, LOG_JSON);
    log_info("test", "%s", "a\"b\\c\nd\te\x1f\xc3\xa9");
    assert_true(ends_with(logged(fixture),
                          "\"message\":\"a\\\"b\\\\c\\u000ad\\u0009e\\u001f"
                          "\xc3\xa9\"}\n"));
}

static void
log_text_of_a_stranger_stays_one_harmless_line(void **state)
{
    struct fixture *fixture = *state;

    log_configure(LOG_INFO, LOG_TEXT);
    log_info("test", "%s", "a\"b\\c\r\nd\x1b[2J\x7f\x9b");
    assert_true(ends_with(logged(fixture), " test: a\"b\\c\\u000d\\u000ad"
                                           "\\u001b[2J\\u007f\\x9b\n"));
}

static void
log_json_has_no_bytes_that_are_not_utf_8(void **state)
{
    struct fixture *fixture = *state;

    log_configure(LOG_INFO, LOG_JSON);
    /* Whole ones, then torn, too long, a surrogate, too great, torn. */
    log_info("test", "%s",
             "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\xc3|\xc0\x80|"
             "\xed\xa0\x80|\xf4\x90\x80\x80|\xe2\x82");
    assert_true(ends_with(
        logged(fixture),
        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\\ufffd|\\ufffd\\ufffd|"
        "\\ufffd\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd\\ufffd|"
        "\\ufffd\\ufffd\"}\n"));
}

static void
log_long_text_is_cut_to_one_line(void **state)
{
    struct fixture *fixture = *state;
    char message[4000];

    memset(message, 'x', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    log_configure(LOG_INFO, LOG_TEXT);
    log_info("test", "%s", message);

    const char *line = logged(fixture);
    assert_in_range(strlen(line), LIMIT_ERROR_TEXT, LIMIT_ERROR_TEXT + 100);
    assert_int_equal(count_lines(line), 1);
    assert_true(ends_with(line, "x\n"));
}

static void
log_long_json_is_cut_between_escapes_and_stays_closed(void **state)
{
    struct fixture *fixture = *state;
    char message[1000];

    /* Six bytes each when escaped: more than a line holds. */
    memset(message, '\x01', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    log_configure(LOG_INFO, LOG_JSON);
    log_info("test", "%s", message);

    const char *line = logged(fixture);
    assert_in_range(strlen(line), 1900, 2048);
    assert_int_equal(count_lines(line), 1);
    assert_true(ends_with(line, "\\u0001\"}\n"));
}

static void
log_name_is_cut_not_overrun(void **state)
{
    struct fixture *fixture = *state;
    char name[2 * LIMIT_NAME];

    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    log_set_name(name);
    log_configure(LOG_INFO, LOG_TEXT);
    log_info("test", "x");

    const char *line = logged(fixture);
    const char *first = strchr(line, 'n');
    assert_non_null(first);
    assert_int_equal(strspn(first, "n"), LIMIT_NAME - 1);
    assert_true(ends_with(line, "n info test: x\n"));
    log_set_name("rank 3");
}

static void
log_levels_and_formats_parse_by_name(void **state)
{
    enum log_level level = LOG_OFF;
    enum log_format format = LOG_TEXT;

    assert_ok(log_level_parse("debug", &level));
    assert_int_equal(level, LOG_DEBUG);
    assert_ok(log_level_parse("off", &level));
    assert_int_equal(level, LOG_OFF);
    assert_int_equal(log_level_parse("loud", &level), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "loud"));

    assert_ok(log_format_parse("json", &format));
    assert_int_equal(format, LOG_JSON);
    assert_ok(log_format_parse("text", &format));
    assert_int_equal(format, LOG_TEXT);
    assert_int_equal(log_format_parse("xml", &format), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "xml"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_at_each_level_writes_that_and_graver_ones),
        cmocka_unit_test(log_below_its_level_does_not_look_at_its_arguments),
        cmocka_unit_test(
            log_text_line_has_time_speaker_level_subject_and_message),
        cmocka_unit_test(log_json_line_has_the_same_members),
        cmocka_unit_test(log_json_escapes_quotes_and_control_characters),
        cmocka_unit_test(log_text_of_a_stranger_stays_one_harmless_line),
        cmocka_unit_test(log_json_has_no_bytes_that_are_not_utf_8),
        cmocka_unit_test(log_long_text_is_cut_to_one_line),
        cmocka_unit_test(log_long_json_is_cut_between_escapes_and_stays_closed),
        cmocka_unit_test(log_name_is_cut_not_overrun),
        cmocka_unit_test(log_levels_and_formats_parse_by_name),
    };

    return cmocka_run_group_tests(tests, fixture_create, fixture_destroy);
}
