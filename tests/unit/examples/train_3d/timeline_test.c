/* tests/unit/examples/train_3d/timeline_test.c - train_3d/timeline.c */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "train_3d/clock.h"
#include "train_3d/timeline.h"

static size_t
times_in(const char *text, const char *part)
{
    size_t n = 0;

    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

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

    (void)state;
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

    (void)state;
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

    (void)state;
    assert_non_null(strstr(text, "</svg>\n"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf"));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(timeline_events_count_from_its_begin),
        cmocka_unit_test(timeline_drawing_has_a_bar_for_each_event),
        cmocka_unit_test(timeline_of_no_events_is_a_drawing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
