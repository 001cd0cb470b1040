/*
 * codec/planes.h - splits words into planes of bytes, and merges them
 *
 * A plane holds the same byte of all words; the most significant plane comes
 * first. Words are first rotated to the left by one bit, so that the exponent
 * of a float fills whole bytes and its sign is among the mantissa bits, which
 * do not compress. Words that are zero may be left out; a mask then has a bit
 * for each word that says whether it is present.
 */

#ifndef CODEC_PLANES_H
#define CODEC_PLANES_H

#include <stddef.h>
#include <stdint.h>

/* There is one for each word size. in and out need no alignment. */
struct planes_kernel {
    size_t (*count_zeros)(const uint8_t *in, size_t n_words);
    /* Writes the rotated words to words. */
    void (*rotate)(const uint8_t *in, size_t n_words, void *words);
    /* The same, without words that are 0. Returns how many are left. */
    size_t (*compact)(const uint8_t *in,
                      size_t n_words,
                      void *words,
                      uint8_t *mask);
    void (*split)(const void *words, size_t n_words, uint8_t *planes);
    void (*merge)(const uint8_t *planes, size_t n_words, void *words);
    /* Undoes the rotation, to out. */
    void (*restore)(const void *words, size_t n_words, uint8_t *out);
    /* The same, with the zeros that mask says: n_words in all. */
    /* May read one word beyond words. */
    void (*expand)(const void *words,
                   const uint8_t *mask,
                   size_t n_words,
                   uint8_t *out);
};

/* word_size is 1, 2, 4 or 8; NULL for another one. The result is static. */
const struct planes_kernel *
planes_find(size_t word_size);

#endif
