/*
 * dtype/levels_x86.c - finds the levels that this x86-64 processor runs
 *
 * The answer is kept: in a virtual machine the CPUID instruction traps, and
 * asking took 7 us, as long as combining 256 KiB. Threads that ask first at the
 * same time find the same answer.
 */

#include <cpuid.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "dtype/kernels.h"

extern kernels_level level_plain;
extern kernels_level level_avx2;
extern kernels_level level_avx512;

static kernels_level *const levels[] = {
    [REDUCTION_PLAIN] = &level_plain,
    [REDUCTION_AVX2] = &level_avx2,
    [REDUCTION_AVX512] = &level_avx512,
};

/* clang 14 cannot query F16C; the AVX2 check covers the registers. */
static bool
level_avx2_runs(void)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;

    return __builtin_cpu_supports("avx2") && __get_cpuid(1, &a, &b, &c, &d) &&
           (c & bit_F16C) != 0;
}

static bool
level_avx512_runs(void)
{
    return __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
}

static enum reduction_level
level_detect(void)
{
    if (!level_avx2_runs())
        return REDUCTION_PLAIN;
    return level_avx512_runs() ? REDUCTION_AVX512 : REDUCTION_AVX2;
}

enum reduction_level
reduction_level_best(void)
{
    enum {
        UNKNOWN = -1
    };
    static atomic_int found = UNKNOWN;
    int level = atomic_load_explicit(&found, memory_order_relaxed);

    if (level == UNKNOWN) {
        level = (int)level_detect();
        atomic_store_explicit(&found, level, memory_order_relaxed);
    }
    return (enum reduction_level)level;
}

kernels_level *
kernels_at(enum reduction_level level)
{
    return level <= reduction_level_best() ? levels[level] : NULL;
}
