/* hoop-sim/log_scale.c - a logarithmic axis: positions and names of its
 * marks */

#include "hoop-sim/log_scale.h"

#include <math.h>
#include <stdio.h>

/* Powers of ten are not exact in binary. */
static const double slack = 1e-9;

double
log_scale_place(const struct log_scale *scale, double value)
{
    const double whole = log(scale->high / scale->low);

    if (whole < slack)
        return (scale->begin + scale->end) / 2;
    return scale->begin +
           (scale->end - scale->begin) * log(value / scale->low) / whole;
}

double
log_scale_decade_below(double value)
{
    return pow(10, floor(log10(value) + slack));
}

double
log_scale_decade_above(double value)
{
    return pow(10, ceil(log10(value) - slack));
}

void
log_scale_time_text(double time_us, char out_text[static LOG_SCALE_TEXT])
{
    if (time_us < 1e3 * (1 - slack))
        snprintf(out_text, LOG_SCALE_TEXT, "%g us", time_us);
    else if (time_us < 1e6 * (1 - slack))
        snprintf(out_text, LOG_SCALE_TEXT, "%g ms", time_us / 1e3);
    else
        snprintf(out_text, LOG_SCALE_TEXT, "%g s", time_us / 1e6);
}

void
log_scale_count_text(size_t count, char out_text[static LOG_SCALE_TEXT])
{
    if (count >= 10000 && count % 1000 == 0)
        snprintf(out_text, LOG_SCALE_TEXT, "%zuk", count / 1000);
    else
        snprintf(out_text, LOG_SCALE_TEXT, "%zu", count);
}
