/* tests/unit/common/base/log_test.c - base/log.c */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "check.h"

static int captured[2];
static int kept_stderr;
static char line[4096];

/* What the tests log goes into a pipe. */
static int
stderr_capture(void **state)
{
    (void)state;
    kept_stderr = dup(STDERR_FILENO);
    if (kept_stderr < 0 || pipe(captured) < 0)
        return -1;
    return dup2(captured[1], STDERR_FILENO) < 0 ? -1 : 0;
}

static int
stderr_restore(void **state)
{
    (void)state;
    log_configure(LOG_OFF, LOG_TEXT);
    log_name("hoop");
    return dup2(kept_stderr, STDERR_FILENO) < 0 ? -1 : 0;
}

/* The line written last: whole, as one write(2) makes it. */
static const char *
line_take(void)
{
    const ssize_t n = read(captured[0], line, sizeof(line) - 1);

    assert_true(n > 0);
    line[n] = '\0';
    assert_ptr_equal(strchr(line, '\n'), line + n - 1);
    return line;
}

static void
log_below_the_level_writes_nothing(void **state)
{
    (void)state;
    log_error("peer", "off is off");
    log_configure(LOG_WARNING, LOG_TEXT);
    log_info("peer", "not this");
    log_warning("peer", "but this");
    assert_non_null(strstr(line_take(), "warning peer: but this\n"));
}

static void
log_text_line_says_when_who_level_and_subject(void **state)
{
    int year;
    int n_read = 0;

    (void)state;
    log_configure(LOG_DEBUG, LOG_TEXT);
    log_name("rank 3");
    log_debug("peer", "rank %d connected", 7);
    assert_int_equal(
        sscanf(line_take(), "%4d-%*2d-%*2dT%*2d:%*2d:%*6fZ%n", &year, &n_read),
        1);
    assert_true(year > 2000);
    assert_string_equal(line + n_read,
                        " rank 3 debug peer: rank 7 connected\n");
}

static void
log_json_line_escapes(void **state)
{
    (void)state;
    log_configure(LOG_INFO, LOG_JSON);
    log_info("peer", "a \"b\" \\ c\n\x01");
    assert_non_null(strstr(line_take(),
                           ",\"from\":\"hoop\",\"level\":\"info\","
                           "\"subject\":\"peer\",\"message\":"
                           "\"a \\\"b\\\" \\\\ c\\u000a\\u0001\"}\n"));
    assert_memory_equal(line, "{\"time\":\"2", 10);
}

static void
log_long_message_is_cut_to_one_whole_line(void **state)
{
    char message[4 * LIMIT_ERROR_TEXT];

    (void)state;
    memset(message, '"', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    log_configure(LOG_INFO, LOG_JSON);
    log_info("peer", "%s", message);
    line_take();
    assert_true(strlen(line) <= 2048);
    assert_non_null(strstr(line, "\\\"\"}\n"));
}

static void
log_names_are_parsed_back(void **state)
{
    enum log_level level;
    enum log_format format;

    (void)state;
    assert_int_equal(log_level_parse("warning", &level), HOOP_OK);
    assert_int_equal(level, LOG_WARNING);
    assert_int_equal(log_level_parse("loud", &level), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "'loud'"));
    assert_int_equal(log_format_parse("json", &format), HOOP_OK);
    assert_int_equal(format, LOG_JSON);
    assert_int_equal(log_format_parse("xml", &format), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "'xml'"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(log_below_the_level_writes_nothing,
                                        stderr_capture, stderr_restore),
        cmocka_unit_test_setup_teardown(
            log_text_line_says_when_who_level_and_subject, stderr_capture,
            stderr_restore),
        cmocka_unit_test_setup_teardown(log_json_line_escapes, stderr_capture,
                                        stderr_restore),
        cmocka_unit_test_setup_teardown(
            log_long_message_is_cut_to_one_whole_line, stderr_capture,
            stderr_restore),
        cmocka_unit_test(log_names_are_parsed_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
