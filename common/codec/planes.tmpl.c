/*
 * codec/planes.tmpl.c - planes of words T, compiled once for each size
 *
 * The loops are written to vectorise; without vectors they are just slower.
 */

#include "codec/planes.h"

#include <string.h>

enum {
    WORD_BYTES = sizeof(T),
    WORD_BITS = 8 * sizeof(T),
};

static inline T
word_read(const uint8_t *at)
{
    T word;

    memcpy(&word, at, sizeof(word));
    return word;
}

static inline T
word_turned(T word)
{
    return (T)((T)(word << 1) | (T)(word >> (WORD_BITS - 1)));
}

static inline T
word_turned_back(T word)
{
    return (T)((T)(word >> 1) | (T)(word << (WORD_BITS - 1)));
}

static size_t
count_zeros(const uint8_t *in, size_t n_words)
{
    size_t n_zeros = 0;

    for (size_t i = 0; i < n_words; i++)
        n_zeros += word_read(in + i * WORD_BYTES) == 0;
    return n_zeros;
}

static void
rotate(const uint8_t *in, size_t n_words, void *words)
{
    T *to = words;

    for (size_t i = 0; i < n_words; i++)
        to[i] = word_turned(word_read(in + i * WORD_BYTES));
}

/* Bit j: word j of eight is not 0. */
static inline unsigned
eight_bits(const uint8_t *in)
{
    unsigned bits = 0;

    for (size_t j = 0; j < 8; j++)
        bits |= (unsigned)(word_read(in + j * WORD_BYTES) != 0) << j;
    return bits;
}

/* Each word is written to the next free place, which only a nonzero one
 * fills. */
static size_t
some_compact(const uint8_t *in, size_t n_words, T *to, uint8_t *mask)
{
    size_t n_left = 0;
    unsigned bits = 0;

    for (size_t j = 0; j < n_words; j++) {
        const T word = word_read(in + j * WORD_BYTES);
        const unsigned is_left = word != 0;

        to[n_left] = word_turned(word);
        n_left += is_left;
        bits |= is_left << j;
    }
    *mask = (uint8_t)bits;
    return n_left;
}

/* Zeros come in groups: of eight words often all are zero, or none is. */
static size_t
compact(const uint8_t *in, size_t n_words, void *words, uint8_t *mask)
{
    T *to = words;
    size_t i = 0;

    for (; i + 8 <= n_words; i += 8) {
        const unsigned bits = eight_bits(in + i * WORD_BYTES);

        mask[i / 8] = (uint8_t)bits;
        if (bits == 0)
            continue;
        if (bits == UINT8_MAX) {
            rotate(in + i * WORD_BYTES, 8, to);
            to += 8;
            continue;
        }
        to += some_compact(in + i * WORD_BYTES, 8, to, &mask[i / 8]);
    }
    if (i < n_words)
        to += some_compact(in + i * WORD_BYTES, n_words - i, to, &mask[i / 8]);
    return (size_t)(to - (T *)words);
}

static void
split(const void *words, size_t n_words, uint8_t *planes)
{
    const T *from = words;

    for (unsigned p = 0; p < WORD_BYTES; p++) {
        const unsigned shift = WORD_BITS - 8 * (p + 1);
        uint8_t *plane = planes + p * n_words;

        for (size_t i = 0; i < n_words; i++)
            plane[i] = (uint8_t)(from[i] >> shift);
    }
}

static void
merge(const uint8_t *planes, size_t n_words, void *words)
{
    T *to = words;

    for (size_t i = 0; i < n_words; i++)
        to[i] = planes[i];
    for (unsigned p = 1; p < WORD_BYTES; p++) {
        const uint8_t *plane = planes + p * n_words;

        for (size_t i = 0; i < n_words; i++)
            to[i] = (T)((T)(to[i] << 8) | plane[i]);
    }
}

static void
restore(const void *words, size_t n_words, uint8_t *out)
{
    const T *from = words;

    for (size_t i = 0; i < n_words; i++) {
        const T word = word_turned_back(from[i]);

        memcpy(out + i * WORD_BYTES, &word, sizeof(word));
    }
}

/* Return how many were present. */
static size_t
some_expand(const T *from, unsigned mask, size_t n_words, uint8_t *out)
{
    size_t n_there = 0;

    for (size_t j = 0; j < n_words; j++) {
        const unsigned is_there = mask >> j & 1;
        const T kept = (T)(0 - (T)is_there);
        const T word = word_turned_back(from[n_there]) & kept;

        n_there += is_there;
        memcpy(out + j * WORD_BYTES, &word, sizeof(word));
    }
    return n_there;
}

static void
expand(const void *words, const uint8_t *mask, size_t n_words, uint8_t *out)
{
    const T *from = words;
    size_t i = 0;

    for (; i + 8 <= n_words; i += 8) {
        uint8_t *to = out + i * WORD_BYTES;

        if (mask[i / 8] == 0) {
            memset(to, 0, (size_t)8 * WORD_BYTES);
        } else if (mask[i / 8] == UINT8_MAX) {
            restore(from, 8, to);
            from += 8;
        } else {
            from += some_expand(from, mask[i / 8], 8, to);
        }
    }
    if (i < n_words)
        some_expand(from, mask[i / 8], n_words - i, out + i * WORD_BYTES);
}

extern const struct planes_kernel KERNEL;

const struct planes_kernel KERNEL = {
    .count_zeros = count_zeros,
    .rotate = rotate,
    .compact = compact,
    .split = split,
    .merge = merge,
    .restore = restore,
    .expand = expand,
};
