/*
 * tests/integration/examples/train_3d_test.c - the loss is the same when
 * divided
 *
 * Arguments: hooprun, train_3d, the number of steps, the number of positions of
 * a window, and how many runs of each list to try (the first ones are the most
 * important). The test uses real processes, and compares every step's loss with
 * that of a single process.
 */

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "integration/program.h"
#include "temporary.h"
#include "words.h"

enum {
    STEPS_MAX = 50,
    WORDS_MAX = 32,
};

static const double tolerance = 1e-4; /* relative error of a loss */

static const char *hooprun;
static const char *train_3d;
static const char *steps;
static const char *positions;
static size_t n_runs_max;

/* The number of ranks, and the words of a line, of one run. */
struct run {
    const char *n_ranks;
    const char *line;
};

struct curve {
    size_t n_steps;
    double losses[STEPS_MAX];
};

static struct program *
run_start(const struct run *run, const char *out)
{
    static char text[512];
    const char *arguments[WORDS_MAX] = {
        hooprun,
        "--no-prefix",
        "-n",
        run->n_ranks,
    };
    size_t n = 4;
    char *rest = NULL;

    snprintf(text, sizeof(text), "%s --out %s --steps %s --positions %s %s",
             train_3d, out, steps, positions, run->line);
    for (char *word = strtok_r(text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest))
        arguments[n++] = word;
    arguments[n] = NULL;
    return program_start(arguments, NULL);
}

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
    assert_string_equal(line, "step,loss\n");
    while (fgets(line, sizeof(line), file)) {
        assert_true(out_curve->n_steps < STEPS_MAX);
        assert_int_equal(
            sscanf(line, "%*u,%lf", &out_curve->losses[out_curve->n_steps++]),
            1);
    }
    fclose(file);
}

/* Removes the directory, which must have these files. */
static void
directory_remove(const char *directory)
{
    static const char *const names[] = {"loss.csv", "loss.svg", "timeline.svg"};
    char path[TEMPORARY_FILE];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(directory), 0);
}

/* The last line of the output must be "loss X" with the loss of the last
 * step. */
static void
last_line_check(const char *text, const struct curve *curve)
{
    const size_t n_bytes = strlen(text);
    double loss = 0;
    size_t begin = n_bytes;

    assert_true(n_bytes > 1 && text[n_bytes - 1] == '\n');
    for (begin = n_bytes - 1; begin > 0 && text[begin - 1] != '\n'; begin--)
        ;
    assert_int_equal(sscanf(text + begin, "loss %lf\n", &loss), 1);
    assert_true(fabs(loss - curve->losses[curve->n_steps - 1]) < 1e-8);
}

static void
curve_train(const struct run *run, struct curve *out_curve)
{
    char directory[TEMPORARY_PATH] = "hoop_train_3d_XXXXXX";
    assert_non_null(temporary_folder(directory, sizeof(directory)));
    struct program *program = run_start(run, directory);

    const int code = program_wait(program);
    if (code != 0)
        fail_msg("%s: exit %d: %s", run->line, code, program->err.text);
    curve_load(directory, out_curve);
    assert_int_equal(out_curve->n_steps, atoi(steps));
    last_line_check(program->out.text, out_curve);
    assert_non_null(strstr(program->out.text, "tokens per second"));
    assert_non_null(strstr(program->out.text, "% of the time"));
    assert_non_null(strstr(program->out.text, "by the schedule"));
    /* No progress is shown if stderr is not a terminal. */
    assert_null(strstr(program->err.text, "training ["));
    program_destroy(program);
    directory_remove(directory);
}

static void
curves_check_alike(const struct run *run,
                   const struct curve *one,
                   const struct curve *curve)
{
    for (size_t i = 0; i < one->n_steps; i++) {
        const double apart = fabs(curve->losses[i] - one->losses[i]);

        if (!(apart <= tolerance * one->losses[i]))
            fail_msg("%s: step %zu: %.9f instead of %.9f", run->line, i + 1,
                     curve->losses[i], one->losses[i]);
    }
}

/* The losses of each run must be those of one process with the same options. */
static void
runs_check(const char *options, const struct run *runs, size_t n_runs)
{
    const struct run alone = {"1", options};
    struct curve one;

    curve_train(&alone, &one);
    /* A model that knows nothing has a loss of log(128). It must learn. */
    assert_true(one.losses[0] > 4.5);
    assert_true(one.losses[one.n_steps - 1] < one.losses[0] - 0.2);
    for (size_t i = 0; i < n_runs && i < n_runs_max; i++) {
        char line[256];
        const struct run run = {runs[i].n_ranks, line};
        struct curve curve;

        snprintf(line, sizeof(line), "%s %s", options, runs[i].line);
        curve_train(&run, &curve);
        curves_check_alike(&run, &one, &curve);
    }
}

static void
loss_of_eight_processes_is_that_of_one(void **state)
{
    static const struct run runs[] = {
        {"8", "--dp 2 --tp 2 --pp 2 --schedule interleaved"},
        {"8", "--dp 2 --tp 2 --pp 2"},
        {"8", "--dp 2 --tp 2 --pp 2 --schedule gpipe"},
        {"8", "--dp 2 --tp 2 --pp 2 --sharded"},
    };

    runs_check("", runs, sizeof(runs) / sizeof(runs[0]));
}

static void
loss_does_not_depend_on_the_division(void **state)
{
    static const struct run runs[] = {
        {"2", "--tp 2"},
        {"4", "--dp 2 --pp 2"},
        {"4", "--pp 4"},
        {"8", "--tp 4 --pp 2"},
        {"4", "--tp 2 --pp 2 --replicated-rows"},
    };

    runs_check("--micro-batches 6 --windows 1", runs,
               sizeof(runs) / sizeof(runs[0]));
}

/* There are eight virtual stages, and the micro-batches are not a multiple of
 * the stages. */
static void
loss_does_not_depend_on_interleaving(void **state)
{
    static const struct run runs[] = {
        {"4", "--dp 2 --pp 2 --schedule interleaved --chunks 4 --sharded"},
        {"4", "--pp 4 --schedule interleaved"},
    };

    runs_check("--blocks 8 --micro-batches 6 --windows 1", runs,
               sizeof(runs) / sizeof(runs[0]));
}

/* Only rank 0 says what is wrong, and only once. All ranks fail. */
static void
sizes_that_do_not_fit_are_told_once(void **state)
{
    static const struct {
        struct run run;
        const char *words;
    } misfits[] = {
        {{"4", "--dp 2 --tp 2 --pp 2"}, "make 8 ranks, but 4 are here"},
        {{"3", "--tp 3"}, "--heads, 4, cannot be divided"},
        {{"2", "--dp 2 --micro-batches 7"}, "--micro-batches, 7, cannot"},
        {{"2", "--pp 2 --schedule interleaved --chunks 3"},
         "--blocks, 4, cannot"},
        {{"2", "--pp 2 --text /nowhere"}, "/nowhere (say where"},
        {{"2", "--pp 2 --out /nowhere/at/all"}, "choose another with --out"},
        {{"2", "--pp 2 --out /dev/null"}, "cannot write into /dev/null"},
    };

    for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++) {
        struct program *program = run_start(&misfits[i].run, "/tmp");

        assert_int_not_equal(program_wait(program), 0);
        if (times_in(program->err.text, misfits[i].words) != 1)
            fail_msg("%s: %s", misfits[i].run.line, program->err.text);
        assert_int_equal(times_in(program->err.text, "train_3d: "), 1);
        program_destroy(program);
    }
}

/* On a terminal a bar is shown. */
static void
progress_is_shown_on_a_terminal(void **state)
{
    char directory[TEMPORARY_PATH] = "hoop_train_3d_XXXXXX";
    assert_non_null(temporary_folder(directory, sizeof(directory)));
    const char *const arguments[] = {
        hooprun, "-n",          "2",       train_3d, "--tp",    "2", "--steps",
        "3",     "--positions", positions, "--out",  directory, NULL};
    struct program *program = program_start_on_terminal(arguments);

    assert_int_equal(program_wait(program), 0);
    assert_non_null(strstr(program->out.text, "step 3/3"));
    program_destroy(program);
    directory_remove(directory);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loss_of_eight_processes_is_that_of_one),
        cmocka_unit_test(loss_does_not_depend_on_the_division),
        cmocka_unit_test(loss_does_not_depend_on_interleaving),
        cmocka_unit_test(sizes_that_do_not_fit_are_told_once),
        cmocka_unit_test(progress_is_shown_on_a_terminal),
    };

    if (argc < 6)
        return EXIT_FAILURE;
    hooprun = argv[1];
    train_3d = argv[2];
    steps = argv[3];
    positions = argv[4];
    n_runs_max = (size_t)atoi(argv[5]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
