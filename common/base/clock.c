/* base/clock.c - deadlines on the monotonic clock, in nanoseconds */

#include "base/clock.h"

#include <limits.h>
#include <time.h>

uint64_t
clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t
clock_coarse_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t
clock_wall_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t
clock_deadline_ns(uint64_t timeout_ms)
{
    const uint64_t now_ns = clock_now_ns();

    if (timeout_ms > (CLOCK_NEVER - now_ns) / CLOCK_NS_PER_MS)
        return CLOCK_NEVER;
    return now_ns + timeout_ms * CLOCK_NS_PER_MS;
}

int
clock_left_ms(uint64_t deadline_ns)
{
    if (deadline_ns == CLOCK_NEVER)
        return -1;

    const uint64_t now_ns = clock_now_ns();
    if (now_ns >= deadline_ns)
        return 0;

    const uint64_t left_ms =
        (deadline_ns - now_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
    return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}
