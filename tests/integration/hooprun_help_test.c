/*
 * tests/integration/hooprun_help_test.c - what hooprun tells of settings
 *
 * The first argument is hooprun.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/settings.h"
#include "check.h"
#include "integration/program.h"

static const char *hooprun;

/* hooprun option; what it says. The state's, as the program. */
static const char *
text_of(void **state, const char *option)
{
    const char *const arguments[] = {hooprun, option, NULL};

    /* It says where lines break. */
    unsetenv("ARGP_HELP_FMT");
    struct program *program = program_start(arguments, NULL);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    return program->out.text;
}

static void
help_names_settings_of_workers_and_their_list(void **state)
{
    const char *text = text_of(state, "--help");

    assert_non_null(strstr(text, "HOOP_TRANSPORT"));
    assert_non_null(strstr(text, "      --settings "));
    assert_non_null(strstr(text, "--settings lists"));
}

static void
settings_are_all_public_ones_of_workers(void **state)
{
    const char *text = text_of(state, "--settings");
    char line[LIMIT_NAME];

    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting *row = setting_row((enum setting_id)i);
        const bool is_workers =
            (row->users & SETTING_USER_WORKER) && !row->is_internal;

        snprintf(line, sizeof(line), "\n  %s=%s", row->environment,
                 row->placeholder);
        /* Both have a HOOP_LOG. */
        if ((strstr(text, line) != NULL) != is_workers &&
            i != SETTING_LOG_LEVEL)
            fail_msg("%s: %s", row->environment, text);
    }
    assert_non_null(strstr(text, "(default auto)"));
    assert_non_null(strstr(text, "itself sets HOOP_COORDINATOR"));
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(help_names_settings_of_workers_and_their_list,
                                  program_teardown),
        cmocka_unit_test_teardown(settings_are_all_public_ones_of_workers,
                                  program_teardown),
    };

    if (argc != 2)
        return 2;
    hooprun = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
