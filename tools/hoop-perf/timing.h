/* hoop-perf/timing.h - times of iterations, and what is said of them */

#ifndef HOOP_PERF_TIMING_H
#define HOOP_PERF_TIMING_H

#include <stddef.h>

struct timing {
    double mean_us; /* of back-to-back iterations: total over count */
    double p50_us;
    double p99_us;
};

/* Microseconds on the monotonic clock. */
double
timing_now_us(void);

/*
 * Sorts times_us. A percentile is the smallest time that so many per cent of
 * the iterations do not pass.
 */
struct timing
timing_of(double *times_us, size_t n_times, double total_us);

#endif
