/*
 * bench/peers/line.h - sends a cache line to another processor and back
 *
 * Two processes share one mapping, each on its own processor; one echoes.
 */

#ifndef BENCH_PEERS_LINE_H
#define BENCH_PEERS_LINE_H

#include <stdatomic.h>

#include "plain.h"

struct line {
    _Alignas(64) _Atomic unsigned there;
    _Alignas(64) _Atomic unsigned back;
};

static inline void
line_stay_on(int processor)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        plain_fail("sched_setaffinity");
}

/* Answers n_trips trips, of which the first has the number first. */
static inline void
line_echo(struct line *line, unsigned first, unsigned n_trips)
{
    for (unsigned trip = first; trip != first + n_trips; trip++) {
        while (atomic_load_explicit(&line->there, memory_order_acquire) != trip)
            ;
        atomic_store_explicit(&line->back, trip, memory_order_release);
    }
}

/* Returns the nanoseconds of one trip, averaged over n_trips from number first
 * on. */
static inline double
line_time_ns(struct line *line, unsigned first, unsigned n_trips)
{
    const double start_us = plain_now_us();

    for (unsigned trip = first; trip != first + n_trips; trip++) {
        atomic_store_explicit(&line->there, trip, memory_order_release);
        while (atomic_load_explicit(&line->back, memory_order_acquire) != trip)
            ;
    }
    return (plain_now_us() - start_us) * 1e3 / n_trips;
}

#endif
