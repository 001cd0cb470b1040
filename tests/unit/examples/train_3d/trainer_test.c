/*
 * tests/unit/examples/train_3d/trainer_test.c - train_3d/trainer.c and stage.c
 *
 * On one rank; what several do, train_3d_test.c sees.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alone.h"
#include "check.h"
#include "temporary.h"
#include "train_3d/clock.h"
#include "train_3d/options.h"
#include "train_3d/text.h"
#include "train_3d/timeline.h"
#include "train_3d/trainer.h"
#include "words.h"

enum {
    STEPS = 12,
};

static const unsigned char corpus_bytes[] =
    "the cat sat on the mat. the cat sat on the mat. the cat sat on the mat.";
static const struct text corpus = {(unsigned char *)corpus_bytes,
                                   sizeof(corpus_bytes) - 1};

static struct trainer_options
options_make(enum hoop_schedule_kind schedule, uint32_t n_chunks)
{
    return (struct trainer_options){
        .sizes = {1, 1, 1},
        .dimensions =
            {
                .n_blocks = 2,
                .width = 16,
                .hidden = 16,
                .n_heads = 2,
                .n_positions = 12,
                .n_windows = 2,
                .seed = 1,
            },
        .schedule = schedule,
        .n_chunks = n_chunks,
        .n_micro_batches = 3,
        .rate = 0.03F,
    };
}

/* The losses of some steps. */
static void
losses_of(void **state,
          const struct trainer_options *options,
          double out_losses[static STEPS])
{
    const struct axes axes = {
        .world = alone_comm(state),
        .data = alone_comm(state),
        .tensor = alone_comm(state),
        .pipeline = alone_comm(state),
    };
    struct trainer trainer;

    assert_ok(trainer_init(&trainer, options, &axes, &corpus));
    for (size_t i = 0; i < STEPS; i++)
        assert_ok(trainer_step(&trainer, &out_losses[i]));

    const struct trainer_times *times = &trainer.times;
    assert_true(times->compute_ns <= times->schedule_ns);
    assert_true(times->schedule_ns <= times->total_ns);
    /* Forward and backward of each micro-batch, and what follows them. */
    assert_true(trainer.timeline.n_events >=
                2 * (size_t)options->n_micro_batches * options->n_chunks + 2);
    trainer_deinit(&trainer);
}

static void
trainer_learns_a_sentence(void **state)
{
    const struct trainer_options options = options_make(HOOP_1F1B, 1);
    double losses[STEPS];

    losses_of(state, &options, losses);
    assert_true(losses[0] > 4.5);
    assert_true(losses[STEPS - 1] < losses[0] - 1);
}

/* Micro-batches go backward in one order whatever the schedule: to the bit. */
static void
trainer_loss_does_not_depend_on_the_schedule(void **state)
{
    const struct trainer_options others[] = {options_make(HOOP_GPIPE, 1),
                                             options_make(HOOP_INTERLEAVED, 2)};
    const struct trainer_options options = options_make(HOOP_1F1B, 1);
    double losses[STEPS];

    losses_of(state, &options, losses);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        double same[STEPS];

        losses_of(state, &others[i], same);
        assert_memory_equal(losses, same, sizeof(losses));
    }
}

static void
trainer_of_another_seed_has_another_loss(void **state)
{
    const struct trainer_options options = options_make(HOOP_1F1B, 1);
    struct trainer_options other = options;
    double losses[STEPS];
    double different[STEPS];

    other.dimensions.seed = 2;
    losses_of(state, &options, losses);
    losses_of(state, &other, different);
    assert_true(losses[0] != different[0]);
}

/* These cases test train_3d/timeline.c. */

/* The caller frees it. */
static char *
drawing_of(const struct hoop_objects *stages)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *file = open_memstream(&text, &n_bytes);

    assert_non_null(file);
    timeline_draw(stages, file);
    fclose(file);
    return text;
}

static void
timeline_events_count_from_its_begin(void **state)
{
    struct timeline timeline;

    timeline_init(&timeline, 2);
    timeline_begin(&timeline);
    const uint64_t begin_ns = timeline.begin_ns;
    assert_true(begin_ns <= clock_ns());
    for (uint64_t i = 0; i < 3; i++)
        timeline_add(&timeline, &(struct event){.begin_ns = begin_ns + i,
                                                .end_ns = begin_ns + i + 7});
    assert_int_equal(timeline.n_events, 2);
    assert_int_equal(timeline.events[1].begin_ns, 1);
    assert_int_equal(timeline.events[1].end_ns, 8);
    /* What is not drawn counts, too. */
    assert_int_equal(timeline.total_ns[EVENT_FORWARD], 21);

    timeline_begin(&timeline);
    assert_int_equal(timeline.n_events, 0);
    assert_int_equal(timeline.total_ns[EVENT_FORWARD], 21);

    timeline_end(&timeline, EVENT_UPDATE, timeline.begin_ns);
    assert_int_equal(timeline.events[0].begin_ns, 0);
    assert_int_equal(timeline.events[0].end_ns,
                     timeline.total_ns[EVENT_UPDATE]);
    timeline_deinit(&timeline);
}

static void
timeline_drawing_has_a_bar_for_each_event(void **state)
{
    const struct event events[] = {
        {0, 500, EVENT_FORWARD, 3, 0, 0},
        {500, 900, EVENT_BACKWARD, 3, 1, 0},
        {990, 1000, EVENT_UPDATE, 0, 0, 0},
    };
    const struct hoop_object objects[] = {{events, sizeof(events)},
                                          {events, sizeof(events[0])}};
    char *text = drawing_of(&(struct hoop_objects){2, objects});

    assert_ptr_equal(strstr(text, "<svg "), text);
    assert_non_null(strstr(text, "</svg>\n"));
    assert_int_equal(times_in(text, "stroke-width=\"0.5\""), 4);
    assert_int_equal(times_in(text, ">stage "), 2);
    /* Wide bars say which micro-batch. */
    assert_int_equal(times_in(text, ">3</text>"), 3);
    free(text);
}

static void
timeline_of_no_events_is_a_drawing(void **state)
{
    const struct hoop_object none = {NULL, 0};
    char *text = drawing_of(&(struct hoop_objects){1, &none});

    assert_non_null(strstr(text, "</svg>\n"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
}

/* These cases test train_3d/options.c. */

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
    for (size_t i = 0; i < sizeof(misfits) / sizeof(misfits[0]); i++) {
        const struct options options = line_parse(misfits[i].line);
        char problem[PROBLEM_BYTES] = "";

        assert_false(options_fit(&options, 8, problem));
        if (!strstr(problem, misfits[i].words))
            fail_msg("%s: %s", misfits[i].line, problem);
    }
}

/* These cases test train_3d/text.c. */

static enum hoop_status
bytes_load(const char *bytes, size_t n_bytes, struct text *out_text)
{
    char path[TEMPORARY_PATH] = "hoop_text_XXXXXX";
    const int fd = temporary_file(path, sizeof(path));

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n_bytes), n_bytes);
    close(fd);
    const enum hoop_status status = text_load(path, out_text);
    unlink(path);
    return status;
}

static void
text_shipped_file_is_whole(void **state)
{
    struct text text = {0};

    assert_ok(text_load(DEVILS_DICTIONARY, &text));
    assert_in_range(text.n_bytes, 300000, 500000);
    assert_memory_equal(text.bytes, "PREFACE\n", 8);
    text_deinit(&text);
}

static void
text_that_cannot_be_learnt_is_refused(void **state)
{
    struct text text = {0};

    assert_int_equal(bytes_load("", 0, &text), HOOP_E_INVALID);
    assert_int_equal(bytes_load("caf\xc3\xa9", 5, &text), HOOP_E_INVALID);
    assert_int_equal(text_load("/nowhere/text", &text), HOOP_E_NOT_FOUND);
    assert_null(text.bytes);
}

/* Every window is a piece of the text, each token's next byte is there. */
static void
text_windows_are_pieces_of_it(void **state)
{
    const struct windows windows = {.seed = 4, .first = 9, .n_positions = 4};
    struct text text = {0};
    struct token tokens[12];

    assert_ok(bytes_load("abcdefg", 7, &text));
    text_cut(&text, &windows, span_all(12), tokens);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(tokens[i].position, i % 4);
        assert_int_equal(tokens[i].next, tokens[i].seen + 1);
        assert_in_range(tokens[i].next, 'b', 'g');
        if (i % 4 > 0)
            assert_int_equal(tokens[i].seen, tokens[i - 1].next);
    }
    text_deinit(&text);
}

/* Who has half of the rows sees the same as who has all; so does who begins
 * with a later window. */
static void
text_rows_do_not_depend_on_who_asks(void **state)
{
    const struct windows windows = {.seed = 4, .first = 0, .n_positions = 4};
    const struct windows later = {.seed = 4, .first = 2, .n_positions = 4};
    struct text text = {0};
    struct token all[12];
    struct token some[6];

    assert_ok(bytes_load("abcdefghijklmn", 14, &text));
    text_cut(&text, &windows, span_all(12), all);
    text_cut(&text, &windows, span_part(12, 1, 2), some);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(some[i].seen, all[6 + i].seen);
    text_cut(&text, &later, span_all(4), some);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(some[i].seen, all[8 + i].seen);
    text_deinit(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trainer_learns_a_sentence),
        cmocka_unit_test(trainer_loss_does_not_depend_on_the_schedule),
        cmocka_unit_test(trainer_of_another_seed_has_another_loss),
        cmocka_unit_test(timeline_events_count_from_its_begin),
        cmocka_unit_test(timeline_drawing_has_a_bar_for_each_event),
        cmocka_unit_test(timeline_of_no_events_is_a_drawing),
        cmocka_unit_test(options_without_any_are_one_rank),
        cmocka_unit_test(options_say_how_to_divide),
        cmocka_unit_test(options_that_do_not_fit_say_why),
        cmocka_unit_test(text_shipped_file_is_whole),
        cmocka_unit_test(text_that_cannot_be_learnt_is_refused),
        cmocka_unit_test(text_windows_are_pieces_of_it),
        cmocka_unit_test(text_rows_do_not_depend_on_who_asks),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
