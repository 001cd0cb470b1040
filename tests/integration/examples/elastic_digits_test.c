/*
 * tests/integration/examples/elastic_digits_test.c - training that loses
 * workers
 *
 * The argument is elastic_digits; hoopd is found in the environment.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "integration/daemon.h"
#include "integration/program.h"

static const char *elastic_digits;

/* Reads a text such as "accuracy 97.49 %". */
static double
accuracy_of(const struct program *program)
{
    const char *at = strstr(program->out.text, "accuracy ");

    assert_non_null(at);
    return strtod(at + strlen("accuracy "), NULL);
}

static double
run(const char *how, struct program **out_program)
{
    const char *const arguments[] = {elastic_digits, how, NULL};

    assert_int_equal(setenv("HOOP_COORDINATOR", hoopd.address, 1), 0);
    assert_int_equal(setenv("HOOP_TOKEN", "secret", 1), 0);
    /* A worker that is only slow on a busy machine must not count as lost. */
    assert_int_equal(setenv("HOOP_FAILURE_TIMEOUT", "30", 1), 0);
    *out_program = program_start(arguments, NULL);
    const int code = program_wait(*out_program);
    if (code != 0)
        fail_msg("exit %d: %s\n%s", code, (*out_program)->out.text,
                 (*out_program)->err.text);
    return accuracy_of(*out_program);
}

static void
training_that_loses_two_and_gains_one_learns_as_much(void **state)
{
    struct program *calm;
    struct program *disturbed;

    const double wanted = run("--calm", &calm);
    assert_non_null(strstr(calm->out.text, "done by 4 workers"));
    assert_true(wanted > 95);
    const double got = run("7", &disturbed);
    const char *text = disturbed->out.text;
    assert_non_null(strstr(text, "3 of 4 workers go on"));
    assert_non_null(strstr(text, "2 of 3 workers go on"));
    assert_non_null(strstr(text, "1 more: 3 workers go on"));
    assert_non_null(strstr(text, "done by 3 workers"));
    assert_true(got - wanted < 0.3 && wanted - got < 0.3);
    program_destroy(calm);
    program_destroy(disturbed);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_that_loses_two_and_gains_one_learns_as_much),
    };

    assert_int_equal(argc, 2);
    elastic_digits = argv[1];
    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
