/* hoop-perf/timing.h - mean and percentiles of iteration times */

#ifndef HOOP_PERF_TIMING_H
#define HOOP_PERF_TIMING_H

#include <stddef.h>

struct timing {
    double mean_us; /* of back-to-back iterations: total divided by count */
    double p50_us;
    double p99_us;
};

/* Microseconds on the monotonic clock. */
double
timing_now_us(void);

/*
 * Sorts times_us. A percentile is the smallest time that this share of the
 * iterations does not exceed.
 */
struct timing
timing_of(double *times_us, size_t n_times, double total_us);

#endif
