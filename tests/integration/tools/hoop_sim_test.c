/*
 * tests/integration/tools/hoop_sim_test.c - runs hoop-sim as users do
 *
 * The argument is the path of hoop-sim.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "integration/program.h"
#include "temporary.h"

static const char *hoop_sim;

/* Starts hoop-sim with the options, which end with NULL. */
static struct program *
sim_start(const char *const *options)
{
    const char *arguments[PROGRAM_ARGUMENTS_MAX] = {hoop_sim};
    size_t n = 1;

    for (size_t i = 0; options[i]; i++)
        arguments[n++] = options[i];
    return program_start(arguments, NULL);
}

static size_t
count_of(const char *text, const char *part)
{
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

static void
sim_table_marks_the_fastest(void **state)
{
    const char *const options[] = {"--op",    "allreduce", "--ranks", "64",
                                   "--sizes", "8,64M",     NULL};
    struct program *program = sim_start(options);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_string_equal(program->err.text, "");
    assert_int_equal(count_of(program->out.text, " *\n"), 2);
    assert_int_equal(count_of(program->out.text, " ring "), 2);
    assert_non_null(strstr(program->out.text, "\n#            op    ranks"));
}

/* One message of 4,000 bytes between two ranks takes 3 + 4 + 50 + 5 us. */
static void
sim_csv_has_what_can_be_told_by_hand(void **state)
{
    const char *const options[] = {"--op",
                                   "broadcast",
                                   "--algorithm",
                                   "chain",
                                   "--ranks",
                                   "2",
                                   "--sizes",
                                   "4000",
                                   "--send",
                                   "0",
                                   "--receive",
                                   "0",
                                   "--latency",
                                   "50",
                                   "--send-overhead",
                                   "3",
                                   "--link",
                                   "1",
                                   "--receive-overhead",
                                   "5",
                                   "--copy",
                                   "0",
                                   "--csv",
                                   "-",
                                   NULL};
    struct program *program = sim_start(options);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_string_equal(
        program->out.text,
        "op,ranks,per_host,bytes,algorithm,time_us,sent,messages,"
        "extrapolated,best\n"
        "broadcast,2,1,4000,chain,62.000,4000,1,0,1\n");
}

static void
sim_same_question_has_the_same_answer(void **state)
{
    const char *const options[] = {"--op",    "all",        "--ranks",
                                   "3..33:3", "--per-host", "4",
                                   "--csv",   "-",          NULL};
    struct program *one = sim_start(options);
    struct program *other = sim_start(options);

    *state = one;
    assert_int_equal(program_wait(one), 0);
    assert_int_equal(program_wait(other), 0);
    assert_true(count_of(one->out.text, "\n") > 300);
    assert_string_equal(one->out.text, other->out.text);
    program_destroy(other);
}

static void
sim_many_ranks_are_extrapolated(void **state)
{
    const char *const options[] = {"--op",        "allgather", "--ranks",
                                   "100000",      "--sizes",   "64M",
                                   "--algorithm", "ring",      NULL};
    struct program *program = sim_start(options);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_int_equal(count_of(program->out.text, " ~"), 1);
}

static void
sim_picture_has_a_panel_for_each_operation_and_size(void **state)
{
    char path[TEMPORARY_PATH] = "hoop_sim_test_XXXXXX";
    const char *const options[] = {"--op",    "allreduce,barrier",
                                   "--ranks", "2..64",
                                   "--sizes", "1K,1M",
                                   "--svg",   path,
                                   NULL};
    const int fd = temporary_file(path, sizeof(path));
    static char text[PROGRAM_TEXT_MAX];

    assert_true(fd >= 0);
    struct program *program = sim_start(options);
    *state = program;
    assert_int_equal(program_wait(program), 0);

    const ssize_t n_bytes = read(fd, text, sizeof(text) - 1);
    assert_true(n_bytes > 0);
    text[n_bytes] = '\0';
    close(fd);
    unlink(path);
    assert_ptr_equal(strstr(text, "<svg "), text);
    assert_non_null(strstr(text, "</svg>\n"));
    assert_int_equal(count_of(text, "font-weight=\"bold\""), 3);
    assert_non_null(strstr(text, ">allreduce, 1KB<"));
    assert_non_null(strstr(text, ">allreduce, 1MB<"));
    assert_non_null(strstr(text, ">barrier<"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
}

struct refusal {
    const char *option;
    const char *value;
    const char *text;
};

static void
sim_wrong_command_line_is_refused(void **state)
{
    static const struct refusal refusals[] = {
        {"--op", "allgatherv", "--op allgatherv: there is no such operation"},
        {"--op", ",", "--op: which operation?"},
        {"--algorithm", "zigzag", "--algorithm zigzag: no operation chosen"},
        {"--ranks", "0", "--ranks 0: a list like"},
        {"--ranks", "8..4", "--ranks 8..4: a list like"},
        {"--sizes", "1..1G,1..1G,1..1G", "more than 64 numbers"},
        {"--latency", "-1", "--latency -1: a number from 0 on"},
        {"--link", "fast", "--link fast: a number from 0 on"},
        {"--processors", "0", "--processors 0: a whole number"},
        {"--per-host", "1,2", "--per-host 1,2: a whole number"},
        {"--element", "x", "--element x: a whole number"},
    };

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const struct refusal *refusal = &refusals[i];
        const char *const options[] = {refusal->option, refusal->value, NULL};
        struct program *program = sim_start(options);

        assert_int_equal(program_wait(program), 64);
        if (!strstr(program->err.text, refusal->text))
            fail_msg("%s %s: %s", refusal->option, refusal->value,
                     program->err.text);
        program_destroy(program);
    }
}

static void
sim_what_cannot_be_is_said(void **state)
{
    const char *const many[] = {"--ranks", "1G", NULL};
    const char *const nowhere[] = {"--ranks", "2", "--svg",
                                   "/nonexistent/picture", NULL};
    const char *const nowhere_and_many[] = {"--ranks", "1G", "--svg",
                                            "/nonexistent/picture", NULL};
    struct program *program = sim_start(many);

    assert_int_equal(program_wait(program), 1);
    assert_non_null(strstr(program->err.text,
                           "allreduce with 1073741824 ranks: cannot simulate"));
    program_destroy(program);
    program = sim_start(nowhere);
    assert_int_equal(program_wait(program), 1);
    assert_non_null(
        strstr(program->err.text, "cannot write /nonexistent/picture"));
    assert_string_equal(program->out.text, "");
    program_destroy(program);
    /* The error comes before anything is simulated. */
    program = sim_start(nowhere_and_many);
    assert_int_equal(program_wait(program), 1);
    assert_null(strstr(program->err.text, "cannot simulate"));
    program_destroy(program);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(sim_table_marks_the_fastest,
                                  program_teardown),
        cmocka_unit_test_teardown(sim_csv_has_what_can_be_told_by_hand,
                                  program_teardown),
        cmocka_unit_test_teardown(sim_same_question_has_the_same_answer,
                                  program_teardown),
        cmocka_unit_test_teardown(sim_many_ranks_are_extrapolated,
                                  program_teardown),
        cmocka_unit_test_teardown(
            sim_picture_has_a_panel_for_each_operation_and_size,
            program_teardown),
        cmocka_unit_test(sim_wrong_command_line_is_refused),
        cmocka_unit_test(sim_what_cannot_be_is_said),
    };

    if (argc != 2)
        return EXIT_FAILURE;
    hoop_sim = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
