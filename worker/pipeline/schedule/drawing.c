/* pipeline/schedule/drawing.c - hoop_schedule_print(): checks a schedule and draws it */

#include "pipeline/schedule/drawing.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "pipeline/schedule/pattern.h"
#include "pipeline/schedule/schedule.h"

static void
drawing_title_format(const struct hoop_schedule *schedule,
                     const struct hoop_schedule_cost *cost,
                     char title[DRAWING_TITLE_MAX])
{
    const struct hoop_schedule_options *options = &schedule->options;
    char chunks[32] = "";

    if (options->n_chunks > 1)
        snprintf(chunks, sizeof(chunks), " x %u chunks", options->n_chunks);
    snprintf(title, DRAWING_TITLE_MAX,
             "%s: %u stage%s%s, %u micro-batch%s; %g units of time, %.1f %% "
             "bubble, %u activation%s kept",
             pattern_find(options->kind)->name, options->n_stages,
             options->n_stages == 1 ? "" : "s", chunks,
             options->n_micro_batches,
             options->n_micro_batches == 1 ? "" : "es", cost->makespan,
             100 * cost->bubble, cost->n_live, cost->n_live == 1 ? "" : "s");
}

static enum hoop_status
drawing_write(const struct drawing *drawing, enum hoop_drawing form, FILE *file)
{
    switch (form) {
    case HOOP_DRAW_TEXT:
        return drawing_text(drawing, file);
    case HOOP_DRAW_SVG:
        return drawing_svg(drawing, file);
    }
    return error_raise(HOOP_E_INVALID, "drawing %d is no enum hoop_drawing",
                       (int)form);
}

enum hoop_status
hoop_schedule_print(const hoop_schedule_t *schedule,
                    enum hoop_drawing drawing,
                    FILE *file)
{
    struct hoop_schedule_cost cost = {0};
    struct timetable timetable;
    char title[DRAWING_TITLE_MAX];

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!schedule || !file)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           schedule ? "file" : "schedule");
    enum hoop_status status = hoop_schedule_check(schedule, &cost);
    if (status == HOOP_OK)
        status = timetable_init(&timetable, schedule, &TIMETABLE_UNITS);
    if (status != HOOP_OK)
        return error_pass(status);
    drawing_title_format(schedule, &cost, title);
    status = drawing_write(
        &(struct drawing){
            .schedule = schedule,
            .timetable = &timetable,
            .title = title,
        },
        drawing, file);
    timetable_deinit(&timetable);
    if (status != HOOP_OK)
        return error_pass(status);
    if (fflush(file) != 0 || ferror(file))
        return error_raise(HOOP_E_UNKNOWN,
                           "the drawing could not be written: %s; is the file "
                           "open for writing, and is there space?",
                           strerror(errno));
    return HOOP_OK;
}
