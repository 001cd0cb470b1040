/* tests/unit/tools/hoop-perf/timing_test.c - hoop-perf/timing.c, race_log.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "hoop-perf/race_log.h"
#include "hoop-perf/timing.h"
#include "temporary.h"

static void
timing_one_iteration_is_every_percentile(void **state)
{
    double times[] = {3};
    const struct timing timing = timing_of(times, 1, 3);

    assert_true(timing.mean_us == 3);
    assert_true(timing.p50_us == 3);
    assert_true(timing.p99_us == 3);
}

static void
timing_percentiles_are_times_that_occurred(void **state)
{
    double times[200];

    for (size_t i = 0; i < 200; i++)
        times[i] = (double)(200 - i);
    const struct timing timing = timing_of(times, 200, 40000);
    assert_true(timing.mean_us == 200);
    assert_true(timing.p50_us == 100);
    assert_true(timing.p99_us == 198);
}

static void
timing_few_iterations_have_the_worst_as_p99(void **state)
{
    double times[] = {5, 1, 9};
    const struct timing timing = timing_of(times, 3, 15);

    assert_true(timing.p50_us == 5);
    assert_true(timing.p99_us == 9);
}

static void
timing_clock_does_not_go_back(void **state)
{
    const double before_us = timing_now_us();

    assert_true(timing_now_us() >= before_us);
}

/* These cases test hoop-perf/race_log.c. */

static void
operations_with_a_choice_are_taken(void **state)
{
    assert_true(race_log_takes(operation_find("allreduce")));
    assert_true(race_log_takes(operation_find("alltoall")));
    assert_false(race_log_takes(operation_find("alltoallv")));
    assert_false(race_log_takes(operation_find("barrier")));
    assert_false(race_log_takes(operation_find("sendrecv")));
}

static struct measurement
measurement_of(const char *candidate, double us, int64_t n_wrong)
{
    return (struct measurement){
        .timing = {.p50_us = us}, .n_wrong = n_wrong, .candidate = candidate};
}

/* Opened as for two ranks of a node, without a communicator. */
static struct race_log
log_of(const char *path)
{
    struct race_log log;

    assert_ok(race_log_open(&log, path, NULL));
    log.n_ranks = 2;
    log.n_nodes = 1;
    return log;
}

static void
lines_are_added_behind_those_of_before(void **state)
{
    static const char expected[] =
        "# mine\n"
        "2 1 allreduce 64 ring=12346 recursive_doubling=500\n";
    const struct candidates candidates = {
        .n = 5,
        .measurements =
            {
                measurement_of("auto", 1, -1),
                measurement_of("ring", 12.3456, -1),
                measurement_of("recursive_doubling", 0.5, 0),
                measurement_of("rabenseifner", 1, 3),
                measurement_of("hierarchical", 0, -1),
            },
    };
    const struct extent extent = {.n_bytes = 64};
    char path[TEMPORARY_PATH] = "hoop-race-log-XXXXXX";
    char text[256] = "";
    const int fd = temporary_file(path, sizeof(path));

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "# mine\n", 7), 7);
    struct race_log log = log_of(path);
    race_log_add(&log, operation_find("allreduce"), &extent, &candidates);
    race_log_add(&log, operation_find("barrier"), &extent, &candidates);
    assert_ok(race_log_close(&log));
    assert_ok(race_log_close(&log));
    assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
    assert_string_equal(text, expected);
    close(fd);
    unlink(path);
}

static void
no_file_is_no_log(void **state)
{
    struct race_log log = log_of(NULL);

    race_log_add(&log, operation_find("allreduce"), NULL, NULL);
    assert_ok(race_log_close(&log));
}

static void
files_that_cannot_be_written_are_an_error(void **state)
{
    struct race_log log;

    assert_int_equal(race_log_open(&log, "/nowhere/times", NULL),
                     HOOP_E_UNAVAILABLE);
    log = log_of("/dev/full");
    race_log_add(&log, operation_find("allreduce"), &(struct extent){0},
                 &(struct candidates){.n = 0});
    assert_int_equal(race_log_close(&log), HOOP_E_DATA_LOSS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timing_one_iteration_is_every_percentile),
        cmocka_unit_test(timing_percentiles_are_times_that_occurred),
        cmocka_unit_test(timing_few_iterations_have_the_worst_as_p99),
        cmocka_unit_test(timing_clock_does_not_go_back),
        cmocka_unit_test(operations_with_a_choice_are_taken),
        cmocka_unit_test(lines_are_added_behind_those_of_before),
        cmocka_unit_test(no_file_is_no_log),
        cmocka_unit_test(files_that_cannot_be_written_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
