/*
 * base/copy.h - copies between the caches of two processors
 *
 * Above 2 KiB, memcpy() uses a single instruction of the processor. When the
 * lines are in another processor's cache this is slower than a loop, and 16
 * times slower when source and destination differ by 1 to 15 modulo a page.
 * Below that size, memcpy() may copy backwards when the two overlap in phase,
 * which defeats the hardware prefetcher: from memory that is half the speed. So
 * this copies line by line, forwards. AMD's Zen 5 and later are fastest with
 * the one instruction. Copies larger than the caches are best written past
 * them, because their destination lines need not be read first.
 */

#ifndef BASE_COPY_H
#define BASE_COPY_H

#include <stdbool.h>
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

/* Return whether this processor's copy instruction is the fastest. */
bool
copy_has_fast_instruction(void);

#ifdef __SSE2__
static inline void
copy_cache_line(uint8_t *to, const uint8_t *from)
{
    const __m128i *line = (const __m128i *)(const void *)from;
    __m128i *place = (__m128i *)(void *)to;
    const __m128i first = _mm_loadu_si128(line);
    const __m128i second = _mm_loadu_si128(line + 1);
    const __m128i third = _mm_loadu_si128(line + 2);
    const __m128i last = _mm_loadu_si128(line + 3);

    _mm_storeu_si128(place, first);
    _mm_storeu_si128(place + 1, second);
    _mm_storeu_si128(place + 2, third);
    _mm_storeu_si128(place + 3, last);
}

/* to must be at the start of a cache line. */
static inline void
copy_cache_line_nontemporal(uint8_t *to, const uint8_t *from)
{
    const __m128i *line = (const __m128i *)(const void *)from;
    __m128i *place = (__m128i *)(void *)to;

    for (unsigned i = 0; i < COPY_LINE / sizeof(*line); i++)
        _mm_stream_si128(place + i, _mm_loadu_si128(line + i));
}

/* Return the number of bytes up to the next cache line. */
static inline size_t
copy_bytes_to_line_start(const uint8_t *to)
{
    return -(uintptr_t)to % COPY_LINE;
}

/* n_bytes must be at least a line. */
static inline void
copy_by_cache_lines(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
    const uint8_t *end = from + n_bytes - COPY_LINE;
    const size_t n_head = copy_bytes_to_line_start(to);

    /* The ends of the middle part lie within the first and last line. */
    copy_cache_line(to + n_bytes - COPY_LINE, end);
    copy_cache_line(to, from);
    to += n_head;
    from += n_head;
    for (; from < end; from += COPY_LINE) {
        copy_cache_line(to, from);
        to += COPY_LINE;
        /* Keep the compiler from turning the loop into memcpy(). */
        __asm__ volatile("" : "+r"(to), "+r"(from));
    }
}
#endif

/* As memcpy(). */
static inline void
copy_bytes(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
#ifdef __SSE2__
    if (n_bytes > COPY_AT_ONCE && !copy_has_fast_instruction()) {
        copy_by_cache_lines(to, from, n_bytes);
        return;
    }
#endif
    memcpy(to, from, n_bytes);
}

/* As memcpy(), for bytes that will not be read soon. */
static inline void
copy_bytes_nontemporal(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
#ifdef __SSE2__
    size_t at = copy_bytes_to_line_start(to);

    if (at >= n_bytes) {
        memcpy(to, from, n_bytes);
        return;
    }
    memcpy(to, from, at);
    for (; n_bytes - at >= COPY_LINE; at += COPY_LINE)
        copy_cache_line_nontemporal(to + at, from + at);
    memcpy(to + at, from + at, n_bytes - at);
    _mm_sfence();
#else
    copy_bytes(to, from, n_bytes);
#endif
}

#endif
