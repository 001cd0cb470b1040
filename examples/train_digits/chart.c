/* train_digits/chart.c - draws one curve as SVG */

#include "train_digits/chart.h"

#include <math.h>

enum {
    WIDTH = 640,
    HEIGHT = 400,
    LEFT = 70,
    RIGHT = 24,
    TOP = 48,
    BOTTOM = 56,
    TICKS = 5,
};

/* Returns the smallest number at or above value that is 1, 2 or 5 times a power
 * of ten. */
static double
round_up(double value)
{
    static const double steps[] = {1, 2, 5, 10};

    if (!(value > 0))
        return 1;
    const double power = pow(10, floor(log10(value)));
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (steps[i] * power >= value)
            return steps[i] * power;
    }
    return 10 * power;
}

static double
chart_top(const struct chart *chart)
{
    double top = 0;

    for (size_t i = 0; i < chart->n_values; i++)
        top = fmax(top, chart->values[i]);
    return TICKS * round_up(top / TICKS);
}

static double
x_at(const struct chart *chart, double index)
{
    const double span = chart->n_values > 1 ? (double)chart->n_values - 1 : 1;

    return LEFT + (WIDTH - LEFT - RIGHT) * index / span;
}

static double
y_at(double value, double top)
{
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top;
}

static void
chart_frame(const struct chart *chart, FILE *file)
{
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" "
            "viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
            "<text x=\"%d\" y=\"28\" font-size=\"16\">%s</text>\n"
            "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s</text>\n"
            "<text transform=\"translate(18 %d) rotate(-90)\" "
            "text-anchor=\"middle\">%s</text>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT, LEFT, chart->title,
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, chart->x_title,
            (TOP + HEIGHT - BOTTOM) / 2, chart->y_title);
}

static void
y_ticks(double top, FILE *file)
{
    for (int i = 0; i <= TICKS; i++) {
        const double value = top * i / TICKS;
        const double y = y_at(value, top);

        fprintf(file,
                "<path d=\"M%d %.1fH%d\" stroke=\"%s\"/>\n"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n",
                LEFT, y, WIDTH - RIGHT, i == 0 ? "#333" : "#ddd", LEFT - 8,
                y + 4, value);
    }
}

static void
x_ticks(const struct chart *chart, FILE *file)
{
    const size_t step = (size_t)round_up(fmax((double)chart->n_values / 12, 1));

    for (size_t i = 1; i <= chart->n_values; i++) {
        if (i != 1 && i % step != 0)
            continue;
        fprintf(file,
                "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%zu"
                "</text>\n",
                x_at(chart, (double)i - 1), HEIGHT - BOTTOM + 20, i);
    }
}

void
chart_write(const struct chart *chart, FILE *file)
{
    const double top = chart_top(chart);

    chart_frame(chart, file);
    y_ticks(top, file);
    x_ticks(chart, file);
    fputs("<polyline fill=\"none\" stroke=\"#1f6fb4\" stroke-width=\"2\" "
          "points=\"",
          file);
    for (size_t i = 0; i < chart->n_values; i++)
        fprintf(file, "%.1f,%.1f ", x_at(chart, (double)i),
                y_at(chart->values[i], top));
    fputs("\"/>\n</svg>\n", file);
}
