/* tests/unit/worker/pipeline/schedule/drawing_test.c - schedule/drawing*.c */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "pipeline/schedule/schedule.h"

/* Freed by the caller. */
static char *
drawn(const struct hoop_schedule_options *options, enum hoop_drawing drawing)
{
    CLEANUP(hoop_schedule_free) hoop_schedule_t *schedule = NULL;
    char *text = NULL;
    size_t n_bytes = 0;

    assert_ok(hoop_schedule_create(options, &schedule));
    FILE *file = open_memstream(&text, &n_bytes);
    assert_non_null(file);
    assert_ok(hoop_schedule_print(schedule, drawing, file));
    fclose(file);
    return text;
}

static size_t
n_found(const char *text, const char *word)
{
    size_t n = 0;

    for (; (text = strstr(text, word)); text++)
        n++;
    return n;
}

static void
text_has_a_line_for_each_stage(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 2, 3, 1};
    CLEANUP(free) char *text = drawn(&options, HOOP_DRAW_TEXT);

    assert_string_equal(
        text,
        "1F1B: 2 stages, 3 micro-batches; 12 units of time, 25.0 % bubble, 2 "
        "activations kept\n"
        "stage   0 |01..aa2bb.cc|\n"
        "stage   1 |.0aa1bb2cc..|\n"
        "     time  0         10\n"
        "0-9: forward, a-j: backward of the micro-batch that ends in 0-9; .: "
        "idle\n");
}

static void
text_of_several_chunks_says_which(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 1, 1, 3};
    CLEANUP(free) char *text = drawn(&options, HOOP_DRAW_TEXT);

    assert_non_null(strstr(text, "interleaved 1F1B: 1 stage x 3 chunks, 1 "
                                 "micro-batch; 9 units"));
    assert_non_null(strstr(text, "stage   0 |000aaaaaa|\n"
                                 "    chunk |012221100|\n"));
}

static void
svg_has_a_bar_for_each_computation(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 3, 4, 1};
    CLEANUP(free) char *text = drawn(&options, HOOP_DRAW_SVG);

    assert_int_equal(strncmp(text, "<svg ", 5), 0);
    assert_non_null(strstr(text, "</svg>\n"));
    /* one more each for the legend */
    assert_int_equal(n_found(text, "fill=\"#2f6fb8\""), 3 * 4 + 1);
    assert_int_equal(n_found(text, "fill=\"#2e8b57\""), 3 * 4 + 1);
    assert_int_equal(n_found(text, ">stage "), 3);
}

static void
svg_shades_chunks(void **state)
{
    const struct hoop_schedule_options options = {HOOP_INTERLEAVED, 2, 2, 2};
    CLEANUP(free) char *text = drawn(&options, HOOP_DRAW_SVG);

    assert_int_equal(n_found(text, "fill=\"#2f6fb8\""), 2 * 2 + 1);
    assert_int_equal(n_found(text, "fill=\"#77a1d0\""), 2 * 2);
    assert_non_null(strstr(text, "the paler, the later the chunk"));
}

static void
svg_of_a_long_schedule_stays_as_wide_as_a_page(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 4, 64, 1};
    CLEANUP(free) char *text = drawn(&options, HOOP_DRAW_SVG);

    assert_non_null(strstr(text, "width=\"1200\""));
}

static void
print_wrong_calls_are_refused(void **state)
{
    const struct hoop_schedule_options options = {HOOP_1F1B, 1, 1, 1};
    CLEANUP(hoop_schedule_free) hoop_schedule_t *schedule = NULL;
    FILE *full = fopen("/dev/full", "w");

    assert_non_null(full);
    assert_ok(hoop_schedule_create(&options, &schedule));
    assert_int_equal(hoop_schedule_print(NULL, HOOP_DRAW_TEXT, full),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_schedule_print(schedule, HOOP_DRAW_TEXT, NULL),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_schedule_print(schedule, (enum hoop_drawing)2, full),
                     HOOP_E_INVALID);
    assert_int_equal(hoop_schedule_print(schedule, HOOP_DRAW_SVG, full),
                     HOOP_E_UNKNOWN);
    assert_non_null(strstr(error_text(), "No space left"));
    fclose(full);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_a_line_for_each_stage),
        cmocka_unit_test(text_of_several_chunks_says_which),
        cmocka_unit_test(svg_has_a_bar_for_each_computation),
        cmocka_unit_test(svg_shades_chunks),
        cmocka_unit_test(svg_of_a_long_schedule_stays_as_wide_as_a_page),
        cmocka_unit_test(print_wrong_calls_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
