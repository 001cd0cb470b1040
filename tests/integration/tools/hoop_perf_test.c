/*
 * tests/integration/tools/hoop_perf_test.c - runs hoop-perf in hooprun
 *
 * Arguments: hooprun, hoop-perf.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "integration/program.h"

static const char *hooprun;
static const char *hoop_perf;

static struct program *
perf_start(const char *n_ranks, const char *const *options)
{
    return program_start_ranks(hooprun, n_ranks, hoop_perf, options);
}

/* Returns the number of CSV rows. Each must end with this count of wrong
 * elements. */
static size_t
rows_check(const char *csv, const char *wrong)
{
    size_t n_rows = 0;
    const char *line = strchr(csv, '\n');

    assert_ptr_equal(strstr(csv, "op,bytes,count,type,redop,algorithm,"
                                 "time_us,p50_us,p99_us,algbw,busbw,wrong\n"),
                     csv);
    for (line++; *line; n_rows++) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        const char *last = memrchr(line, ',', (size_t)(end - line));
        assert_non_null(last);
        if ((size_t)(end - last - 1) != strlen(wrong) ||
            strncmp(last + 1, wrong, strlen(wrong)) != 0)
            fail_msg("not %s wrong: %.*s", wrong, (int)(end - line), line);
        line = end + 1;
    }
    return n_rows;
}

/* There are sixteen operations at 5 sizes from 8 to 32K, and the barrier. */
static void
all_check(const char *n_ranks, const char *dtype, const char *extra)
{
    const char *const options[] = {"--op",     "all",   "--max",   "32K",
                                   "--factor", "8",     "--iters", "2",
                                   "--check",  "--csv", "-",       "--dtype",
                                   dtype,      extra,   NULL};
    struct program *program = perf_start(n_ranks, options);
    const int code = program_wait(program);

    if (code != 0)
        fail_msg("-n %s %s: exit %d: %s", n_ranks, dtype, code,
                 program->err.text);
    assert_int_equal(rows_check(program->out.text, "0"), 16 * 5 + 1);
    program_destroy(program);
}

static void
perf_every_operation_is_right(void **state)
{
    static const char *const ranks[] = {"1", "2", "3", "4"};
    static const char *const dtypes[] = {"f32", "bf16", "i64"};

    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < 3; j++)
            all_check(ranks[i], dtypes[j], NULL);
    }
}

static void
perf_every_operation_in_place_is_right(void **state)
{
    all_check("3", "f32", "--inplace");
    all_check("4", "i8", "--inplace");
}

static void
perf_every_root_is_right(void **state)
{
    const char *const options[] = {
        "--op",     "broadcast,reduce,gather,scatter",
        "--root",   "2",
        "--max",    "4K",
        "--factor", "8",
        "--iters",  "1",
        "--check",  "--csv",
        "-",        NULL};
    struct program *program = perf_start("3", options);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_int_equal(rows_check(program->out.text, "0"), 4 * 4);
}

/* Forces all algorithms in turns, on one node and on several. */
static void
algorithms_check(const char *n_ranks, const char *nodes)
{
    const char *const arguments[] = {
        hooprun,   "--no-prefix", "-n",           n_ranks,    "--nodes",
        nodes,     hoop_perf,     "--op",         "all",      "--min",
        "64",      "--max",       "256K",         "--factor", "64",
        "--iters", "1",           "--rounds",     "1",        "--check",
        "--csv",   "-",           "--algorithms", "all",      NULL};
    static const char *const rows[] = {
        "allreduce,64,16,f32,sum,auto:",
        "allreduce,64,16,f32,sum,ring,",
        "allreduce,4096,1024,f32,sum,recursive_doubling,",
        "allreduce,262144,65536,f32,sum,rabenseifner,",
        "broadcast,4096,1024,f32,none,binomial,",
        ",f32,none,bruck,",
        "exscan,4096,1024,f32,sum,doubling,",
        "barrier,0,0,f32,none,dissemination,",
        "sendrecv,64,16,f32,none,auto:none,",
    };
    struct program *program = program_start(arguments, NULL);
    const int code = program_wait(program);

    if (code != 0)
        fail_msg("-n %s --nodes %s: exit %d: %s", n_ranks, nodes, code,
                 program->err.text);
    assert_true(rows_check(program->out.text, "0") > 3 * 32);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!strstr(program->out.text, rows[i]))
            fail_msg("-n %s --nodes %s: no row %s", n_ranks, nodes, rows[i]);
    }
    program_destroy(program);
}

/* A prefix has no average, so "all" leaves those operations out. */
static void
perf_all_measures_what_the_operator_means(void **state)
{
    const char *const arguments[] = {
        hooprun,   "--no-prefix", "-n",       "3",     "--",    hoop_perf,
        "--op",    "all",         "--reduce", "avg",   "--max", "8",
        "--check", "--iters",     "1",        "--csv", "-",     NULL};
    struct program *program = program_start(arguments, NULL);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_non_null(strstr(program->out.text, "allreduce,"));
    assert_non_null(strstr(program->out.text, "barrier,"));
    assert_null(strstr(program->out.text, "scan,"));
    *state = NULL;
    program_destroy(program);
}

/* Only the first turn has a warm-up. */
static void
perf_forced_measures_all_but_what_is_chosen(void **state)
{
    const char *const options[] = {
        "--op",     "allreduce", "--max",    "8", "--iters", "1",
        "--rounds", "3",         "--warmup", "0", "--check", "--algorithms",
        "forced",   "--csv",     "-",        NULL};
    struct program *program = perf_start("2", options);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_true(rows_check(program->out.text, "0") > 3);
    assert_non_null(strstr(program->out.text, ",ring,"));
    assert_null(strstr(program->out.text, "auto"));
}

static void
perf_every_algorithm_is_right(void **state)
{
    algorithms_check("2", "1");
    algorithms_check("5", "1");
    algorithms_check("6", "3");
    algorithms_check("5", "2");
}

/* The option of rank 0 applies to all ranks. Otherwise they would wait for each
 * other. */
static void
perf_algorithms_of_rank_0_are_forced(void **state)
{
    char command[512];
    snprintf(command, sizeof(command),
             "case $HOOP_RANK in 0) a=allreduce:ring ;; "
             "*) a=allreduce:recursive_doubling ;; esac; "
             "HOOP_ALGORITHM=$a exec %s --max 4K --factor 8 --iters 2 --check "
             "--csv -",
             hoop_perf);
    const char *const arguments[] = {hooprun, "--no-prefix", "-n",    "3",
                                     "sh",    "-c",          command, NULL};
    struct program *program = program_start(arguments, NULL);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_int_equal(rows_check(program->out.text, "0"), 4);
    assert_non_null(strstr(program->out.text, ",sum,ring,"));
    assert_null(strstr(program->out.text, ",sum,recursive_doubling,"));
}

static void
perf_unknown_algorithm_is_refused_with_what_there_is(void **state)
{
    const char *const options[] = {NULL};

    setenv("HOOP_ALGORITHM", "allreduce:rung", 1);
    struct program *program = perf_start("1", options);
    unsetenv("HOOP_ALGORITHM");
    *state = program;
    assert_int_equal(program_wait(program), 1);
    assert_non_null(
        strstr(program->err.text,
               "HOOP_ALGORITHM: there is no algorithm 'rung' for allreduce; "
               "there are: ring, recursive_doubling"));
}

static void
perf_explains_what_it_would_do(void **state)
{
    const char *const options[] = {"--explain", "--op",     "all", "--max",
                                   "32K",       "--factor", "8",   NULL};

    setenv("HOOP_ALGORITHM", "allreduce:ring", 1);
    setenv("HOOP_DEBUG_LINK", "latency=3ms", 1);
    struct program *program = perf_start("3", options);
    unsetenv("HOOP_ALGORITHM");
    unsetenv("HOOP_DEBUG_LINK");
    *state = program;
    assert_int_equal(program_wait(program), 0);
    size_t n_rows = 0;
    for (const char *at = program->out.text; (at = strstr(at, "\n  ")); at++)
        n_rows++;
    assert_int_equal(n_rows, 15 * 5 + 1);
    const char *row = strstr(program->out.text, "\n  allreduce ");
    char algorithm[32];
    double estimate_us;
    assert_non_null(row);
    assert_int_equal(
        sscanf(row, " allreduce 8 %31s %lf", algorithm, &estimate_us), 2);
    assert_string_equal(algorithm, "ring");
    assert_true(estimate_us > 4 * 3000);
    assert_non_null(strstr(row, " forced\n"));
}

/* The check must be able to fail: one element of one rank is changed. */
static void
perf_injected_wrong_element_is_found_once(void **state)
{
    const char *const options[] = {
        "--op",  "allreduce", "--min", "4K",      "--max",
        "4K",    "--iters",   "1",     "--check", "--inject-wrong",
        "2:700", "--csv",     "-",     NULL};
    struct program *program = perf_start("4", options);

    *state = program;
    assert_int_equal(program_wait(program), 1);
    assert_int_equal(rows_check(program->out.text, "1"), 1);
    assert_non_null(strstr(program->err.text, "wrong elements: 1\n"));
}

static void
perf_table_has_the_columns_of_nccl_tests(void **state)
{
    const char *const options[] = {"--op",  "allgather", "--min", "1K",
                                   "--max", "1K",        NULL};
    struct program *program = perf_start("2", options);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    const char *at = program->out.text;
    static const char *const words[] = {
        "size", "count", "type",  "redop",  "time",      "p50",
        "p99",  "algbw", "busbw", "#wrong", "allgather", "1024",
        "128",  "f32",   "none",  "N/A\n"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        at = strstr(at, words[i]);
        assert_non_null(at);
    }
    /* There is only one table, that of rank 0. */
    assert_null(strstr(strstr(program->out.text, "#wrong") + 1, "#wrong"));
}

static void
perf_json_has_the_documented_keys(void **state)
{
    const char *const options[] = {"--max", "64",      "--check", "--json",
                                   "-",     "--iters", "1",       NULL};
    struct program *program = perf_start("2", options);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    const char *at = program->out.text;
    static const char *const keys[] = {"[\n",
                                       "{\"op\": \"allreduce\"",
                                       "\"bytes\": 8,",
                                       "\"count\": 2",
                                       "\"time_us\": ",
                                       "\"p50_us\": ",
                                       "\"p99_us\": ",
                                       "\"algbw\": ",
                                       "\"busbw\": ",
                                       "\"wrong\": 0}",
                                       "\"bytes\": 64,",
                                       "\n]\n"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        at = strstr(at, keys[i]);
        assert_non_null(at);
    }
}

static void
perf_progress_is_shown_when_asked(void **state)
{
    const char *const options[] = {"--max", "8", "--iters", "1", NULL};

    setenv("HOOP_PROGRESS", "1", 1);
    struct program *program = perf_start("1", options);
    unsetenv("HOOP_PROGRESS");
    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_non_null(strstr(program->err.text, "\rallreduce ["));
}

/* With this limit neither a rank nor hooprun can create files, and so no shared
 * memory. A build for coverage writes its counts into files at exit, and cannot
 * be tested in this way. */
static void
perf_runs_under_a_file_size_limit(void **state)
{
    static const char *const commands[] = {
        "ulimit -f 0 && exec \"$0\" -n 3 \"$1\" --max 64",
        "ulimit -f 1024 && exec \"$0\" -n 3 \"$1\" --max "
        "64",
    };

    if (getenv("COUNTS_LINES"))
        skip();
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        const char *const arguments[] = {"/bin/sh", "-c",      commands[i],
                                         hooprun,   hoop_perf, NULL};
        struct program *program = program_start(arguments, NULL);
        const int code = program_wait(program);

        if (code != 0)
            fail_msg("%s: exit %d: %s", commands[i], code, program->err.text);
        assert_non_null(strstr(program->out.text, "allreduce"));
        program_destroy(program);
    }
}

/* Both ranks print the error at the same time, with prefixes, and lines must
 * stay whole. */
static void
perf_impossible_pair_is_an_error(void **state)
{
    const char *const arguments[] = {hooprun,    "-n",      "2",
                                     hoop_perf,  "--dtype", "f32",
                                     "--reduce", "band",    NULL};
    struct program *program = program_start(arguments, NULL);

    *state = program;
    assert_int_equal(program_wait(program), 1);
    assert_non_null(strstr(program->err.text, "[0] hoop-perf: rank 0: "
                                              "allreduce of 8 bytes f32: "));
    assert_non_null(strstr(program->err.text, "[1] hoop-perf: rank 1: "));
}

static void
perf_without_coordinator_says_what_to_do(void **state)
{
    const char *const arguments[] = {hoop_perf, NULL};
    struct program *program = program_start(arguments, NULL);

    *state = program;
    assert_int_equal(program_wait(program), 1);
    assert_ptr_equal(strstr(program->err.text, "hoop-perf: "),
                     program->err.text);
    assert_non_null(strstr(program->err.text, "hooprun -n 4 hoop-perf"));
}

static void
perf_wrong_command_lines_are_refused(void **state)
{
    const char *const cases[][4] = {
        {hoop_perf, "--op", "alltoallw"},
        {hoop_perf, "--min", "x"},
        {hoop_perf, "--dtype", "f8"},
        {hoop_perf, "--reduce", "plus"},
        {hoop_perf, "--factor", "1"},
        {hoop_perf, "--iters", "0"},
        {hoop_perf, "--min", "32M"},
        {hoop_perf, "--inject-wrong", "0:0"},
        {hoop_perf, "--bogus", NULL},
        {hoop_perf, "stray", NULL},
        {hoop_perf, "--algorithms", "rung"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct program *program = program_start(cases[i], NULL);
        assert_int_equal(program_wait(program), 64);
        assert_ptr_equal(strstr(program->err.text, "hoop-perf: "),
                         program->err.text);
        program_destroy(program);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(perf_every_operation_is_right),
        cmocka_unit_test(perf_every_operation_in_place_is_right),
        cmocka_unit_test_teardown(perf_every_root_is_right, program_teardown),
        cmocka_unit_test(perf_every_algorithm_is_right),
        cmocka_unit_test_teardown(perf_all_measures_what_the_operator_means,
                                  program_teardown),
        cmocka_unit_test_teardown(perf_forced_measures_all_but_what_is_chosen,
                                  program_teardown),
        cmocka_unit_test_teardown(perf_algorithms_of_rank_0_are_forced,
                                  program_teardown),
        cmocka_unit_test_teardown(
            perf_unknown_algorithm_is_refused_with_what_there_is,
            program_teardown),
        cmocka_unit_test_teardown(perf_explains_what_it_would_do,
                                  program_teardown),
        cmocka_unit_test_teardown(perf_injected_wrong_element_is_found_once,
                                  program_teardown),
        cmocka_unit_test_teardown(perf_table_has_the_columns_of_nccl_tests,
                                  program_teardown),
        cmocka_unit_test_teardown(perf_json_has_the_documented_keys,
                                  program_teardown),
        cmocka_unit_test_teardown(perf_progress_is_shown_when_asked,
                                  program_teardown),
        cmocka_unit_test(perf_runs_under_a_file_size_limit),
        cmocka_unit_test_teardown(perf_impossible_pair_is_an_error,
                                  program_teardown),
        cmocka_unit_test_teardown(perf_without_coordinator_says_what_to_do,
                                  program_teardown),
        cmocka_unit_test(perf_wrong_command_lines_are_refused),
    };

    if (argc < 3)
        return EXIT_FAILURE;
    hooprun = argv[1];
    hoop_perf = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
