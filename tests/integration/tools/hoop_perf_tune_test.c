/*
 * tests/integration/tools/hoop_perf_tune_test.c - runs, records and uses races
 *
 * Arguments: hooprun, hoop-perf.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "integration/program.h"
#include "temporary.h"

static const char *hooprun;
static const char *hoop_perf;

static struct program *
perf_start(const char *n_ranks, const char *const *options)
{
    return program_start_ranks(hooprun, n_ranks, hoop_perf, options);
}

/* Creates a file with this text, and sets path to its path. */
static void
file_make(char path[TEMPORARY_PATH], const char *text)
{
    const int fd = temporary_file(path, TEMPORARY_PATH);
    const size_t n = strlen(text);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    close(fd);
}

/* Only rank 0 gets the races, but the choice applies to all ranks. Otherwise
 * they would wait for each other. */
static void
perf_races_of_rank_0_are_chosen_by(void **state)
{
    static const char races[] =
        "3 1 allreduce 64 ring=1000 recursive_doubling=2000 rabenseifner=3000\n"
        "3 1 allreduce 64 ring=1000 recursive_doubling=2000 rabenseifner=3000\n"
        "3 1 allreduce 64 ring=1000 recursive_doubling=2000 "
        "rabenseifner=3000\n";
    char path[TEMPORARY_PATH] = "hoop-perf-races-XXXXXX";
    char command[512];

    file_make(path, races);
    snprintf(command, sizeof(command),
             "export HOOP_DEBUG_LINK=latency=20us HOOP_TRANSPORT=tcp; "
             "case $HOOP_RANK in 0) export HOOP_TUNING=%s ;; "
             "*) export HOOP_TUNING=/nowhere ;; esac; "
             "exec %s --min 64 --max 4K --factor 64 --iters 2 --check --csv -",
             path, hoop_perf);
    const char *const arguments[] = {hooprun, "--no-prefix", "-n",    "3",
                                     "sh",    "-c",          command, NULL};
    struct program *program = program_start(arguments, NULL);

    *state = program;
    const int code = program_wait(program);
    unlink(path);
    assert_int_equal(code, 0);
    assert_null(strstr(program->err.text, "wrong"));
    assert_non_null(strstr(program->out.text, "allreduce,64,16,f32,sum,ring,"));
    assert_non_null(strstr(program->out.text, "f32,sum,recursive_doubling,"));
}

static void
perf_tune_writes_what_tuning_reads(void **state)
{
    char path[TEMPORARY_PATH] = "hoop-perf-tune-XXXXXX";
    const char *const tune[] = {"--tune",   path, "--op",    "all",
                                "--max",    "8",  "--iters", "1",
                                "--rounds", "1",  NULL};
    const char *const use[] = {"--max", "8", "--iters", "1", NULL};
    char text[4096] = "";

    file_make(path, "# from before\n");
    struct program *program = perf_start("2", tune);
    const int code = program_wait(program);
    program_destroy(program);
    setenv("HOOP_TUNING", path, 1);
    program = perf_start("2", use);
    unsetenv("HOOP_TUNING");
    *state = program;
    const int code_of_use = program_wait(program);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
    fclose(file);
    unlink(path);
    assert_int_equal(code, 0);
    assert_int_equal(code_of_use, 0);
    size_t n_lines = 0;
    for (const char *at = text; (at = strstr(at, "\n2 1 ")); at++)
        n_lines++;
    assert_int_equal(n_lines, 10);
    assert_ptr_equal(strstr(text, "# from before\n2 1 allreduce 8 ring="),
                     text);
    assert_null(strstr(text, "auto"));
}

static void
perf_missing_file_of_races_is_named(void **state)
{
    const char *const options[] = {NULL};

    setenv("HOOP_TUNING", "/nowhere/times", 1);
    struct program *program = perf_start("1", options);
    unsetenv("HOOP_TUNING");
    *state = program;
    assert_int_equal(program_wait(program), 1);
    assert_non_null(strstr(program->err.text,
                           "HOOP_TUNING: cannot open /nowhere/times: No such"));
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(perf_races_of_rank_0_are_chosen_by,
                                  program_teardown),
        cmocka_unit_test_teardown(perf_tune_writes_what_tuning_reads,
                                  program_teardown),
        cmocka_unit_test_teardown(perf_missing_file_of_races_is_named,
                                  program_teardown),
    };

    if (argc != 3)
        return EXIT_FAILURE;
    hooprun = argv[1];
    hoop_perf = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
