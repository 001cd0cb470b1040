/*
 * tests/integration/tools/hooprun_signals_test.c - signals that hooprun gets
 *
 * The first argument is hooprun. The workers are shells.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "integration/program.h"

/* Starts hooprun -n 2 sh -c script with the signal ignored. */
static struct program *
ignoring_start(const char *signal_name, const char *script)
{
    char ignore[64];
    const char *const arguments[] = {"env", ignore, launcher, "-n", "2",
                                     "sh",  "-c",   script,   NULL};

    snprintf(ignore, sizeof(ignore), "--ignore-signal=%s", signal_name);
    return program_start(arguments, NULL);
}

/* If a parent ignores SIGCHLD, the kernel reaps its children. */
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

/* Workers need SIGCHLD to wait for their own children. */
static void
hooprun_workers_do_not_inherit_ignored_sigchld(void **state)
{
    struct program *program =
        ignoring_start("CHLD", "grep -q '^SigIgn:.*[13579bdf]....$' "
                               "/proc/$$/status && exit 4; exit 0");

    *state = program;
    assert_int_equal(program_wait(program), 0);
}

/* hooprun ignores SIGXFSZ only for itself. */
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

/* A shell without job control lets its background processes ignore these
 * signals. */
static void
hooprun_workers_do_not_inherit_ignored_sigint(void **state)
{
    struct program *program = ignoring_start(
        "INT,QUIT",
        "grep -q '^SigIgn:.*[2-7a-f]$' /proc/$$/status && exit 4; exit 0");

    *state = program;
    assert_int_equal(program_wait(program), 0);
}

/* Each signal is followed by its own grace time. */
static void
hooprun_sigint_is_followed_by_sigterm(void **state)
{
    static const char *const grace[] = {"-n", "2", "--grace", "10", NULL};
    struct program *program = launcher_start(
        grace, "trap 'echo no' INT; trap 'echo ends; exit 3' TERM; "
               "echo ready; while :; do sleep 0.1; done");

    *state = program;
    program_await(program, "[0] ready\n");
    program_await(program, "[1] ready\n");
    kill(program->pid, SIGINT);
    assert_int_equal(program_wait(program), 128 + SIGINT);
    for (int rank = 0; rank < 2; rank++) {
        char line[32];

        snprintf(line, sizeof(line), "[%d] ends\n", rank);
        assert_non_null(strstr(out_of(state), line));
    }
    assert_non_null(strstr(err_of(state),
                           "sending SIGTERM to what did not end "
                           "by itself within 10 s: ranks 0, 1\n"));
}

static void
hooprun_sigterm_is_followed_by_sigkill(void **state)
{
    static const char *const grace[] = {"-n", "2", "--grace", "1", NULL};
    struct program *program =
        launcher_start(grace, "trap '' INT TERM; echo ready; "
                              "while :; do sleep 0.1; done");

    *state = program;
    program_await(program, "[0] ready\n");
    program_await(program, "[1] ready\n");
    kill(program->pid, SIGINT);
    assert_int_equal(program_wait(program), 128 + SIGINT);

    const char *term = strstr(err_of(state), "sending SIGTERM to what did not");
    assert_non_null(term);
    assert_non_null(strstr(term, "killing what did not end by itself within "
                                 "1 s: ranks 0, 1\n"));
}

enum {
    N_RANKS = 3,
};

/* What each rank has started, in its process group and outside of it, and the
 * parent of the ranks. */
struct descendants {
    pid_t child[N_RANKS];
    pid_t away[N_RANKS];
    pid_t parent;
};

static const char descendants_script[] =
    "sleep 3600 & child=$!; setsid sleep 3600 & "
    "echo child $child away $! parent $PPID; wait; true";

static void
descendants_await(struct program *program, struct descendants *out)
{
    for (int rank = 0; rank < N_RANKS; rank++) {
        char text[32];

        snprintf(text, sizeof(text), "[%d] child ", rank);
        program_await(program, text);

        const char *line = strstr(program->out.text, text);

        assert_int_equal(sscanf(line + strlen(text), "%d away %d parent %d",
                                &out->child[rank], &out->away[rank],
                                &out->parent),
                         3);
        assert_true(process_is_alive(out->child[rank]));
        assert_true(process_is_alive(out->away[rank]));
    }
}

static void
descendants_await_end(const struct descendants *started)
{
    for (int rank = 0; rank < N_RANKS; rank++) {
        process_await_end(started->child[rank]);
        process_await_end(started->away[rank]);
    }
}

static void
hooprun_killed_takes_what_its_workers_started_along(void **state)
{
    struct program *program =
        launcher_start(launcher_three, descendants_script);
    struct descendants started;

    *state = program;
    descendants_await(program, &started);
    kill(program->pid, SIGKILL);
    descendants_await_end(&started);
    assert_int_equal(program_wait(program), PROGRAM_KILLED + SIGKILL);
}

static void
hooprun_ends_what_its_killed_agent_leaves(void **state)
{
    struct program *program =
        launcher_start(launcher_three, descendants_script);
    struct descendants started;

    *state = program;
    descendants_await(program, &started);
    kill(started.parent, SIGKILL);
    descendants_await_end(&started);
    assert_int_equal(program_wait(program), 128 + SIGKILL);
    assert_non_null(strstr(err_of(state), ") was killed by signal 9; the "
                                          "workers were ended\n"));
}

/* The whole process group is killed, as shells do with jobs. */
static void
hooprun_killed_as_a_group_takes_all_along(void **state)
{
    const char *const arguments[] = {launcher,           "-n", "3", "sh", "-c",
                                     descendants_script, NULL};
    struct program *program = program_start_group(arguments);
    struct descendants started;

    *state = program;
    descendants_await(program, &started);
    kill(-program->pid, SIGKILL);
    descendants_await_end(&started);
    assert_int_equal(program_wait(program), PROGRAM_KILLED + SIGKILL);
}

static void
hooprun_ended_ends_what_left_the_groups_of_its_workers(void **state)
{
    struct program *program =
        launcher_start(launcher_three, descendants_script);
    struct descendants started;

    *state = program;
    descendants_await(program, &started);
    kill(program->pid, SIGTERM);
    descendants_await_end(&started);
    assert_int_equal(program_wait(program), 128 + SIGTERM);
}

/* Types a key at the other end of the terminal. */
static void
terminal_type(struct program *program, char key)
{
    assert_int_equal(write(program->out.fd, &key, 1), 1);
}

static const char interrupt_script[] =
    "trap 'echo int; exit 0' INT; echo ready; while :; do sleep 0.1; done";

static struct program *
terminal_start(void)
{
    const char *const arguments[] = {launcher,         "-n", "2", "sh", "-c",
                                     interrupt_script, NULL};
    struct program *program = program_start_on_terminal(arguments);

    program_await(program, "[0] ready\r\n");
    program_await(program, "[1] ready\r\n");
    return program;
}

static void
hooprun_control_c_reaches_all_workers(void **state)
{
    struct program *program = terminal_start();

    *state = program;
    terminal_type(program, 'C' - '@');
    assert_int_equal(program_wait(program), 0);
    assert_non_null(strstr(out_of(state), "[0] int\r\n"));
    assert_non_null(strstr(out_of(state), "[1] int\r\n"));
}

/* No shell could continue the processes, so the kernel does not stop them. */
static void
hooprun_without_a_shell_goes_on_after_control_z(void **state)
{
    struct program *program = terminal_start();

    *state = program;
    terminal_type(program, 'Z' - '@');
    terminal_type(program, 'C' - '@');
    assert_int_equal(program_wait(program), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(hooprun_under_ignored_sigchld_ends_with_the_code,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_workers_do_not_inherit_ignored_sigchld,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_workers_keep_the_action_for_sigxfsz,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_workers_do_not_inherit_ignored_sigint,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_sigint_is_followed_by_sigterm,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_sigterm_is_followed_by_sigkill,
                              program_teardown),
    cmocka_unit_test_teardown(
        hooprun_killed_takes_what_its_workers_started_along,
        program_teardown),
    cmocka_unit_test_teardown(hooprun_ends_what_its_killed_agent_leaves,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_killed_as_a_group_takes_all_along,
                              program_teardown),
    cmocka_unit_test_teardown(
        hooprun_ended_ends_what_left_the_groups_of_its_workers,
        program_teardown),
    cmocka_unit_test_teardown(hooprun_control_c_reaches_all_workers,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_without_a_shell_goes_on_after_control_z,
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
