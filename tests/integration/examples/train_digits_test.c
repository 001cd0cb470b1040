/*
 * tests/integration/examples/train_digits_test.c - runs examples as a user
 * would
 *
 * Arguments: hooprun, train_digits, hello_allreduce.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "integration/program.h"
#include "temporary.h"

enum {
    EPOCHS = 30,
};

static const char *hooprun;
static const char *train_digits;
static const char *hello_allreduce;

struct curve {
    size_t n_epochs;
    double losses[EPOCHS];
    double accuracies[EPOCHS];
};

static void
curve_load(const char *directory, struct curve *out_curve)
{
    char path[TEMPORARY_FILE];
    char line[128];

    *out_curve = (struct curve){0};
    snprintf(path, sizeof(path), "%s/loss.csv", directory);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    assert_string_equal(line, "epoch,loss,accuracy\n");
    while (fgets(line, sizeof(line), file)) {
        const size_t i = out_curve->n_epochs++;
        assert_true(i < EPOCHS);
        assert_int_equal(sscanf(line, "%*u,%lf,%lf", &out_curve->losses[i],
                                &out_curve->accuracies[i]),
                         2);
    }
    fclose(file);
}

static void
directory_remove(const char *directory)
{
    char path[TEMPORARY_FILE];

    snprintf(path, sizeof(path), "%s/loss.csv", directory);
    unlink(path);
    snprintf(path, sizeof(path), "%s/loss.svg", directory);
    unlink(path);
    rmdir(directory);
}

/* Trains with this many workers. The batch is the same for all numbers. */
static void
curve_train(const char *n_ranks, struct curve *out_curve)
{
    char directory[TEMPORARY_PATH] = "hoop_digits_XXXXXX";
    assert_non_null(temporary_folder(directory, sizeof(directory)));
    const char *const arguments[] = {hooprun,   "--no-prefix", "-n",
                                     n_ranks,   train_digits,  "--out",
                                     directory, NULL};
    struct program *program = program_start(arguments, NULL);

    const int code = program_wait(program);
    if (code != 0)
        fail_msg("-n %s: exit %d: %s", n_ranks, code, program->err.text);
    assert_non_null(strstr(program->out.text, "accuracy "));
    assert_non_null(strstr(program->out.text, "collectives "));
    assert_non_null(strstr(program->out.text, "bytes moved "));
    program_destroy(program);

    curve_load(directory, out_curve);
    char path[TEMPORARY_FILE];
    snprintf(path, sizeof(path), "%s/loss.svg", directory);
    assert_int_equal(access(path, R_OK), 0);
    directory_remove(directory);
}

static void
curve_check_alike(const struct curve *a, const struct curve *b)
{
    for (size_t i = 0; i < EPOCHS; i++) {
        const double scale = fmax(fabs(a->losses[i]), 1e-9);
        assert_true(fabs(a->losses[i] - b->losses[i]) <= 1e-4 * scale);
    }
}

/* 64 cannot be divided by 3, so this also tests uneven shares. */
static void
digits_curve_does_not_depend_on_workers(void **state)
{
    static const char *const ranks[] = {"1", "2", "3", "4"};
    struct curve curves[4];

    for (size_t i = 0; i < 4; i++) {
        curve_train(ranks[i], &curves[i]);
        assert_int_equal(curves[i].n_epochs, EPOCHS);
        assert_true(curves[i].accuracies[EPOCHS - 1] >= 0.95);
        assert_true(curves[i].losses[EPOCHS - 1] < 0.1);
        curve_check_alike(&curves[0], &curves[i]);
    }
}

static void
digits_more_workers_than_images_in_a_batch_is_right(void **state)
{
    char directory[TEMPORARY_PATH] = "hoop_digits_XXXXXX";
    assert_non_null(temporary_folder(directory, sizeof(directory)));
    const char *const arguments[] = {
        hooprun, "-n",      "4", train_digits, "--out", directory, "-e",
        "1",     "--batch", "3", "--rate",     "0.01",  NULL};
    struct program *program = program_start(arguments, NULL);
    struct curve curve;

    *state = program;
    assert_int_equal(program_wait(program), 0);
    curve_load(directory, &curve);
    assert_int_equal(curve.n_epochs, 1);
    assert_true(curve.losses[0] > 0 && curve.losses[0] < 2);
    directory_remove(directory);
}

static void
digits_missing_images_say_which_option(void **state)
{
    const char *const arguments[] = {train_digits, "--data", "/nowhere", NULL};
    struct program *program = program_start(arguments, NULL);

    *state = program;
    assert_int_equal(program_wait(program), 1);
    assert_non_null(strstr(program->err.text, "train_digits: /nowhere"));
    assert_non_null(strstr(program->err.text, "--data"));
}

static void
hello_sums_the_ranks(void **state)
{
    const char *const arguments[] = {hooprun, "-n", "4", hello_allreduce, NULL};
    struct program *program = program_start(arguments, NULL);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    for (int rank = 0; rank < 4; rank++) {
        char line[64];

        snprintf(line, sizeof(line), "[%d] rank %d of 4: the ranks sum to 6\n",
                 rank, rank);
        assert_non_null(strstr(program->out.text, line));
    }
}

/* One of the four ranks prints the warning. Settings of hooprun are known to
 * all. */
static void
misspelt_setting_is_told_once(void **state)
{
    static const char warning[] =
        "HOOP_TIMEOT is not a setting of hoop; do you mean HOOP_TIMEOUT?";
    const char *const arguments[] = {hooprun, "-n", "4", hello_allreduce, NULL};

    assert_int_equal(setenv("HOOP_TIMEOT", "5", 1), 0);
    struct program *program = program_start(arguments, NULL);
    *state = program;
    assert_int_equal(unsetenv("HOOP_TIMEOT"), 0);
    assert_int_equal(program_wait(program), 0);
    const char *first = strstr(program->err.text, warning);
    assert_non_null(first);
    assert_null(strstr(first + sizeof(warning) - 1, "is not a setting"));
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_curve_does_not_depend_on_workers),
        cmocka_unit_test_teardown(
            digits_more_workers_than_images_in_a_batch_is_right,
            program_teardown),
        cmocka_unit_test_teardown(digits_missing_images_say_which_option,
                                  program_teardown),
        cmocka_unit_test_teardown(hello_sums_the_ranks, program_teardown),
        cmocka_unit_test_teardown(misspelt_setting_is_told_once,
                                  program_teardown),
    };

    if (argc < 4)
        return EXIT_FAILURE;
    hooprun = argv[1];
    train_digits = argv[2];
    hello_allreduce = argv[3];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
