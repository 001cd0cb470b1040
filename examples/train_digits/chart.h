/* train_digits/chart.h - draws one curve as SVG */

#ifndef TRAIN_DIGITS_CHART_H
#define TRAIN_DIGITS_CHART_H

#include <stddef.h>
#include <stdio.h>

/* The texts must not contain characters that XML escapes. */
struct chart {
    const char *title;
    const char *x_title;
    const char *y_title;
    const double *values; /* at x = 1, 2, ... n_values; not negative */
    size_t n_values;
};

/* The caller checks the file for write errors. */
void
chart_write(const struct chart *chart, FILE *file);

#endif
