/* tests/unit/common/base/settings_file_test.c - base/setting_parse.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/settings.h"
#include "check.h"
#include "temporary.h"

static int
hoopd_create(void **state)
{
    struct settings *settings = NULL;

    if (settings_create(SETTING_USER_HOOPD, &settings) != HOOP_OK)
        return -1;
    *state = settings;
    return 0;
}

static int
hoopd_destroy(void **state)
{
    settings_destroy(*state);
    return 0;
}

static enum hoop_status
take(struct settings *settings, const char *text)
{
    return settings_read_text(settings, "my.conf", text, strlen(text));
}

static void
assert_refused(struct settings *settings, const char *text, const char *says)
{
    assert_int_equal(take(settings, text), HOOP_E_INVALID);
    if (!strstr(error_text(), says))
        fail_msg("'%s' does not say '%s'", error_text(), says);
}

static void
settings_file_lines_are_taken(void **state)
{
    assert_ok(take(*state, "# a comment\n"
                           "\n"
                           "  lease = 3 \r\n"
                           "\t# indented\n"
                           "listen=[::]:0\n"
                           "token_file = /etc/a = b # not a comment"));
    assert_int_equal(settings_number(*state, SETTING_LEASE), 3000);
    assert_string_equal(settings_text(*state, SETTING_LISTEN), "[::]:0");
    assert_string_equal(settings_text(*state, SETTING_TOKEN_FILE),
                        "/etc/a = b # not a comment");
}

static void
settings_file_errors_name_the_line(void **state)
{
    assert_refused(*state, "\nlese = 3\n",
                   "my.conf:2: unknown setting 'lese'; do you mean 'lease'?");
    assert_refused(*state, "quantum = 3\n",
                   "my.conf:1: unknown setting 'quantum'; hoopd(8) lists what "
                   "there is");
    assert_refused(*state, "lease\n", "my.conf:1: a line is 'key = value'");
    assert_refused(*state, "= 3\n", "my.conf:1: unknown setting ''");
    assert_refused(*state, "lease =\n", "my.conf:1: lease has no value");
    assert_refused(*state, "#\n#\nlease = x", "my.conf:3: 'x' is no value");
    assert_refused(*state, "rank = 3",
                   "my.conf:1: 'rank' is a setting of workers, not of hoopd");
    assert_refused(*state, "lease = 1\nlease = 2\n",
                   "my.conf:2: lease is set on line 1, too");
}

static void
settings_file_long_or_binary_line_is_refused(void **state)
{
    char text[4 * LIMIT_SETTING];

    memset(text, 'x', sizeof(text));
    assert_int_equal(settings_read_text(*state, "my.conf", text, sizeof(text)),
                     HOOP_E_INVALID);
    assert_int_equal(settings_read_text(*state, "my.conf", "lea\0se=1", 8),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "not text"));
}

static void
settings_file_is_read_from_disk(void **state)
{
    char path[TEMPORARY_PATH] = "hoop-settings-XXXXXX";
    const int fd = temporary_file(path, sizeof(path));

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "settle = 250ms\n", 15), 15);
    close(fd);
    assert_ok(settings_read_file(*state, path));
    assert_int_equal(settings_number(*state, SETTING_SETTLE), 250);
    unlink(path);
    assert_int_equal(settings_read_file(*state, path), HOOP_E_NOT_FOUND);
    assert_non_null(strstr(error_text(), path));
    assert_int_equal(settings_read_file(*state, "/"), HOOP_E_NOT_FOUND);
}

static void
settings_file_too_large_is_refused(void **state)
{
    assert_int_equal(settings_read_file(*state, "/dev/zero"), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "65536 bytes or more"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(settings_file_lines_are_taken,
                                        hoopd_create, hoopd_destroy),
        cmocka_unit_test_setup_teardown(settings_file_errors_name_the_line,
                                        hoopd_create, hoopd_destroy),
        cmocka_unit_test_setup_teardown(
            settings_file_long_or_binary_line_is_refused, hoopd_create,
            hoopd_destroy),
        cmocka_unit_test_setup_teardown(settings_file_is_read_from_disk,
                                        hoopd_create, hoopd_destroy),
        cmocka_unit_test_setup_teardown(settings_file_too_large_is_refused,
                                        hoopd_create, hoopd_destroy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
