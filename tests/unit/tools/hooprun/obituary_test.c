/* tests/unit/tools/hooprun/obituary_test.c - hooprun/obituary.c */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "check.h"
#include "hooprun/obituary.h"

static void
obituary_tells_how_each_has_ended(void **state)
{
    const struct ending endings[] = {
        {.rank = 0, .pid = 11, .wait_status = W_EXITCODE(3, 0)},
        {.rank = 1, .pid = 22, .wait_status = W_EXITCODE(0, SIGKILL)},
        {.rank = 2, .wait_status = W_EXITCODE(0, SIGKILL), .host = "b"},
    };
    struct obituary obituary;
    char text[256] = "";

    (void)state;
    obituary_open(&obituary);
    assert_true(obituary.fd >= 0);
    obituary_write(&obituary, &endings[0]);
    obituary_write(&obituary, &endings[1]);
    obituary_write(&obituary, &endings[2]);
    FILE *file = fopen(obituary.path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    assert_string_equal(text, "11 exited with code 3\n"
                              "rank 0 ended (exit code 3)\n"
                              "22 killed by signal 9 (Killed)\n"
                              "rank 1 ended (killed by signal 9)\n"
                              "rank 2 ended (killed by signal 9)\n");
    obituary_close(&obituary);
    assert_null(fopen(obituary.path, "r"));
}

static void
obituary_that_is_none_is_not_written(void **state)
{
    struct obituary obituary = {.fd = -1};

    (void)state;
    obituary_write(&obituary, &(struct ending){.pid = 1});
    obituary_close(&obituary);
    assert_int_equal(obituary.fd, -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(obituary_tells_how_each_has_ended),
        cmocka_unit_test(obituary_that_is_none_is_not_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
