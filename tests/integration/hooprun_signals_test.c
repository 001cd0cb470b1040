/*
 * tests/integration/hooprun_signals_test.c - hooprun and the signals of others
 *
 * The first argument is hooprun. Its workers are shells.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "integration/launcher.h"

/* hooprun -n 2 sh -c script, started with the signal ignored. */
static struct program *
ignoring_start(const char *signal_name, const char *script)
{
    char ignore[64];
    const char *const arguments[] = {"env", ignore, launcher, "-n", "2",
                                     "sh",  "-c",   script,   NULL};

    snprintf(ignore, sizeof(ignore), "--ignore-signal=%s", signal_name);
    return program_start(arguments, NULL);
}

/* The kernel reaps what its parent does not want to hear of. */
static void
hooprun_under_ignored_sigchld_ends_with_the_code(void **state)
{
    struct program *program =
        ignoring_start("CHLD", "[ $HOOP_RANK = 1 ] && exit 3; exec sleep 60");

    *state = program;
    assert_int_equal(program_wait(program), 3);
    assert_non_null(strstr(err_of(state), "hooprun: rank 1 (pid "));
    assert_non_null(strstr(err_of(state), ") exited with code 3\n"));
}

/* So that they can wait for what they start. */
static void
hooprun_workers_do_not_inherit_ignored_sigchld(void **state)
{
    struct program *program =
        ignoring_start("CHLD", "grep -q '^SigIgn:.*[13579bdf]....$' "
                               "/proc/$$/status && exit 4; exit 0");

    *state = program;
    assert_int_equal(program_wait(program), 0);
}

/* hooprun ignores SIGXFSZ for itself only. */
static void
hooprun_workers_keep_the_action_for_sigxfsz(void **state)
{
    static const char script[] =
        "grep -q '^SigIgn:.*[13579bdf]......$' /proc/$$/status && exit 4; "
        "exit 0";

    assert_int_equal(launcher_code(state, launcher_three, script), 0);
    program_teardown(state);

    struct program *program = ignoring_start("XFSZ", script);
    *state = program;
    assert_int_equal(program_wait(program), 4);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(hooprun_under_ignored_sigchld_ends_with_the_code,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_workers_do_not_inherit_ignored_sigchld,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_workers_keep_the_action_for_sigxfsz,
                              program_teardown),
};

int
main(int argc, char **argv)
{
    if (argc < 2)
        return EXIT_FAILURE;
    launcher = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
