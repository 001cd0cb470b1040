/*
 * dtype/half_float16_f16c.h - converts IEEE binary16 by the F16C instructions
 *
 * Gives the same bits as half_float16.h: the rounding mode is in the
 * instruction, not taken from the processor's mode, and a NaN is replaced
 * before it is narrowed.
 */

#ifndef DTYPE_HALF_FLOAT16_F16C_H
#define DTYPE_HALF_FLOAT16_F16C_H

#include <immintrin.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
    HALF_INFINITY = 0x7c00,
    HALF_NAN = 0x7e00,
    HALF_LANES = 8,
    HALF_BLOCK = 32, /* unrolled, so the floats stay in registers */
};

static inline __m256
half_widen_lanes(const void *halves)
{
    return _mm256_cvtph_ps(_mm_loadu_si128(halves));
}

static inline void
half_narrow_lanes(void *halves, __m256 lanes)
{
    const __m256 is_nan = _mm256_cmp_ps(lanes, lanes, _CMP_UNORD_Q);
    const __m256 quiet = _mm256_blendv_ps(lanes, _mm256_set1_ps(NAN), is_nan);

    _mm_storeu_si128(halves, _mm256_cvtps_ph(quiet, _MM_FROUND_TO_NEAREST_INT));
}

static inline void
half_widen_block(float *floats, const void *halves, size_t count)
{
    const char *const bytes = halves;
    size_t i = 0;

    for (; i + HALF_LANES <= count; i += HALF_LANES)
        _mm256_storeu_ps(floats + i,
                         half_widen_lanes(bytes + i * sizeof(uint16_t)));
    if (i == count)
        return;

    const size_t n_rest = count - i;
    uint16_t rest[HALF_LANES] = {0};
    float wide[HALF_LANES];
    memcpy(rest, bytes + i * sizeof(uint16_t), n_rest * sizeof(uint16_t));
    _mm256_storeu_ps(wide, half_widen_lanes(rest));
    memcpy(floats + i, wide, n_rest * sizeof(float));
}

static inline void
half_narrow_block(void *halves, const float *floats, size_t count)
{
    char *const bytes = halves;
    size_t i = 0;

    for (; i + HALF_LANES <= count; i += HALF_LANES)
        half_narrow_lanes(bytes + i * sizeof(uint16_t),
                          _mm256_loadu_ps(floats + i));
    if (i == count)
        return;

    const size_t n_rest = count - i;
    float wide[HALF_LANES] = {0};
    uint16_t rest[HALF_LANES];
    memcpy(wide, floats + i, n_rest * sizeof(float));
    half_narrow_lanes(rest, _mm256_loadu_ps(wide));
    memcpy(bytes + i * sizeof(uint16_t), rest, n_rest * sizeof(uint16_t));
}

#include "dtype/half_loop.h"

#endif
