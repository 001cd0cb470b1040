/* train_digits/chart.h - one curve as SVG */

#ifndef TRAIN_DIGITS_CHART_H
#define TRAIN_DIGITS_CHART_H

#include <stddef.h>
#include <stdio.h>

/* The texts must not need escapes in XML. */
struct chart {
    const char *title;
    const char *x_title;
    const char *y_title;
    const double *values; /* at x = 1, 2, ... n_values; not negative */
    size_t n_values;
};

/* Whether it arrived is for the caller to ask of the file. */
void
chart_write(const struct chart *chart, FILE *file);

#endif
