/* clock_ms.h - reads the system's clocks, in milliseconds */

#ifndef CLOCK_MS_H
#define CLOCK_MS_H

#include <stdint.h>
#include <time.h>

static inline int64_t
clock_ms(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns the time for deadlines. */
static inline int64_t
now_ms(void)
{
    return clock_ms(CLOCK_MONOTONIC);
}

#endif
