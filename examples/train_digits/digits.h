/* train_digits/digits.h - reads 8x8 images of handwritten digits from CSV */

#ifndef TRAIN_DIGITS_DIGITS_H
#define TRAIN_DIGITS_DIGITS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

enum {
    DIGITS_PIXELS = 64,
    DIGITS_CLASSES = 10,
    DIGITS_IMAGES_MAX = 1 << 20,
};

struct image {
    double pixels[DIGITS_PIXELS]; /* from 0 to 1 */
    uint32_t label;
};

struct digits {
    size_t n_images;
    struct image *images;
};

/*
 * Each line has 64 numbers from 0 to 16 and the digit. Prints errors to stderr.
 *
 * Handle: HOOP_E_NOT_FOUND, HOOP_E_INVALID, HOOP_E_EXHAUSTED.
 */
HOOP_NODISCARD enum hoop_status
digits_load(const char *path, struct digits *out_digits);

/* images may be NULL. */
void
digits_deinit(struct digits *digits);

#endif
