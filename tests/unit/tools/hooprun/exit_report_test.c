/* tests/unit/tools/hooprun/exit_report_test.c - hooprun/exit_report.c */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"
#include "hooprun/exit_report.h"

static void
exit_report_tells_how_each_has_ended(void **state)
{
    const struct ending endings[] = {
        {.rank = 0, .pid = 11, .wait_status = W_EXITCODE(3, 0)},
        {.rank = 1, .pid = 22, .wait_status = W_EXITCODE(0, SIGKILL)},
        {.rank = 2, .wait_status = W_EXITCODE(0, SIGKILL), .host = "b"},
    };
    struct exit_report exit_report;
    char text[256] = "";

    (void)state;
    exit_report_open(&exit_report);
    assert_true(exit_report.fd >= 0);
    exit_report_write(&exit_report, &endings[0]);
    exit_report_write(&exit_report, &endings[1]);
    exit_report_write(&exit_report, &endings[2]);
    FILE *file = fopen(exit_report.path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, "11 exited with code 3\n"
                              "rank 0 ended (exit code 3)\n"
                              "22 killed by signal 9 (Killed)\n"
                              "rank 1 ended (killed by signal 9)\n"
                              "rank 2 ended (killed by signal 9)\n");
    exit_report_close(&exit_report);
    assert_null(fopen(exit_report.path, "r"));
}

static void
exit_report_that_is_none_is_not_written(void **state)
{
    struct exit_report exit_report = {.fd = -1};

    (void)state;
    exit_report_write(&exit_report, &(struct ending){.pid = 1});
    exit_report_close(&exit_report);
    assert_int_equal(exit_report.fd, -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_report_tells_how_each_has_ended),
        cmocka_unit_test(exit_report_that_is_none_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
