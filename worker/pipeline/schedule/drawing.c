/* pipeline/schedule/drawing.c - hoop_schedule_print(): checks a schedule and
 * draws it */

#include "pipeline/schedule/drawing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "pipeline/schedule/pattern.h"
#include "pipeline/schedule/schedule.h"

/*
 * Draws a bar for each forward and backward over time.
 *
 * Forwards are blue and backwards green, paler in later chunks; idle time is
 * grey. Bars are as wide as the picture allows. A bar shows the number of
 * its micro-batch if there is room.
 */

enum {
    PICTURE_MARGIN_LEFT = 74, /* left margin, in pixels */
    RIGHT = 24,
    PICTURE_MARGIN_TOP = 44,
    LEGEND_OFFSET_Y = 34,  /* from the axis down to the legend */
    STAGE_ROW_HEIGHT = 30, /* height of a stage with the gap below it */
    TASK_BAR_HEIGHT = 24,
    TIME_UNIT_WIDTH_MAX = 24, /* width of a unit of time */
    PICTURE_WIDTH_MAX = 1200,
    PICTURE_WIDTH_MIN = 720,
    DIGIT_WIDTH = 7, /* width */
    BAR_GAP_MIN_UNIT_WIDTH = 6,
    TIME_AXIS_TICKS_MAX = 24,
};

static const double TIME_UNIT_WIDTH_MIN = 2;

struct svg_picture {
    const struct drawing *drawing;
    FILE *file;
    double unit; /* width of a unit of time */
    double width;
    int height;
    int bottom; /* lower edge of the last stage */
};

struct color {
    int red;
    int green;
    int blue;
};

static double
larger_of(double a, double b)
{
    return a > b ? a : b;
}

static struct color
task_color(const struct hoop_task *task, uint32_t n_chunks)
{
    const struct color color = task->kind == HOOP_TASK_FORWARD
                                   ? (struct color){47, 111, 184}
                                   : (struct color){46, 139, 87};
    const double pale = 0.7 * task->chunk / n_chunks;

    return (struct color){
        .red = (int)(color.red + pale * (255 - color.red)),
        .green = (int)(color.green + pale * (255 - color.green)),
        .blue = (int)(color.blue + pale * (255 - color.blue)),
    };
}

static double
svg_x_of_time(const struct svg_picture *svg_picture, double time)
{
    return PICTURE_MARGIN_LEFT + svg_picture->unit * time;
}

static int
svg_y_of_stage(uint32_t stage)
{
    return PICTURE_MARGIN_TOP + STAGE_ROW_HEIGHT * (int)stage;
}

static int
decimal_digits_count(uint32_t number)
{
    int n = 1;

    for (; number >= 10; number /= 10)
        n++;
    return n;
}

static void
task_bar_draw(const struct svg_picture *svg_picture,
              uint32_t stage,
              const struct hoop_task *task)
{
    const struct timetable *timetable = svg_picture->drawing->timetable;
    const uint32_t n_chunks = svg_picture->drawing->schedule->options.n_chunks;
    const double begin = timetable_task_begin(timetable, stage, task);
    const double end = timetable_task_end(timetable, stage, task);
    const double width = svg_picture->unit * (end - begin);
    const struct color color = task_color(task, n_chunks);
    const double gap = svg_picture->unit < BAR_GAP_MIN_UNIT_WIDTH ? 0 : 1;
    const int y = svg_y_of_stage(stage);

    fprintf(svg_picture->file,
            "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" "
            "fill=\"#%02x%02x%02x\"/>\n",
            svg_x_of_time(svg_picture, begin), y, width - gap, TASK_BAR_HEIGHT,
            color.red, color.green, color.blue);
    if (width < DIGIT_WIDTH * decimal_digits_count(task->micro_batch) + 2)
        return;
    fprintf(svg_picture->file,
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" "
            "fill=\"%s\">%u</text>\n",
            svg_x_of_time(svg_picture, begin) + width / 2,
            y + TASK_BAR_HEIGHT - 8, color.red > 100 ? "#222" : "#fff",
            task->micro_batch);
}

static void
stage_row_draw(const struct svg_picture *svg_picture, uint32_t stage)
{
    const struct hoop_schedule *schedule = svg_picture->drawing->schedule;
    const size_t end = schedule->firsts[stage + 1];

    fprintf(svg_picture->file,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">stage %u</text>\n"
            "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" "
            "fill=\"#e8e8e8\"/>\n",
            PICTURE_MARGIN_LEFT - 8,
            svg_y_of_stage(stage) + TASK_BAR_HEIGHT - 8, stage,
            PICTURE_MARGIN_LEFT, svg_y_of_stage(stage),
            svg_picture->unit * svg_picture->drawing->timetable->makespan,
            TASK_BAR_HEIGHT);
    for (size_t i = schedule->firsts[stage]; i < end; i++) {
        if (task_is_compute(&schedule->tasks[i]))
            task_bar_draw(svg_picture, stage, &schedule->tasks[i]);
    }
}

/* Returns the smallest step of 1, 2 or 5 times a power of ten with which the
 * axis has at most TIME_AXIS_TICKS_MAX ticks, not counting the one at 0. */
static double
time_axis_tick_step(double makespan)
{
    static const double steps[] = {1, 2, 5};
    double power = 1;

    for (;; power *= 10) {
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
            if (makespan <= TIME_AXIS_TICKS_MAX * steps[i] * power)
                return steps[i] * power;
        }
    }
}

static void
time_axis_draw(const struct svg_picture *svg_picture)
{
    const double makespan = svg_picture->drawing->timetable->makespan;
    const double step = time_axis_tick_step(makespan);

    fprintf(svg_picture->file, "<path d=\"M%d %dH%.1f\" stroke=\"#333\"/>\n",
            PICTURE_MARGIN_LEFT, svg_picture->bottom,
            svg_x_of_time(svg_picture, makespan));
    for (double time = 0; time <= makespan; time += step)
        fprintf(svg_picture->file,
                "<path d=\"M%.1f %dv5\" stroke=\"#333\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                svg_x_of_time(svg_picture, time), svg_picture->bottom,
                svg_x_of_time(svg_picture, time), svg_picture->bottom + 18,
                time);
}

static void
legend_entry_draw(const struct svg_picture *svg_picture,
                  int x,
                  const char *fill,
                  const char *text)
{
    const int y = svg_picture->bottom + LEGEND_OFFSET_Y;

    fprintf(svg_picture->file,
            "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" "
            "fill=\"%s\"/>\n"
            "<text x=\"%d\" y=\"%d\">%s</text>\n",
            x, y, fill, x + 20, y + 11, text);
}

static void
legend_draw(const struct svg_picture *svg_picture)
{
    const bool has_chunks =
        svg_picture->drawing->schedule->options.n_chunks > 1;

    legend_entry_draw(svg_picture, PICTURE_MARGIN_LEFT, "#2f6fb8", "forward");
    legend_entry_draw(svg_picture, PICTURE_MARGIN_LEFT + 90, "#2e8b57",
                      "backward");
    legend_entry_draw(svg_picture, PICTURE_MARGIN_LEFT + 190, "#e8e8e8",
                      "idle");
    fprintf(svg_picture->file, "<text x=\"%d\" y=\"%d\">%s%s</text>\n",
            PICTURE_MARGIN_LEFT + 260,
            svg_picture->bottom + LEGEND_OFFSET_Y + 11,
            "the number is the micro-batch's; time in units",
            has_chunks ? "; the paler, the later the chunk" : "");
}

static void
svg_header_draw(const struct svg_picture *svg_picture)
{
    fprintf(svg_picture->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "viewBox=\"0 0 %.0f %d\" width=\"%.0f\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"26\" font-size=\"15\">%s</text>\n",
            svg_picture->width, svg_picture->height, svg_picture->width,
            svg_picture->height, PICTURE_MARGIN_LEFT,
            svg_picture->drawing->title);
}

enum hoop_status
drawing_svg(const struct drawing *drawing, FILE *file)
{
    const uint32_t n_stages = drawing->schedule->options.n_stages;
    const double makespan = drawing->timetable->makespan;
    const double room =
        (PICTURE_WIDTH_MAX - PICTURE_MARGIN_LEFT - RIGHT) / makespan;
    struct svg_picture svg_picture = {
        .drawing = drawing,
        .file = file,
        .unit = room < TIME_UNIT_WIDTH_MAX
                    ? larger_of(room, TIME_UNIT_WIDTH_MIN)
                    : TIME_UNIT_WIDTH_MAX,
        .bottom = svg_y_of_stage(n_stages) + 4,
    };

    svg_picture.width =
        larger_of(PICTURE_MARGIN_LEFT + RIGHT + svg_picture.unit * makespan,
                  PICTURE_WIDTH_MIN);
    svg_picture.height = svg_picture.bottom + LEGEND_OFFSET_Y + 28;
    svg_header_draw(&svg_picture);
    for (uint32_t stage = 0; stage < n_stages; stage++)
        stage_row_draw(&svg_picture, stage);
    time_axis_draw(&svg_picture);
    legend_draw(&svg_picture);
    fputs("</svg>\n", file);
    return HOOP_OK;
}

/*
 * Draws a line per stage, a character per unit of time.
 *
 * A forward is shown as the last digit of its micro-batch, a backward as the
 * letter of that digit. If a stage has several chunks, a second line shows
 * the chunk.
 */

enum {
    TEXT_TICK_INTERVAL = 10,
    MICRO_BATCH_CHARS = 10, /* ten digits and ten letters */
};

static void
task_chars_fill(const struct drawing *drawing,
                uint32_t stage,
                const struct hoop_task *task,
                char *line,
                char mark)
{
    const double begin = timetable_task_begin(drawing->timetable, stage, task);
    const double end = timetable_task_end(drawing->timetable, stage, task);

    memset(line + (size_t)begin, mark, (size_t)(end - begin));
}

static char
task_char(const struct hoop_task *task)
{
    const char first = task->kind == HOOP_TASK_FORWARD ? '0' : 'a';

    return (char)(first + (char)(task->micro_batch % MICRO_BATCH_CHARS));
}

static char
chunk_char(const struct hoop_task *task)
{
    return (char)('0' + (char)(task->chunk % MICRO_BATCH_CHARS));
}

static void
stage_print(const struct drawing *drawing,
            uint32_t stage,
            char *line,
            FILE *file)
{
    const struct hoop_schedule *schedule = drawing->schedule;
    const struct hoop_task *end = schedule->tasks + schedule->firsts[stage + 1];
    const struct hoop_task *first = schedule->tasks + schedule->firsts[stage];
    const size_t n_units = strlen(line);

    memset(line, '.', n_units);
    for (const struct hoop_task *task = first; task < end; task++) {
        if (task_is_compute(task))
            task_chars_fill(drawing, stage, task, line, task_char(task));
    }
    fprintf(file, "stage %3u |%s|\n", stage, line);
    if (schedule->options.n_chunks == 1)
        return;
    memset(line, ' ', n_units);
    for (const struct hoop_task *task = first; task < end; task++) {
        if (task_is_compute(task))
            task_chars_fill(drawing, stage, task, line, chunk_char(task));
    }
    fprintf(file, "    chunk |%s|\n", line);
}

static void
time_axis_print(size_t n_units, FILE *file)
{
    fputs("     time  ", file);
    for (size_t at = 0; at < n_units; at += TEXT_TICK_INTERVAL)
        fprintf(file, "%-*zu",
                at + TEXT_TICK_INTERVAL < n_units ? TEXT_TICK_INTERVAL : 0, at);
    fputs("\n", file);
}

enum hoop_status
drawing_text(const struct drawing *drawing, FILE *file)
{
    const size_t n_units = (size_t)drawing->timetable->makespan;
    CLEANUP(free) char *line = malloc(n_units + 1);

    if (!line)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu characters",
                           n_units);
    memset(line, '.', n_units);
    line[n_units] = '\0';
    fprintf(file, "%s\n", drawing->title);
    for (uint32_t i = 0; i < drawing->schedule->options.n_stages; i++)
        stage_print(drawing, i, line, file);
    time_axis_print(n_units, file);
    fputs("0-9: forward, a-j: backward of the micro-batch that ends in 0-9; "
          ".: idle\n",
          file);
    return HOOP_OK;
}

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
        status = timetable_init(&timetable, schedule, &TIMETABLE_DEFAULT_UNITS);
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
