/* recorder/ticks.h - the processor's counter of time, where it can be used */

#ifndef RECORDER_TICKS_H
#define RECORDER_TICKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#ifdef __x86_64__
#include <cpuid.h>

/* Returns whether the counter runs at one rate, whatever the processor does. */
static inline bool
ticks_are_invariant(void)
{
    static const unsigned leaf = 0x80000007;
    static const unsigned invariant_tsc = 1 << 8;
    unsigned a = 0, b = 0, c = 0, d = 0;

    return __get_cpuid(leaf, &a, &b, &c, &d) && (d & invariant_tsc);
}

static inline uint64_t
ticks_now(void)
{
    return __builtin_ia32_rdtsc();
}
#elif defined(__aarch64__)
static inline bool
ticks_are_invariant(void)
{
    return true;
}

static inline uint64_t
ticks_now(void)
{
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}
#else
static inline bool
ticks_are_invariant(void)
{
    return false;
}

static inline uint64_t
ticks_now(void)
{
    return clock_now_ns();
}
#endif

#endif
