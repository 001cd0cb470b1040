/* hoop-perf/timing.c - mean and percentiles of iteration times */

#include "hoop-perf/timing.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

double
timing_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int
time_compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;

    return (x > y) - (x < y);
}

static double
percentile(const double *sorted, size_t n_times, size_t per_cent)
{
    const size_t rank = (n_times * per_cent + 99) / 100;

    return sorted[rank > 0 ? rank - 1 : 0];
}

struct timing
timing_of(double *times_us, size_t n_times, double total_us)
{
    assert(n_times > 0);

    qsort(times_us, n_times, sizeof(*times_us), time_compare);
    return (struct timing){
        .mean_us = total_us / (double)n_times,
        .p50_us = percentile(times_us, n_times, 50),
        .p99_us = percentile(times_us, n_times, 99),
    };
}
