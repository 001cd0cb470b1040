/*
 * tests/integration/tools/hooprun_test.c - hooprun with shells as workers
 *
 * The first argument is hooprun. No worker joins a job here, since only the
 * launcher is tested.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/settings.h"
#include "check.h"
#include "integration/program.h"
#include "temporary.h"

static void
hooprun_good_workers_exit_zero(void **state)
{
    assert_int_equal(launcher_code(state, launcher_three, "exit 0"), 0);
    assert_string_equal(out_of(state), "");
    assert_string_equal(err_of(state), "");
}

static void
hooprun_lines_carry_their_rank(void **state)
{
    assert_int_equal(launcher_code(state, launcher_three,
                                   "echo to out; echo to err >&2; "
                                   "printf 'no newline'"),
                     0);
    for (int rank = 0; rank < 3; rank++) {
        char line[64];

        snprintf(line, sizeof(line), "[%d] to out\n", rank);
        assert_non_null(strstr(out_of(state), line));
        snprintf(line, sizeof(line), "[%d] no newline\n", rank);
        assert_non_null(strstr(out_of(state), line));
        snprintf(line, sizeof(line), "[%d] to err\n", rank);
        assert_non_null(strstr(err_of(state), line));
    }
}

static void
hooprun_one_worker_is_verbatim(void **state)
{
    static const char *const one[] = {"-n", "1", NULL};

    assert_int_equal(launcher_code(state, one, "printf 'a\\rb'; echo c >&2"),
                     0);
    assert_string_equal(out_of(state), "a\rb");
    assert_string_equal(err_of(state), "c\n");
}

static void
hooprun_no_prefix_is_verbatim(void **state)
{
    static const char *const plain[] = {"-n", "2", "--no-prefix", NULL};

    assert_int_equal(launcher_code(state, plain, "echo same"), 0);
    assert_string_equal(out_of(state), "same\nsame\n");
}

static void
hooprun_environment_says_how_to_join(void **state)
{
    static const char *const job[] = {"-n", "2", "--job", "night", NULL};

    assert_int_equal(
        launcher_code(state, job,
                      "echo $HOOP_RANK $HOOP_LOCAL_RANK $HOOP_WORLD_SIZE "
                      "$HOOP_JOB ${HOOP_COORDINATOR%:*} ${#HOOP_TOKEN}"),
        0);
    assert_non_null(strstr(out_of(state), "[0] 0 0 2 night 127.0.0.1 64\n"));
    assert_non_null(strstr(out_of(state), "[1] 1 1 2 night 127.0.0.1 64\n"));
}

/* There is no warning if the variable has the same value, if an option sets it,
 * or if another hooprun has set it. */
static void
hooprun_overruled_environment_is_told(void **state)
{
    static const char *const given[] = {"-n", "3", "-c", "127.0.0.1:9", NULL};
    static const char script[] =
        "echo $HOOP_RANK $HOOP_WORLD_SIZE ${HOOP_COORDINATOR##*:}";

    assert_int_equal(setenv("HOOP_COORDINATOR", "node0:4667", 1), 0);
    assert_int_equal(setenv("HOOP_RANK", "5", 1), 0);
    assert_int_equal(setenv("HOOP_WORLD_SIZE", "8", 1), 0);
    const int code = launcher_code(state, launcher_three, script);
    char *said = strdup(err_of(state));
    assert_non_null(strstr(out_of(state), "[2] 2 3 "));
    assert_null(strstr(out_of(state), " 4667\n"));
    program_teardown(state);

    assert_int_equal(unsetenv("HOOP_RANK"), 0);
    assert_int_equal(setenv("HOOP_WORLD_SIZE", "3", 1), 0);
    const int code_given = launcher_code(state, given, script);
    assert_string_equal(err_of(state), "");
    assert_non_null(strstr(out_of(state), "[2] 2 3 9\n"));
    program_teardown(state);

    assert_int_equal(setenv("HOOP_WORLD_SIZE", "2", 1), 0);
    const int code_fewer = launcher_code(state, given, script);
    assert_string_equal(
        err_of(state),
        "hooprun: HOOP_WORLD_SIZE=2 is not used: there are 3 workers\n");
    program_teardown(state);

    assert_int_equal(setenv("HOOP_ENDINGS", "/nosuch", 1), 0);
    const int code_inside = launcher_code(state, launcher_three, script);
    assert_int_equal(unsetenv("HOOP_ENDINGS"), 0);
    assert_int_equal(unsetenv("HOOP_COORDINATOR"), 0);
    assert_int_equal(unsetenv("HOOP_WORLD_SIZE"), 0);
    assert_string_equal(err_of(state), "");
    assert_int_equal(code + code_given + code_fewer + code_inside, 0);
    assert_string_equal(
        said,
        "hooprun: HOOP_COORDINATOR=node0:4667 is not used: this run has a "
        "coordinator of its own; --coordinator uses another\n"
        "hooprun: HOOP_RANK=5 is not used: each worker has a rank of its own\n"
        "hooprun: HOOP_WORLD_SIZE=8 is not used: there are 3 workers; for "
        "ranks on several hosts use --hosts, once\n");
    free(said);
}

/* The variables are those that torchrun and Open MPI set. */
static void
hooprun_environment_is_that_of_other_launchers(void **state)
{
    static const char *const nodes[] = {"-n", "3", "--nodes", "2", NULL};

    assert_int_equal(unsetenv("OMP_NUM_THREADS"), 0);
    assert_int_equal(
        launcher_code(
            state, nodes,
            "echo $RANK $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE "
            "$OMP_NUM_THREADS $TORCHELASTIC_RESTART_COUNT; "
            "echo mpi $OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE "
            "$OMPI_COMM_WORLD_LOCAL_RANK $OMPI_COMM_WORLD_LOCAL_SIZE; "
            "echo at $MASTER_ADDR; [ $MASTER_PORT -gt 0 ]"),
        0);
    assert_non_null(strstr(out_of(state), "[0] 0 3 0 2 1 0\n"));
    assert_non_null(strstr(out_of(state), "[1] 1 3 1 2 1 0\n"));
    assert_non_null(strstr(out_of(state), "[2] 2 3 0 1 1 0\n"));
    assert_non_null(strstr(out_of(state), "[1] mpi 1 3 1 2\n"));
    assert_non_null(strstr(out_of(state), "[2] mpi 2 3 0 1\n"));
    assert_non_null(strstr(out_of(state), "[0] at 127.0.0.1\n"));
}

static void
hooprun_exported_variables_are_those_of_workers(void **state)
{
    static const char *const own[] = {
        "-n",   "2",  "-x",      "NAMED=a b=c",      "-x",
        "HOME", "-x", "LATER=1", "--export=LATER=2", NULL};

    assert_int_equal(launcher_code(state, own, "echo $NAMED, ${#HOME}, $LATER"),
                     0);
    assert_non_null(strstr(out_of(state), "[1] a b=c, "));
    assert_non_null(strstr(out_of(state), ", 2\n"));
}

static void
hooprun_job_may_be_an_exported_variable(void **state)
{
    static const char *const other[] = {"-n", "2", "-x", "HOOP_JOB=other",
                                        NULL};
    static const char *const told[] = {"-n",    "2",    "-x", "HOOP_JOB=other",
                                       "--job", "told", NULL};

    assert_int_equal(launcher_code(state, other, "echo $HOOP_JOB"), 0);
    assert_non_null(strstr(out_of(state), "[1] other\n"));
    program_teardown(state);
    assert_int_equal(launcher_code(state, told, "echo $HOOP_JOB"), 0);
    assert_non_null(strstr(out_of(state), "[1] told\n"));
}

/* The error appears once, and not for each worker. */
static void
hooprun_folder_that_is_missing_is_told_of_once(void **state)
{
    static const char *const missing[] = {"-n", "3", "--wdir", "/nosuch", NULL};

    assert_int_equal(launcher_code(state, missing, "true"), 126);
    assert_string_equal(
        err_of(state),
        "hooprun: cannot enter /nosuch (--wdir): No such file or directory\n");
}

static void
hooprun_threads_that_are_asked_for_are_kept(void **state)
{
    assert_int_equal(setenv("OMP_NUM_THREADS", "7", 1), 0);
    const int code =
        launcher_code(state, launcher_three, "[ $OMP_NUM_THREADS = 7 ]");
    assert_int_equal(unsetenv("OMP_NUM_THREADS"), 0);
    assert_int_equal(code, 0);
}

static void
hooprun_token_is_another_each_time(void **state)
{
    static const char *const one[] = {"-n", "1", NULL};
    char first[64];

    assert_int_equal(launcher_code(state, one, "echo $HOOP_TOKEN"), 0);
    assert_int_equal(strlen(out_of(state)), sizeof(first) + 1);
    memcpy(first, out_of(state), sizeof(first));
    program_teardown(state);
    assert_int_equal(launcher_code(state, one, "echo $HOOP_TOKEN"), 0);
    assert_memory_not_equal(first, out_of(state), sizeof(first));
}

static void
hooprun_nodes_are_of_consecutive_ranks(void **state)
{
    static const char *const two[] = {"-n", "5", "--nodes", "2", NULL};
    static const char *const many[] = {"-n", "2", "--nodes", "3", NULL};
    static const char *const none[] = {"-n", "2", "--nodes", "0", NULL};

    assert_int_equal(
        launcher_code(state, two, "echo ${HOOP_NODE##*/} $HOOP_LOCAL_RANK"), 0);
    assert_non_null(strstr(out_of(state), "[0] 0 0\n"));
    assert_non_null(strstr(out_of(state), "[2] 0 2\n"));
    assert_non_null(strstr(out_of(state), "[3] 1 0\n"));
    assert_non_null(strstr(out_of(state), "[4] 1 1\n"));
    program_teardown(state);
    assert_int_equal(launcher_code(state, many, "true"), 64);
    program_teardown(state);
    assert_int_equal(launcher_code(state, none, "true"), 64);
}

static void
hooprun_given_coordinator_is_passed_on(void **state)
{
    static const char *const given[] = {"-n", "1", "--coordinator", "head:7000",
                                        NULL};

    setenv("HOOP_TOKEN", "mine", 1);
    const int code = launcher_code(state, given,
                                   "echo $HOOP_COORDINATOR "
                                   "$HOOP_TOKEN");
    unsetenv("HOOP_TOKEN");
    assert_int_equal(code, 0);
    assert_string_equal(out_of(state), "head:7000 mine\n");
}

static void
hooprun_stdin_is_rank_zeros(void **state)
{
    const char *const arguments[] = {launcher, "-n", "3", "cat", NULL};
    struct program *program = program_start(arguments, "one\ntwo\n");

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_string_equal(out_of(state), "[0] one\n[0] two\n");
}

static void
hooprun_progress_off_terminal_leaves_its_last_state(void **state)
{
    assert_int_equal(
        launcher_code(state, launcher_three,
                      "[ $HOOP_RANK = 0 ] || exit 0; "
                      "printf '\\rstep 1\\rstep 2\\rready\\n' >&2"),
        0);
    assert_string_equal(err_of(state), "[0] ready\n");
}

/* On a terminal the progress line is drawn, erased for another line, and drawn
 * again. */
static void
hooprun_progress_on_terminal_stays_below_lines(void **state)
{
    char folder[TEMPORARY_PATH] = "hooprun_test.XXXXXX";
    char script[512];
    const char *const arguments[] = {launcher, "-n",   "2", "sh",
                                     "-c",     script, NULL};

    assert_non_null(temporary_folder(folder, sizeof(folder)));
    snprintf(script, sizeof(script),
             "after() { until [ -e %s/$1 ]; do sleep 0.01; done; }; "
             "if [ $HOOP_RANK = 0 ]; then"
             " echo asked $HOOP_PROGRESS; printf '\\rstep 1' >&2; "
             " after line; printf '\\rready\\n' >&2; "
             "else after step; echo a line; fi",
             folder);
    struct program *program = program_start_on_terminal(arguments);

    *state = program;
    program_await(program, "[0] step 1\033[K");
    event_happens(folder, "step");
    program_await(program, "[1] a line\r\n\r[0] step 1\033[K");
    event_happens(folder, "line");
    assert_int_equal(program_wait(program), 0);
    assert_non_null(strstr(out_of(state), "[0] asked 1\r\n"));
    assert_non_null(strstr(out_of(state),
                           "\r[0] step 1\033[K\r\033[K[1] a line\r\n"
                           "\r[0] step 1\033[K"));
    assert_non_null(strstr(out_of(state), "\r\033[K[0] ready\r\n"));
    snprintf(script, sizeof(script), "rm -r %s", folder);
    assert_int_equal(system(script), 0);
}

static void
hooprun_failing_code_is_passed_and_named(void **state)
{
    assert_int_equal(
        launcher_code(state, launcher_three,
                      "[ $HOOP_RANK = 1 ] && exit 3; exec sleep 60"),
        3);
    assert_non_null(strstr(err_of(state), "hooprun: rank 1 (pid "));
    assert_non_null(strstr(err_of(state), ") exited with code 3\n"));
}

static void
hooprun_killed_worker_is_named_with_its_signal(void **state)
{
    assert_int_equal(
        launcher_code(state, launcher_three,
                      "[ $HOOP_RANK = 2 ] && kill -9 $$; exec sleep 60"),
        128 + SIGKILL);
    assert_non_null(strstr(err_of(state), "hooprun: rank 2 (pid "));
    assert_non_null(
        strstr(err_of(state), ") was killed by signal 9 (Killed)\n"));
    /* hooprun has ended the other workers, which is not worth a report. */
    assert_null(strstr(err_of(state), "rank 0"));
    assert_null(strstr(err_of(state), "rank 1"));
}

/*
 * hooprun is stopped while the workers end, so that it sees both ends at the
 * same time. Rank 2 ends first, by end2. Then rank 1, which was started before
 * it, ends by end1.
 */
static int
ends_code(void **state, const char *end2, const char *end1)
{
    char folder[TEMPORARY_PATH] = "hooprun-ends.XXXXXX";
    char script[2048];

    assert_non_null(temporary_folder(folder, sizeof(folder)));
    snprintf(script, sizeof(script),
             "cd %s; is_dead() { [ -s $1 ] && "
             "grep -q ' Z ' /proc/$(cat $1)/stat; }; "
             "echo $$ > new$HOOP_RANK; mv new$HOOP_RANK $HOOP_RANK; "
             "case $HOOP_RANK in "
             "0) while ! [ -s 1 -a -s 2 ]; do sleep 0.01; done; "
             "kill -STOP $PPID; touch go; "
             "while ! is_dead 1; do sleep 0.01; done; kill -CONT $PPID; "
             "exec sleep 60;; "
             "1) while ! is_dead 2; do sleep 0.01; done; %s;; "
             "2) while ! [ -e go ]; do sleep 0.01; done; %s;; esac",
             folder, end1, end2);
    const int code = launcher_code(state, launcher_three, script);

    snprintf(script, sizeof(script), "rm -r %s", folder);
    assert_int_equal(system(script), 0);
    return code;
}

static void
first_is_named_before(void **state, const char *first, const char *later)
{
    const char *one = strstr(err_of(state), first);
    const char *other = strstr(err_of(state), later);

    assert_non_null(one);
    assert_non_null(other);
    assert_true(one < other);
}

static void
hooprun_first_exit_is_named_first(void **state)
{
    assert_int_equal(ends_code(state, "exit 3", "exit 7"), 3);
    first_is_named_before(state, "hooprun: rank 2 (pid ",
                          "hooprun: then rank 1 (pid ");
    assert_non_null(strstr(err_of(state), ") exited with code 7\n"));
}

static void
hooprun_first_of_two_killed_is_named_first(void **state)
{
    assert_int_equal(ends_code(state, "kill -9 $$", "kill -11 $$"),
                     128 + SIGKILL);
    first_is_named_before(state, "hooprun: rank 2 (pid ",
                          "hooprun: then rank 1 (pid ");
}

/* The exit is named first even if a signal, which is often the cause, follows
 * at once. */
static void
hooprun_exit_before_a_signal_is_named_first(void **state)
{
    assert_int_equal(ends_code(state, "exit 5", "kill -9 $$"), 5);
    first_is_named_before(state, "hooprun: rank 2 (pid ",
                          "hooprun: then rank 1 (pid ");
}

static void
hooprun_survivors_may_still_report(void **state)
{
    assert_int_equal(launcher_code(state, launcher_three,
                                   "[ $HOOP_RANK = 1 ] && exit 3; sleep 0.5; "
                                   "echo I lost rank 1 >&2; exit 9"),
                     3);
    assert_non_null(strstr(err_of(state), "[0] I lost rank 1\n"));
    assert_non_null(strstr(err_of(state), "[2] I lost rank 1\n"));
}

static void
hooprun_stubborn_worker_is_killed_after_grace(void **state)
{
    static const char *const grace[] = {"-n", "2", "--grace", "1", NULL};

    assert_int_equal(launcher_code(state, grace,
                                   "[ $HOOP_RANK = 1 ] && exit 3; "
                                   "trap '' TERM; while :; do sleep 1; done"),
                     3);
    assert_non_null(strstr(err_of(state), "killing what did not end by "
                                          "itself within 1 s: rank 0\n"));
}

static void
hooprun_what_a_failed_worker_started_is_ended(void **state)
{
    assert_int_equal(launcher_code(state, launcher_three,
                                   "[ $HOOP_RANK = 1 ] || exec sleep 60; "
                                   "sleep 60 & echo child $!; exit 4"),
                     4);
    const char *child = strstr(out_of(state), "child ");
    assert_non_null(child);
    process_await_end(atoi(child + strlen("child ")));
}

static void
hooprun_killed_launcher_takes_workers_along(void **state)
{
    struct program *program = launcher_start(
        launcher_three, "echo worker $$ of $HOOP_RANK; exec sleep 60");
    pid_t pids[3];

    *state = program;
    for (int rank = 0; rank < 3; rank++) {
        char text[32];

        snprintf(text, sizeof(text), "[%d] worker ", rank);
        program_await(program, text);
        pids[rank] = atoi(strstr(out_of(state), text) + strlen(text));
        assert_true(process_is_alive(pids[rank]));
    }
    kill(program->pid, SIGKILL);
    for (int rank = 0; rank < 3; rank++)
        process_await_end(pids[rank]);
    assert_int_equal(program_wait(program), PROGRAM_KILLED + SIGKILL);
}

static void
hooprun_sigterm_is_passed_on(void **state)
{
    struct program *program = launcher_start(
        launcher_three, "trap 'echo got it; exit 5' TERM; echo ready; "
                        "while :; do sleep 0.1; done");

    *state = program;
    program_await(program, "[0] ready\n");
    program_await(program, "[1] ready\n");
    program_await(program, "[2] ready\n");
    kill(program->pid, SIGTERM);
    assert_int_equal(program_wait(program), 128 + SIGTERM);
    assert_non_null(strstr(out_of(state), "[0] got it\n"));
    assert_non_null(strstr(out_of(state), "[2] got it\n"));
    assert_non_null(strstr(err_of(state), "SIGTERM received"));
}

static void
hooprun_ignored_hangup_stays_ignored(void **state)
{
    const char *const arguments[] = {
        "/bin/sh", "-c", "trap '' HUP; exec \"$0\" \"$@\"", launcher, "-n", "2",
        "sh",      "-c", "echo ready; exec sleep 60",       NULL};
    struct program *program = program_start(arguments, NULL);

    *state = program;
    program_await(program, "[0] ready\n");
    program_await(program, "[1] ready\n");
    kill(program->pid, SIGHUP);
    kill(program->pid, SIGTERM);
    assert_int_equal(program_wait(program), 128 + SIGTERM);
    assert_null(strstr(err_of(state), "SIGHUP"));
}

static void
hooprun_workers_that_end_well_on_sigint_exit_zero(void **state)
{
    struct program *program =
        launcher_start(launcher_three, "trap 'exit 0' INT; echo ready; "
                                       "while :; do sleep 0.1; done");

    *state = program;
    program_await(program, "[0] ready\n");
    program_await(program, "[1] ready\n");
    program_await(program, "[2] ready\n");
    kill(program->pid, SIGINT);
    assert_int_equal(program_wait(program), 0);
}

static void
hooprun_timeout_ends_all(void **state)
{
    static const char *const timeout[] = {"-n", "2", "--timeout", "1", NULL};

    assert_int_equal(launcher_code(state, timeout, "exec sleep 60"), 124);
    assert_non_null(strstr(err_of(state), "not finished after 1 s"));
    assert_non_null(strstr(err_of(state), "ending ranks 0, 1\n"));
}

static void
hooprun_program_that_cannot_run_is_named(void **state)
{
    const char *const missing[] = {launcher, "-n", "2", "/no/such", NULL};
    const char *const folder[] = {launcher, "-n", "2", "/", NULL};

    struct program *program = program_start(missing, NULL);
    assert_int_equal(program_wait(program), 127);
    assert_non_null(strstr(program->err.text, "cannot run '/no/such'"));
    program_destroy(program);

    program = program_start(folder, NULL);
    *state = program;
    assert_int_equal(program_wait(program), 126);
    assert_non_null(strstr(program->err.text, "cannot run '/'"));
}

static void
hooprun_wrong_command_lines_are_refused(void **state)
{
    /* The list has one word too many. */
    static const char words[] = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "
                                "19 20 21 22 23 24 25 26 27 28 29 30 31 32 33";
    const char *const cases[][6] = {
        {launcher, "-n", "0", "true"},
        {launcher, "-n", "-1", "true"},
        {launcher, "-n", "9999", "true"},
        {launcher, "-n", "2x", "true"},
        {launcher, "-np", "true"},
        {launcher, "-np"},
        {launcher, "-n", "2"},
        {launcher, "true"},
        {launcher, "--bogus", "-n", "1", "true"},
        {launcher, "-n", "1", "-t", "soon", "true"},
        {launcher, "-H", "b", "--rsh", " ", "true"},
        {launcher, "-H", "b", "--rsh", words, "true"},
        {launcher, "-n", "1", "--rsh", "ssh", "true"},
        {launcher, "-n", "1", "--prefix", "/usr", "true"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *arguments[7] = {NULL};

        memcpy(arguments, cases[i], sizeof(cases[i]));
        struct program *program = program_start(arguments, NULL);
        assert_int_equal(program_wait(program), 64);
        assert_ptr_equal(strstr(program->err.text, "hooprun: "),
                         program->err.text);
        program_destroy(program);
    }
}

/* mpirun's users write the number in these ways. */
static void
hooprun_np_is_the_number_of_workers(void **state)
{
    static const char *const cases[][3] = {
        {"-np", "2", NULL}, {"--np", "2", NULL}, {"--np=2", NULL}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            launcher_code(state, cases[i], "echo $HOOP_WORLD_SIZE"), 0);
        assert_non_null(strstr(out_of(state), "[0] 2\n"));
        assert_non_null(strstr(out_of(state), "[1] 2\n"));
        program_teardown(state);
    }
}

static void
hooprun_short_options_say_what_long_ones_do(void **state)
{
    static const char *const pairs[][2] = {{"-h", "--help"},
                                           {"-v", "--version"}};

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        const char *const brief[] = {launcher, pairs[i][0], NULL};
        const char *const full[] = {launcher, pairs[i][1], NULL};
        struct program *one = program_start(brief, NULL);
        struct program *other = program_start(full, NULL);

        assert_int_equal(program_wait(one), 0);
        assert_int_equal(program_wait(other), 0);
        assert_string_equal(one->out.text, other->out.text);
        assert_int_not_equal(one->out.n_bytes, 0);
        program_destroy(one);
        program_destroy(other);
    }
}

static void
hooprun_options_after_the_program_are_its_own(void **state)
{
    const char *const arguments[] = {launcher, "-n", "1", "echo",
                                     "-n",     "7",  NULL};
    struct program *program = program_start(arguments, NULL);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_string_equal(out_of(state), "7");
}

/* The cases below test what hooprun says about settings. */

/* Returns the output of hooprun with the option. The program is stored in
 * state. */
static const char *
text_of(void **state, const char *option)
{
    const char *const arguments[] = {launcher, option, NULL};

    /* This variable would change the line breaks. */
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
        /* Both lists have HOOP_LOG. */
        if ((strstr(text, line) != NULL) != is_workers &&
            i != SETTING_LOG_LEVEL)
            fail_msg("%s: %s", row->environment, text);
    }
    assert_non_null(strstr(text, "(default auto)"));
    assert_non_null(strstr(text, "itself sets HOOP_COORDINATOR"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_teardown(hooprun_good_workers_exit_zero, program_teardown),
    cmocka_unit_test_teardown(hooprun_lines_carry_their_rank, program_teardown),
    cmocka_unit_test_teardown(hooprun_one_worker_is_verbatim, program_teardown),
    cmocka_unit_test_teardown(hooprun_no_prefix_is_verbatim, program_teardown),
    cmocka_unit_test_teardown(hooprun_environment_says_how_to_join,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_overruled_environment_is_told,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_environment_is_that_of_other_launchers,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_exported_variables_are_those_of_workers,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_job_may_be_an_exported_variable,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_folder_that_is_missing_is_told_of_once,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_threads_that_are_asked_for_are_kept,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_token_is_another_each_time,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_nodes_are_of_consecutive_ranks,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_given_coordinator_is_passed_on,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_stdin_is_rank_zeros, program_teardown),
    cmocka_unit_test_teardown(
        hooprun_progress_off_terminal_leaves_its_last_state,
        program_teardown),
    cmocka_unit_test_teardown(hooprun_progress_on_terminal_stays_below_lines,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_failing_code_is_passed_and_named,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_first_exit_is_named_first,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_first_of_two_killed_is_named_first,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_exit_before_a_signal_is_named_first,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_killed_worker_is_named_with_its_signal,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_survivors_may_still_report,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_stubborn_worker_is_killed_after_grace,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_what_a_failed_worker_started_is_ended,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_killed_launcher_takes_workers_along,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_sigterm_is_passed_on, program_teardown),
    cmocka_unit_test_teardown(hooprun_ignored_hangup_stays_ignored,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_workers_that_end_well_on_sigint_exit_zero,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_timeout_ends_all, program_teardown),
    cmocka_unit_test_teardown(hooprun_program_that_cannot_run_is_named,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_wrong_command_lines_are_refused,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_np_is_the_number_of_workers,
                              program_teardown),
    cmocka_unit_test(hooprun_short_options_say_what_long_ones_do),
    cmocka_unit_test_teardown(hooprun_options_after_the_program_are_its_own,
                              program_teardown),
    cmocka_unit_test_teardown(help_names_settings_of_workers_and_their_list,
                              program_teardown),
    cmocka_unit_test_teardown(settings_are_all_public_ones_of_workers,
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
