/*
 * base/copy.h - copies between the caches of two processors
 *
 * memcpy() gives what is more than 2 KiB to the processor in one instruction.
 * Where the lines are in another's cache that is slower than a loop, and where
 * the two ends differ by 1 to 15 modulo a page, 16 times so. Less than that it
 * may copy from the end to the beginning, where the ends are in phase, which
 * makes nothing of what the processor fetches ahead: out of the memory that is
 * half the speed. So this goes line by line, and forward; but AMD's Zen 5 and
 * later do all of that better by the one instruction. What is more than the
 * caches hold is best written past them: its lines need not be read before.
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

/* Whether this processor's own instruction is the fastest. */
bool
copy_is_instruction(void);

#ifdef __SSE2__
static inline void
copy_line(uint8_t *to, const uint8_t *from)
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

/* to is the begin of a line. */
static inline void
copy_line_past_caches(uint8_t *to, const uint8_t *from)
{
    const __m128i *line = (const __m128i *)(const void *)from;
    __m128i *place = (__m128i *)(void *)to;

    for (unsigned i = 0; i < COPY_LINE / sizeof(*line); i++)
        _mm_stream_si128(place + i, _mm_loadu_si128(line + i));
}

/* Bytes up to the next line. */
static inline size_t
copy_head(const uint8_t *to)
{
    return -(uintptr_t)to % COPY_LINE;
}

/* Of at least a line. */
static inline void
copy_lines(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
    const uint8_t *end = from + n_bytes - COPY_LINE;
    const size_t n_head = copy_head(to);

    /* The ends of what is in between lie within the first and last line. */
    copy_line(to + n_bytes - COPY_LINE, end);
    copy_line(to, from);
    to += n_head;
    from += n_head;
    for (; from < end; from += COPY_LINE) {
        copy_line(to, from);
        to += COPY_LINE;
        /* Keeps the compiler from making a memcpy() of it. */
        __asm__ volatile("" : "+r"(to), "+r"(from));
    }
}
#endif

/* As memcpy(). */
static inline void
copy_bytes(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
#ifdef __SSE2__
    if (n_bytes > COPY_AT_ONCE && !copy_is_instruction()) {
        copy_lines(to, from, n_bytes);
        return;
    }
#endif
    memcpy(to, from, n_bytes);
}

/* As memcpy(), of what will not be read soon. */
static inline void
copy_past_caches(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
#ifdef __SSE2__
    size_t at = copy_head(to);

    if (at >= n_bytes) {
        memcpy(to, from, n_bytes);
        return;
    }
    memcpy(to, from, at);
    for (; n_bytes - at >= COPY_LINE; at += COPY_LINE)
        copy_line_past_caches(to + at, from + at);
    memcpy(to + at, from + at, n_bytes - at);
    _mm_sfence();
#else
    copy_bytes(to, from, n_bytes);
#endif
}

#endif
