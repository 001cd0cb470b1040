/*
 * schedule/drawing_svg.c - draws a bar for each forward and backward over time
 *
 * Forwards are blue and backwards green, paler in later chunks; idle time is
 * grey. Bars are as wide as the picture allows. A bar shows the number of its
 * micro-batch if there is room.
 */

#include "schedule/drawing.h"
#include "schedule/schedule.h"

enum {
    LEFT = 74, /* left margin, in pixels */
    RIGHT = 24,
    TOP = 44,
    LEGEND = 34, /* from the axis down to the legend */
    ROW = 30,    /* height of a stage with the gap below it */
    BAR = 24,
    UNIT_MAX = 24, /* width of a unit of time */
    WIDTH_MAX = 1200,
    WIDTH_MIN = 720,
    DIGIT = 7, /* width */
    UNIT_WITH_GAP = 6,
    TICKS_MAX = 24,
};

static const double UNIT_MIN = 2;

struct picture {
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
greater(double a, double b)
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
x_at(const struct picture *picture, double time)
{
    return LEFT + picture->unit * time;
}

static int
y_of(uint32_t stage)
{
    return TOP + ROW * (int)stage;
}

static int
n_digits(uint32_t number)
{
    int n = 1;

    for (; number >= 10; number /= 10)
        n++;
    return n;
}

static void
bar_draw(const struct picture *picture,
         uint32_t stage,
         const struct hoop_task *task)
{
    const struct timetable *timetable = picture->drawing->timetable;
    const uint32_t n_chunks = picture->drawing->schedule->options.n_chunks;
    const double begin = timetable_begin(timetable, stage, task);
    const double end = timetable_end(timetable, stage, task);
    const double width = picture->unit * (end - begin);
    const struct color color = task_color(task, n_chunks);
    const double gap = picture->unit < UNIT_WITH_GAP ? 0 : 1;
    const int y = y_of(stage);

    fprintf(picture->file,
            "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" "
            "fill=\"#%02x%02x%02x\"/>\n",
            x_at(picture, begin), y, width - gap, BAR, color.red, color.green,
            color.blue);
    if (width < DIGIT * n_digits(task->micro_batch) + 2)
        return;
    fprintf(picture->file,
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" "
            "fill=\"%s\">%u</text>\n",
            x_at(picture, begin) + width / 2, y + BAR - 8,
            color.red > 100 ? "#222" : "#fff", task->micro_batch);
}

static void
stage_draw(const struct picture *picture, uint32_t stage)
{
    const struct hoop_schedule *schedule = picture->drawing->schedule;
    const size_t end = schedule->firsts[stage + 1];

    fprintf(picture->file,
            "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">stage %u</text>\n"
            "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" "
            "fill=\"#e8e8e8\"/>\n",
            LEFT - 8, y_of(stage) + BAR - 8, stage, LEFT, y_of(stage),
            picture->unit * picture->drawing->timetable->makespan, BAR);
    for (size_t i = schedule->firsts[stage]; i < end; i++) {
        if (task_is_computed(&schedule->tasks[i]))
            bar_draw(picture, stage, &schedule->tasks[i]);
    }
}

/* Returns the smallest step of 1, 2 or 5 times a power of ten with which the
 * axis has at most TICKS_MAX ticks, not counting the one at 0. */
static double
tick_step(double makespan)
{
    static const double steps[] = {1, 2, 5};
    double power = 1;

    for (;; power *= 10) {
        for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
            if (makespan <= TICKS_MAX * steps[i] * power)
                return steps[i] * power;
        }
    }
}

static void
axis_draw(const struct picture *picture)
{
    const double makespan = picture->drawing->timetable->makespan;
    const double step = tick_step(makespan);

    fprintf(picture->file, "<path d=\"M%d %dH%.1f\" stroke=\"#333\"/>\n", LEFT,
            picture->bottom, x_at(picture, makespan));
    for (double time = 0; time <= makespan; time += step)
        fprintf(picture->file,
                "<path d=\"M%.1f %dv5\" stroke=\"#333\"/>\n"
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n",
                x_at(picture, time), picture->bottom, x_at(picture, time),
                picture->bottom + 18, time);
}

static void
legend_entry(const struct picture *picture,
             int x,
             const char *fill,
             const char *text)
{
    const int y = picture->bottom + LEGEND;

    fprintf(picture->file,
            "<rect x=\"%d\" y=\"%d\" width=\"14\" height=\"14\" "
            "fill=\"%s\"/>\n"
            "<text x=\"%d\" y=\"%d\">%s</text>\n",
            x, y, fill, x + 20, y + 11, text);
}

static void
legend_draw(const struct picture *picture)
{
    const bool has_chunks = picture->drawing->schedule->options.n_chunks > 1;

    legend_entry(picture, LEFT, "#2f6fb8", "forward");
    legend_entry(picture, LEFT + 90, "#2e8b57", "backward");
    legend_entry(picture, LEFT + 190, "#e8e8e8", "idle");
    fprintf(picture->file, "<text x=\"%d\" y=\"%d\">%s%s</text>\n", LEFT + 260,
            picture->bottom + LEGEND + 11,
            "the number is the micro-batch's; time in units",
            has_chunks ? "; the paler, the later the chunk" : "");
}

static void
frame_draw(const struct picture *picture)
{
    fprintf(picture->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "viewBox=\"0 0 %.0f %d\" width=\"%.0f\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"26\" font-size=\"15\">%s</text>\n",
            picture->width, picture->height, picture->width, picture->height,
            LEFT, picture->drawing->title);
}

enum hoop_status
drawing_svg(const struct drawing *drawing, FILE *file)
{
    const uint32_t n_stages = drawing->schedule->options.n_stages;
    const double makespan = drawing->timetable->makespan;
    const double room = (WIDTH_MAX - LEFT - RIGHT) / makespan;
    struct picture picture = {
        .drawing = drawing,
        .file = file,
        .unit = room < UNIT_MAX ? greater(room, UNIT_MIN) : UNIT_MAX,
        .bottom = y_of(n_stages) + 4,
    };

    picture.width = greater(LEFT + RIGHT + picture.unit * makespan, WIDTH_MIN);
    picture.height = picture.bottom + LEGEND + 28;
    frame_draw(&picture);
    for (uint32_t stage = 0; stage < n_stages; stage++)
        stage_draw(&picture, stage);
    axis_draw(&picture);
    legend_draw(&picture);
    fputs("</svg>\n", file);
    return HOOP_OK;
}
