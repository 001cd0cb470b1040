/* train_3d/clock.c - reads the clock with which durations are measured */

#include "train_3d/clock.h"

#include <time.h>

uint64_t
clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
