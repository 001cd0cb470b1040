/* hoop-sim/log_scale.h - a logarithmic axis: positions and names of its
 * marks */

#ifndef HOOP_SIM_LOG_SCALE_H
#define HOOP_SIM_LOG_SCALE_H

#include <stddef.h>

enum {
    LOG_SCALE_TEXT = 24,
};

/* low and high are above 0 and belong to the positions begin and end. */
struct log_scale {
    double low;
    double high;
    double begin;
    double end;
};

double
log_scale_place(const struct log_scale *scale, double value);

/* The power of ten at or below value, and the one at or above. */
double
log_scale_decade_below(double value);
double
log_scale_decade_above(double value);

/* "10 us", "1 ms", "100 s" for a power of ten. */
void
log_scale_time_text(double time_us, char out_text[static LOG_SCALE_TEXT]);

/* "1000", "20k", "100k", for numbers of ranks. */
void
log_scale_count_text(size_t count, char out_text[static LOG_SCALE_TEXT]);

#endif
