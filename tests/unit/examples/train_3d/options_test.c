/* tests/unit/examples/train_3d/options_test.c - train_3d/options.c */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "train_3d/options.h"
#include "words.h"

enum {
    WORDS_MAX = 16,
    LINE_MAX_BYTES = 256,
};

/* What the words of a line make of the options. */
static struct options
line_parse(const char *line)
{
    static char text[LINE_MAX_BYTES];
    char *words[WORDS_MAX] = {(char *)"train_3d"};
    struct options options;

    assert_true(strlen(line) < sizeof(text));
    strcpy(text, line);
    const size_t n_words = words_cut(text, words + 1, WORDS_MAX - 1);
    options_parse((int)n_words + 1, words, &options);
    return options;
}

static void
options_without_any_are_one_rank(void **state)
{
    const struct options options = line_parse("");
    char problem[PROBLEM_BYTES];

    (void)state;
    assert_true(options_fit(&options, 1, problem));
    assert_int_equal(options.n_steps, 50);
    assert_int_equal(options.trainer.schedule, HOOP_1F1B);
    assert_int_equal(options.trainer.n_chunks, 1);
    assert_int_equal(options.trainer.place, OPTIMIZER_REPLICATED);
}

static void
options_say_how_to_divide(void **state)
{
    const struct options options = line_parse(
        "--dp 2 --tp 4 --pp 2 --schedule interleaved --sharded --seed 9");
    char problem[PROBLEM_BYTES];

    (void)state;
    assert_true(options_fit(&options, 16, problem));
    assert_int_equal(options.trainer.sizes.data, 2);
    assert_int_equal(options.trainer.sizes.tensor, 4);
    assert_int_equal(options.trainer.sizes.pipeline, 2);
    assert_int_equal(options.trainer.schedule, HOOP_INTERLEAVED);
    assert_int_equal(options.trainer.n_chunks, 2);
    assert_int_equal(options.trainer.place, OPTIMIZER_SHARDED);
    assert_int_equal(options.trainer.dimensions.seed, 9);
}

/* What does not fit, on eight ranks, and what the sentence must say of it. */
static const struct {
    const char *line;
    const char *words;
} misfits[] = {
    {"--dp 2 --tp 2", "--dp 2 x --tp 2 x --pp 1 make 4 ranks, but 8 are here"},
    {"--dp 1048576 --tp 1048576 --pp 1048576",
     "hooprun -n 1152921504606846976"},
    {"--tp 8", "--heads, 4, cannot be divided equally by --tp, 8"},
    {"--tp 8 --heads 8 --hidden 4", "--hidden, 4,"},
    {"--tp 8 --heads 8 --windows 1 --positions 9",
     "--windows x --positions, 9"},
    {"--tp 8 --heads 8 --width 36 --replicated-rows", "--width, 36,"},
    {"--tp 8 --heads 24", "--width, 32,"},
    {"--pp 8", "--blocks, 4, cannot be divided equally by --pp x --chunks, 8"},
    {"--pp 8 --blocks 8 --schedule interleaved", "--pp x --chunks, 16"},
    {"--dp 8 --micro-batches 12", "--micro-batches, 12,"},
    {"--dp 8 --chunks 2", "--schedule interleaved only"},
    {"--pp 8 --blocks 8 --schedule gpipe --chunks 2", "--chunks 2"},
};

static void
options_that_do_not_fit_say_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++) {
        const struct options options = line_parse(misfits[i].line);
        char problem[PROBLEM_BYTES] = "";

        assert_false(options_fit(&options, 8, problem));
        if (!strstr(problem, misfits[i].words))
            fail_msg("%s: %s", misfits[i].line, problem);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_without_any_are_one_rank),
        cmocka_unit_test(options_say_how_to_divide),
        cmocka_unit_test(options_that_do_not_fit_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
