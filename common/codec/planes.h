/*
 * codec/planes.h - words taken apart into planes of bytes, and back
 *
 * A plane holds the same byte of all words, the most significant plane first.
 * Words are rotated to the left by one bit before: the exponent of a float then
 * lies in bytes of its own, with its sign among the digits, where nothing can
 * be saved anyway. Words of zeros may be left out, with a bit for each word
 * that says whether it is there.
 */

#ifndef CODEC_PLANES_H
#define CODEC_PLANES_H

#include <stddef.h>
#include <stdint.h>

/* One for each size of words. in and out may lie anywhere. */
struct planes_kernel {
    size_t (*count_zeros)(const uint8_t *in, size_t n_words);
    /* Rotated, to words. */
    void (*rotate)(const uint8_t *in, size_t n_words, void *words);
    /* ... without those that are 0. Returns how many are left. */
    size_t (*compact)(const uint8_t *in,
                      size_t n_words,
                      void *words,
                      uint8_t *mask);
    void (*split)(const void *words, size_t n_words, uint8_t *planes);
    void (*merge)(const uint8_t *planes, size_t n_words, void *words);
    /* Rotated back, to out. */
    void (*restore)(const void *words, size_t n_words, uint8_t *out);
    /* ... with zeros in between: n_words of them all. */
    /* One word behind words may be read. */
    void (*expand)(const void *words,
                   const uint8_t *mask,
                   size_t n_words,
                   uint8_t *out);
};

/* Words of 1, 2, 4 or 8 bytes; of another size NULL. Static. */
const struct planes_kernel *
planes_find(size_t word_size);

#endif
