/* base/clock.h - deadlines on the monotonic clock, in nanoseconds */

#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

static const uint64_t CLOCK_NS_PER_MS = 1000000;
static const uint64_t CLOCK_NS_PER_S = 1000000000;

static inline double
ns_to_seconds(uint64_t n_ns)
{
    return (double)n_ns / (double)CLOCK_NS_PER_S;
}

/* A deadline that never comes. */
static const uint64_t CLOCK_NEVER = UINT64_MAX;

uint64_t
clock_now_ns(void);

/* As clock_now_ns(), up to some milliseconds old, at a tenth of the cost. */
uint64_t
clock_coarse_ns(void);

/* Time since 1970 in UTC, for records that outlive this machine. It may
 * jump. */
uint64_t
clock_wall_ns(void);

/* Return now + timeout; CLOCK_NEVER on overflow. */
uint64_t
clock_deadline_ns(uint64_t timeout_ms);

static inline bool
clock_is_past(uint64_t deadline_ns)
{
    return deadline_ns != CLOCK_NEVER && clock_now_ns() >= deadline_ns;
}

/*
 * Return the milliseconds left, rounded up, for epoll and poll: 0 if past, -1
 * for CLOCK_NEVER, at most INT_MAX.
 */
int
clock_left_ms(uint64_t deadline_ns);

#endif
