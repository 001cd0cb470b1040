/*
 * hoop-sim/picture.c - draws a study as SVG
 *
 * The points of a panel are consecutive in the study, so a panel is a range of
 * it. Costs, and so the lines, rise to the right; the upper left corner of a
 * panel is free for its legend.
 */

#include "hoop-sim/picture.h"

#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hoop-perf/byte_size.h"
#include "hoop-sim/log_scale.h"

enum {
    PANEL_WIDTH = 430,
    PANEL_HEIGHT = 300,
    MARGIN_LEFT = 62,
    MARGIN_RIGHT = 18,
    MARGIN_TOP = 30,
    MARGIN_BOTTOM = 44,
    LEGEND_LINE = 15,
    LABEL_GAP_MIN = 38, /* between two names of the lower axis */
    COLUMNS_MAX = 3,
};

/* Also distinct for colour-blind readers. */
static const char *const colours[] = {
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000",
    "#7f3fbf", "#8b0000", "#808080", "#6b8e23", "#a0522d", "#ff69b4", "#008080",
};

enum axis {
    AXIS_RANKS,
    AXIS_SIZES,
};

struct picture {
    FILE *file;
    const struct study *study;
    enum axis axis;
    const char *names[OPTIONS_NAMES_MAX]; /* of algorithms, by colour */
    size_t n_names;
};

/* The points first to end - 1, drawn at left, top. */
struct panel {
    size_t first;
    size_t end;
    double left;
    double top;
    struct log_scale x;
    struct log_scale y;
};

static double
point_x(const struct picture *picture, const struct study_point *point)
{
    return picture->axis == AXIS_RANKS ? (double)point->n_ranks
                                       : (double)point->n_bytes;
}

static const char *
colour_of(struct picture *picture, const char *algorithm)
{
    size_t i = 0;

    while (i < picture->n_names && strcmp(picture->names[i], algorithm) != 0)
        i++;
    if (i == picture->n_names && i < OPTIONS_NAMES_MAX)
        picture->names[picture->n_names++] = algorithm;
    return colours[i % (sizeof(colours) / sizeof(colours[0]))];
}

static bool
is_same_panel(const struct picture *picture,
              const struct study_point *one,
              const struct study_point *other)
{
    return strcmp(one->collective, other->collective) == 0 &&
           (picture->axis == AXIS_SIZES || one->n_bytes == other->n_bytes);
}

static size_t
panel_end(const struct picture *picture, size_t first)
{
    const struct study *study = picture->study;
    size_t end = first + 1;

    while (end < study->n_points &&
           is_same_panel(picture, &study->points[first], &study->points[end]))
        end++;
    return end;
}

/* A time of 0 cannot be drawn on a logarithmic axis. */
static double
point_y(const struct study_point *point)
{
    return point->outcome.time_us > 1e-3 ? point->outcome.time_us : 1e-3;
}

static void
panel_scale(const struct picture *picture, struct panel *panel)
{
    const struct study_point *points = picture->study->points;
    double low = point_y(&points[panel->first]);
    double high = low;

    panel->x.low = point_x(picture, &points[panel->first]);
    panel->x.high = panel->x.low;
    for (size_t i = panel->first; i < panel->end; i++) {
        const double x = point_x(picture, &points[i]);
        const double y = point_y(&points[i]);

        panel->x.low = x < panel->x.low ? x : panel->x.low;
        panel->x.high = x > panel->x.high ? x : panel->x.high;
        low = y < low ? y : low;
        high = y > high ? y : high;
    }
    panel->y.low = log_scale_decade_below(low);
    panel->y.high = log_scale_decade_above(high);
    panel->x.begin = panel->left + MARGIN_LEFT;
    panel->x.end = panel->left + PANEL_WIDTH - MARGIN_RIGHT;
    panel->y.begin = panel->top + PANEL_HEIGHT - MARGIN_BOTTOM;
    panel->y.end = panel->top + MARGIN_TOP;
}

static void
title_draw(const struct picture *picture, const struct panel *panel)
{
    const struct study_point *point = &picture->study->points[panel->first];
    char size[BYTE_SIZE_TEXT];
    char text[128];

    byte_size_format(point->n_bytes, size);
    if (picture->axis == AXIS_SIZES)
        snprintf(text, sizeof(text), "%s, %u ranks", point->collective,
                 point->n_ranks);
    else if (strcmp(point->collective, "barrier") == 0)
        snprintf(text, sizeof(text), "%s", point->collective);
    else
        snprintf(text, sizeof(text), "%s, %sB", point->collective, size);
    fprintf(picture->file,
            "<text x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\">%s</text>\n",
            panel->x.begin, panel->top + MARGIN_TOP - 10, text);
    fprintf(picture->file,
            "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n",
            (panel->x.begin + panel->x.end) / 2, panel->top + PANEL_HEIGHT - 8,
            picture->axis == AXIS_RANKS ? "ranks" : "bytes");
}

static void
line_draw(const struct picture *picture,
          const double from[static 2],
          const double to[static 2])
{
    fprintf(picture->file,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"#ddd\"/>\n",
            from[0], from[1], to[0], to[1]);
}

static void
times_draw(const struct picture *picture, const struct panel *panel)
{
    for (double time_us = panel->y.low; time_us < panel->y.high * 1.001;
         time_us *= 10) {
        const double y = log_scale_place(&panel->y, time_us);
        char text[LOG_SCALE_TEXT];

        log_scale_time_text(time_us, text);
        line_draw(picture, (const double[]){panel->x.begin, y},
                  (const double[]){panel->x.end, y});
        fprintf(picture->file,
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                panel->x.begin - 6, y + 4, text);
    }
}

/* Draw the names of the requested values, as many as fit. */
static void
values_draw(const struct picture *picture, const struct panel *panel)
{
    double before = -LABEL_GAP_MIN;

    for (size_t i = panel->first; i < panel->end; i++) {
        const double value = point_x(picture, &picture->study->points[i]);
        const double x = log_scale_place(&panel->x, value);
        char text[LOG_SCALE_TEXT];

        if (x - before < LABEL_GAP_MIN)
            continue;
        before = x;
        if (picture->axis == AXIS_RANKS)
            log_scale_count_text((size_t)value, text);
        else
            byte_size_format((size_t)value, text);
        line_draw(picture, (const double[]){x, panel->y.begin},
                  (const double[]){x, panel->y.end});
        fprintf(picture->file,
                "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s"
                "</text>\n",
                x, panel->y.begin + 16, text);
    }
}

static void
series_draw(struct picture *picture,
            const struct panel *panel,
            const char *algorithm)
{
    const struct study_point *points = picture->study->points;
    const char *colour = colour_of(picture, algorithm);

    fprintf(picture->file,
            "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
            "points=\"",
            colour);
    for (size_t i = panel->first; i < panel->end; i++)
        if (strcmp(points[i].algorithm, algorithm) == 0)
            fprintf(picture->file, "%.1f,%.1f ",
                    log_scale_place(&panel->x, point_x(picture, &points[i])),
                    log_scale_place(&panel->y, point_y(&points[i])));
    fputs("\"/>\n", picture->file);
    for (size_t i = panel->first; i < panel->end; i++)
        if (strcmp(points[i].algorithm, algorithm) == 0)
            fprintf(picture->file,
                    "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n",
                    log_scale_place(&panel->x, point_x(picture, &points[i])),
                    log_scale_place(&panel->y, point_y(&points[i])), colour);
}

static void
legend_draw(struct picture *picture,
            const struct panel *panel,
            const char *algorithm,
            size_t line)
{
    const double y = panel->y.end + 14 + (double)(line * LEGEND_LINE);

    fprintf(picture->file,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%zu\" height=\"%d\" "
            "fill=\"#fff\" fill-opacity=\"0.8\"/>\n",
            panel->x.begin + 4, y - 11, 26 + 7 * strlen(algorithm),
            LEGEND_LINE);
    fprintf(picture->file,
            "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
            "stroke=\"%s\" stroke-width=\"2\"/>\n",
            panel->x.begin + 8, y - 4, panel->x.begin + 24, y - 4,
            colour_of(picture, algorithm));
    fprintf(picture->file, "<text x=\"%.1f\" y=\"%.1f\">%s</text>\n",
            panel->x.begin + 29, y, algorithm);
}

/* List the algorithms in the order in which they appear. */
static size_t
series_list(const struct picture *picture,
            const struct panel *panel,
            const char *out_names[static OPTIONS_NAMES_MAX])
{
    size_t n_names = 0;

    for (size_t i = panel->first; i < panel->end; i++) {
        const char *name = picture->study->points[i].algorithm;
        size_t j = 0;

        while (j < n_names && strcmp(out_names[j], name) != 0)
            j++;
        if (j == n_names && n_names < OPTIONS_NAMES_MAX)
            out_names[n_names++] = name;
    }
    return n_names;
}

static void
panel_draw(struct picture *picture, const struct panel *panel)
{
    const char *names[OPTIONS_NAMES_MAX];
    const size_t n_names = series_list(picture, panel, names);

    times_draw(picture, panel);
    values_draw(picture, panel);
    title_draw(picture, panel);
    for (size_t i = 0; i < n_names; i++)
        series_draw(picture, panel, names[i]);
    for (size_t i = 0; i < n_names; i++)
        legend_draw(picture, panel, names[i], i);
}

static size_t
panels_count(const struct picture *picture)
{
    size_t n_panels = 0;

    for (size_t first = 0; first < picture->study->n_points;
         first = panel_end(picture, first))
        n_panels++;
    return n_panels;
}

/* Use a row for each operation if its sizes fit in one. */
static size_t
columns_of(const struct picture *picture, const struct options *options)
{
    const size_t n_sizes = options->sizes.n_numbers;
    const size_t n_panels = panels_count(picture);
    const size_t n_wanted = picture->axis == AXIS_RANKS ? n_sizes : n_panels;
    const size_t n = n_wanted < n_panels ? n_wanted : n_panels;

    return n < COLUMNS_MAX ? n : COLUMNS_MAX;
}

static void
picture_draw(struct picture *picture, const struct options *options)
{
    const size_t n_panels = panels_count(picture);
    const size_t n_columns = columns_of(picture, options);
    const size_t n_rows =
        n_panels > 0 ? (n_panels + n_columns - 1) / n_columns : 1;
    const size_t width = n_columns * PANEL_WIDTH;
    const size_t height = n_rows * PANEL_HEIGHT;
    struct panel panel = {0};

    fprintf(picture->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" "
            "height=\"%zu\" viewBox=\"0 0 %zu %zu\" "
            "font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    for (size_t i = 0; i < n_panels; i++) {
        panel.first = panel.end;
        panel.end = panel_end(picture, panel.first);
        panel.left = (double)(i % n_columns * PANEL_WIDTH);
        panel.top = (double)(i / n_columns * PANEL_HEIGHT);
        panel_scale(picture, &panel);
        panel_draw(picture, &panel);
    }
    fputs("</svg>\n", picture->file);
}

enum hoop_status
picture_check(const struct options *options)
{
    const int fd = open(options->svg, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

    if (fd < 0) {
        warn("cannot write %s", options->svg);
        return HOOP_E_UNAVAILABLE;
    }
    close(fd);
    return HOOP_OK;
}

enum hoop_status
picture_write(const struct study *study, const struct options *options)
{
    struct picture picture = {
        .file = fopen(options->svg, "we"),
        .study = study,
        .axis = options->ranks.n_numbers > 1 ? AXIS_RANKS : AXIS_SIZES,
    };

    if (!picture.file) {
        warn("cannot write %s", options->svg);
        return HOOP_E_UNAVAILABLE;
    }
    picture_draw(&picture, options);
    if (fclose(picture.file) == 0)
        return HOOP_OK;
    warn("cannot write %s", options->svg);
    return HOOP_E_DATA_LOSS;
}
