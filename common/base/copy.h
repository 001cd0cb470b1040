/*
 * base/copy.h - copies between the caches of two processors
 *
 * memcpy() gives what is more than 2 KiB to the processor in one instruction.
 * Where the lines are in another's cache that is slower than a loop, and where
 * the two ends differ by 1 to 15 modulo a page, 16 times so. What is more than
 * the caches hold is best written past them: its lines need not be read before.
 */

#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <immintrin.h>
#endif

enum {
    COPY_AT_ONCE = 2048,
    COPY_LINE = 64,
};

/* As memcpy(). */
static inline void
copy_bytes(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
    for (; n_bytes > COPY_AT_ONCE; n_bytes -= COPY_AT_ONCE) {
        memcpy(to, from, COPY_AT_ONCE);
        to += COPY_AT_ONCE;
        from += COPY_AT_ONCE;
    }
    memcpy(to, from, n_bytes);
}

/* As memcpy(), of what will not be read soon. */
static inline void
copy_past_caches(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
#ifdef __SSE2__
    const size_t n_head = -(uintptr_t)to % COPY_LINE;

    if (n_head >= n_bytes) {
        memcpy(to, from, n_bytes);
        return;
    }
    memcpy(to, from, n_head);
    size_t at = n_head;
    for (; n_bytes - at >= COPY_LINE; at += COPY_LINE) {
        const __m128i *line = (const __m128i *)(const void *)(from + at);
        __m128i *place = (__m128i *)(void *)(to + at);

        for (unsigned i = 0; i < COPY_LINE / sizeof(*line); i++)
            _mm_stream_si128(place + i, _mm_loadu_si128(line + i));
    }
    memcpy(to + at, from + at, n_bytes - at);
    _mm_sfence();
#else
    copy_bytes(to, from, n_bytes);
#endif
}

#endif
