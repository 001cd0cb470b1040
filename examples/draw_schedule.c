/*
 * examples/draw_schedule.c - draws which stage of a pipeline does what when
 *
 * draw_schedule KIND STAGES MICRO_BATCHES [CHUNKS] [svg]
 *
 * KIND is gpipe, 1f1b or interleaved. The program writes text to standard
 * output, or an SVG file if the last word is svg. It needs no session and no
 * other process.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/schedule.h"

static const struct {
    const char *name;
    enum hoop_schedule_kind kind;
} kinds[] = {
    {"gpipe", HOOP_GPIPE},
    {"1f1b", HOOP_1F1B},
    {"interleaved", HOOP_INTERLEAVED},
};

/* Returns 0 if there is no such kind. */
static int
kind_of(const char *name, enum hoop_schedule_kind *out_kind)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(name, kinds[i].name) == 0) {
            *out_kind = kinds[i].kind;
            return 1;
        }
    }
    return 0;
}

static uint32_t
number_of(const char *text)
{
    return (uint32_t)strtoul(text, NULL, 10);
}

int
main(int argc, char **argv)
{
    const int is_svg = argc > 1 && strcmp(argv[argc - 1], "svg") == 0;
    const int n_words = argc - is_svg;
    struct hoop_schedule_options options = {.n_chunks = 1};
    hoop_schedule_t *schedule = NULL;

    if (n_words < 4 || n_words > 5 || !kind_of(argv[1], &options.kind)) {
        fprintf(stderr, "usage: draw_schedule gpipe|1f1b|interleaved STAGES "
                        "MICRO_BATCHES [CHUNKS] [svg]\n");
        return 2;
    }
    options.n_stages = number_of(argv[2]);
    options.n_micro_batches = number_of(argv[3]);
    if (n_words == 5)
        options.n_chunks = number_of(argv[4]);

    if (hoop_schedule_create(&options, &schedule) != HOOP_OK ||
        hoop_schedule_print(schedule, is_svg ? HOOP_DRAW_SVG : HOOP_DRAW_TEXT,
                            stdout) != HOOP_OK) {
        fprintf(stderr, "draw_schedule: %s\n", hoop_error_text());
        hoop_schedule_free(schedule);
        return 1;
    }
    hoop_schedule_free(schedule);
    return 0;
}
