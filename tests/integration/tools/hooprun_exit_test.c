/*
 * tests/integration/tools/hooprun_exit_test.c - how hooprun ends the other
 * workers
 *
 * Arguments: hooprun, and steady, which reduces until a file exists. The other
 * workers are shells.
 */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "integration/program.h"
#include "temporary.h"

static const char *const continuing[] = {"-n", "3", "--on-exit=continue", NULL};

/*
 * Rank 1 fails. The others continue until rank 0 has seen in the file of
 * endings that hooprun knows it, and then for longer than workers that hooprun
 * ends may take.
 */
static const char outliving_script[] =
    "[ $HOOP_RANK = 1 ] && exit 3; "
    "until grep -q 'rank 1 ended' $HOOP_ENDINGS; do sleep 0.01; done; "
    "trap 'exit 5' TERM; for i in 1 2 3 4 5 6; do sleep 0.5; done; "
    "echo rank $HOOP_RANK has ended well";

static void
others_are_left_when_told_so(void **state)
{
    assert_int_equal(launcher_code(state, continuing, outliving_script), 0);
    assert_non_null(strstr(out_of(state), "[0] rank 0 has ended well\n"));
    assert_non_null(strstr(out_of(state), "[2] rank 2 has ended well\n"));
    assert_non_null(
        strstr(err_of(state), ") exited with code 3; the others go on\n"));
}

static void
others_are_left_where_calls_are_tried_again(void **state)
{
    assert_int_equal(setenv("HOOP_ON_FAILURE", "retry", 1), 0);
    const int code = launcher_code(state, launcher_three, outliving_script);
    assert_int_equal(unsetenv("HOOP_ON_FAILURE"), 0);
    assert_int_equal(code, 0);
    assert_non_null(strstr(out_of(state), "[0] rank 0 has ended well\n"));
}

static void
others_are_left_where_an_exported_variable_says_so(void **state)
{
    static const char *const exporting[] = {"-n", "3", "-x",
                                            "HOOP_ON_FAILURE=retry", NULL};

    assert_int_equal(launcher_code(state, exporting, outliving_script), 0);
    assert_non_null(strstr(out_of(state), "[0] rank 0 has ended well\n"));
}

static void
others_are_ended_where_calls_are_tried_again_but_told_so(void **state)
{
    static const char *const ending[] = {"-n", "3", "--on-exit", "end", NULL};

    assert_int_equal(setenv("HOOP_ON_FAILURE", "retry", 1), 0);
    const int code = launcher_code(state, ending,
                                   "[ $HOOP_RANK = 1 ] && exit 3; "
                                   "exec sleep 3600");
    assert_int_equal(unsetenv("HOOP_ON_FAILURE"), 0);
    assert_int_equal(code, 3);
}

/* Rank 2 fails when it knows that rank 1 has failed. */
static void
failures_that_nobody_outlives_count(void **state)
{
    assert_int_equal(
        launcher_code(state, continuing,
                      "case $HOOP_RANK in 0) exit 0;; "
                      "1) until grep -q 'rank 0 ended' $HOOP_ENDINGS; do "
                      "sleep 0.01; done; exit 4;; "
                      "2) until grep -q 'rank 1 ended' $HOOP_ENDINGS; do "
                      "sleep 0.01; done; kill -9 $$;; esac"),
        4);
}

/* After rank 1 has failed, rank 0 prints so much that the failure scrolls out
 * of sight. */
static void
first_failure_is_told_again_with_its_last_lines(void **state)
{
    static const char *const patient[] = {"-n", "2", "--grace", "3600", NULL};

    assert_int_equal(
        launcher_code(state, patient,
                      "if [ $HOOP_RANK = 1 ]; then echo one; echo two; "
                      "echo three >&2; echo why >&2; exit 3; fi; "
                      "trap '' TERM; "
                      "until grep -q 'rank 1 ended' $HOOP_ENDINGS; do "
                      "sleep 0.01; done; seq 20"),
        3);

    const char *again = strstr(err_of(state), "hooprun: first of all rank 1 ");
    assert_non_null(again);
    assert_non_null(
        strstr(again, ") exited with code 3; its last lines:\n[1] "));
    assert_non_null(strstr(again, "[1] why\n"));
    assert_null(strstr(again, "[1] one\n"));
}

static void
first_failure_in_sight_is_told_once(void **state)
{
    assert_int_equal(launcher_code(state, launcher_three,
                                   "[ $HOOP_RANK = 1 ] && echo why && exit 3; "
                                   "exec sleep 3600"),
                     3);
    assert_null(strstr(err_of(state), "first of all"));
}

/* Rank 1 fails, and therefore all others fail, too. */
static void
what_many_complain_of_alike_is_told_once(void **state)
{
    static const char *const many[] = {"-n", "24", NULL};

    assert_int_equal(
        launcher_code(state, many,
                      "[ $HOOP_RANK = 1 ] && exit 3; "
                      "until grep -q 'rank 1 ended' $HOOP_ENDINGS; do "
                      "sleep 0.01; done; "
                      "echo \"result $HOOP_RANK\"; "
                      "echo \"rank 1 (vm:$$) is lost\" >&2; exit 1"),
        3);

    const char *line = strstr(err_of(state), "] rank 1 (vm:");
    assert_non_null(line);
    assert_null(strstr(line + 1, "] rank 1 (vm:"));
    line = strstr(err_of(state), " like: rank 1 (vm:");
    assert_non_null(line);
    assert_non_null(strstr(err_of(state), ", from rank"));
    assert_non_null(strstr(err_of(state), "rank 1 (pid "));
    assert_non_null(strstr(out_of(state), "[0] result 0\n"));
    assert_non_null(strstr(out_of(state), "[23] result 23\n"));
}

static void
restarted_workers_may_succeed(void **state)
{
    static const char *const twice[] = {"-n", "3", "--on-exit=restart=2", NULL};

    assert_int_equal(
        launcher_code(state, twice,
                      "echo try $TORCHELASTIC_RESTART_COUNT; "
                      "[ $TORCHELASTIC_RESTART_COUNT = 2 ] && exit 0; "
                      "[ $HOOP_RANK = 1 ] && exit 3; exec sleep 3600"),
        0);
    for (int rank = 0; rank < 3; rank++) {
        for (int i = 0; i < 3; i++) {
            char line[32];

            snprintf(line, sizeof(line), "[%d] try %d\n", rank, i);
            if (rank == 1 || i == 2)
                assert_non_null(strstr(out_of(state), line));
        }
    }
    assert_non_null(strstr(err_of(state), "restart 1 of 2\n"));
    assert_non_null(strstr(err_of(state), "restart 2 of 2\n"));
}

static void
restarts_are_counted(void **state)
{
    static const char *const once[] = {"-n", "2", "--on-exit=restart=1", NULL};

    assert_int_equal(launcher_code(state, once,
                                   "[ $HOOP_RANK = 1 ] || exec sleep 3600; "
                                   "exit $((3 + TORCHELASTIC_RESTART_COUNT))"),
                     4);
}

static void
restart_is_none_after_a_signal(void **state)
{
    static const char *const many[] = {"-n", "2", "--on-exit=restart", NULL};
    struct program *program =
        launcher_start(many, "echo ready; exec sleep 3600");

    *state = program;
    program_await(program, "[0] ready\n");
    program_await(program, "[1] ready\n");
    kill(program->pid, SIGTERM);
    assert_int_equal(program_wait(program), 128 + SIGTERM);
}

static void
what_becomes_of_others_is_one_of_three(void **state)
{
    static const char *const cases[] = {"", "stop", "restart=", "restart=x",
                                        "continue=1"};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const options[] = {"-n", "1", "--on-exit", cases[i], NULL};

        assert_int_equal(launcher_code(state, options, "true"), 64);
        assert_non_null(strstr(err_of(state), "--on-exit"));
        program_teardown(state);
    }
}

/* The cases below stop a job and continue it. */

static const char *steady;

enum {
    N_RANKS = 3,
    /* This is longer than it takes until a silent rank is lost. */
    STOPPED_MS = 6000,
    DEADLINE_MS = 100000,
};

/* Rank 0 removes the mark between two of its calls. */
static void
call_await(const char *folder)
{
    const uint64_t deadline_ns = clock_deadline_ns(DEADLINE_MS);
    char path[64];

    event_happens(folder, "stop.mark");
    snprintf(path, sizeof(path), "%s/stop.mark", folder);
    while (access(path, F_OK) == 0) {
        assert_false(clock_is_past(deadline_ns));
        poll(NULL, 0, 5);
    }
}

static pid_t
pid_await(struct program *program, int rank)
{
    char text[32];

    snprintf(text, sizeof(text), "[%d] pid ", rank);
    program_await(program, text);
    return atoi(strstr(program->out.text, text) + strlen(text));
}

static void
hooprun_stopped_and_continued_job_goes_on(void **state)
{
    char folder[TEMPORARY_PATH] = "hooprun_stop.XXXXXX";
    char script[1024];
    const char *const arguments[] = {launcher, "-n",   "3", "sh",
                                     "-c",     script, NULL};

    assert_non_null(temporary_folder(folder, sizeof(folder)));
    snprintf(script, sizeof(script), "echo pid $$ and; exec %s %s/stop", steady,
             folder);
    struct program *program = program_start_group(arguments);

    *state = program;
    for (int rank = 0; rank < N_RANKS; rank++)
        pid_await(program, rank);
    call_await(folder);

    kill(program->pid, SIGTSTP);
    process_await_stop(program->pid);
    for (int rank = 0; rank < N_RANKS; rank++)
        process_await_stop(pid_await(program, rank));
    poll(NULL, 0, STOPPED_MS);

    kill(program->pid, SIGCONT);
    call_await(folder);
    event_happens(folder, "stop");
    assert_int_equal(program_wait(program), 0);
    assert_string_equal(program->err.text, "");

    snprintf(script, sizeof(script), "rm -r %s", folder);
    assert_int_equal(system(script), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(others_are_left_when_told_so, program_teardown),
    cmocka_unit_test_teardown(others_are_left_where_calls_are_tried_again,
                              program_teardown),
    cmocka_unit_test_teardown(
        others_are_left_where_an_exported_variable_says_so,
        program_teardown),
    cmocka_unit_test_teardown(
        others_are_ended_where_calls_are_tried_again_but_told_so,
        program_teardown),
    cmocka_unit_test_teardown(failures_that_nobody_outlives_count,
                              program_teardown),
    cmocka_unit_test_teardown(first_failure_is_told_again_with_its_last_lines,
                              program_teardown),
    cmocka_unit_test_teardown(first_failure_in_sight_is_told_once,
                              program_teardown),
    cmocka_unit_test_teardown(what_many_complain_of_alike_is_told_once,
                              program_teardown),
    cmocka_unit_test_teardown(restarted_workers_may_succeed, program_teardown),
    cmocka_unit_test_teardown(restarts_are_counted, program_teardown),
    cmocka_unit_test_teardown(restart_is_none_after_a_signal, program_teardown),
    cmocka_unit_test_teardown(what_becomes_of_others_is_one_of_three,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_stopped_and_continued_job_goes_on,
                              program_teardown),
};

int
main(int argc, char **argv)
{
    if (argc < 3)
        return EXIT_FAILURE;
    launcher = argv[1];
    steady = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
