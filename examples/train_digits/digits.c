/* train_digits/digits.c - reads 8x8 images of handwritten digits from CSV */

#include "train_digits/digits.h"

#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    LINE_MAX_BYTES = 512,
    PIXEL_MAX = 16,
};

static bool
number_read(char **at, long max, long *out_number)
{
    char *end = NULL;
    const long number = strtol(*at, &end, 10);

    if (end == *at || number < 0 || number > max)
        return false;
    *at = *end == ',' ? end + 1 : end;
    *out_number = number;
    return true;
}

static bool
image_read(char *line, struct image *out_image)
{
    long number = 0;

    for (size_t i = 0; i < DIGITS_PIXELS; i++) {
        if (!number_read(&line, PIXEL_MAX, &number))
            return false;
        out_image->pixels[i] = (double)number / PIXEL_MAX;
    }
    if (!number_read(&line, DIGITS_CLASSES - 1, &number))
        return false;
    out_image->label = (uint32_t)number;
    return *line == '\n' || *line == '\r' || *line == '\0';
}

static enum hoop_status
digits_grow(struct digits *digits, size_t *room)
{
    if (digits->n_images < *room)
        return HOOP_OK;
    *room = *room > 0 ? 2 * *room : 1024;
    if (*room > DIGITS_IMAGES_MAX)
        return HOOP_E_EXHAUSTED;

    struct image *images =
        realloc(digits->images, *room * sizeof(*digits->images));
    if (!images)
        return HOOP_E_EXHAUSTED;
    digits->images = images;
    return HOOP_OK;
}

static enum hoop_status
digits_read(FILE *file, const char *path, struct digits *digits)
{
    char line[LINE_MAX_BYTES];
    size_t room = 0;

    while (fgets(line, sizeof(line), file)) {
        if (digits_grow(digits, &room) != HOOP_OK) {
            warnx("%s: too many images for the memory", path);
            return HOOP_E_EXHAUSTED;
        }
        if (!image_read(line, &digits->images[digits->n_images])) {
            warnx("%s:%zu: 64 numbers 0..16 and a digit are expected", path,
                  digits->n_images + 1);
            return HOOP_E_INVALID;
        }
        digits->n_images++;
    }
    if (digits->n_images == 0) {
        warnx("%s: no images in it", path);
        return HOOP_E_INVALID;
    }
    return HOOP_OK;
}

enum hoop_status
digits_load(const char *path, struct digits *out_digits)
{
    struct digits digits = {0};
    FILE *file = fopen(path, "re");

    if (!file) {
        warn("%s (say where the images are with --data)", path);
        return HOOP_E_NOT_FOUND;
    }
    const enum hoop_status status = digits_read(file, path, &digits);
    fclose(file);
    if (status != HOOP_OK) {
        digits_deinit(&digits);
        return status;
    }
    *out_digits = digits;
    return HOOP_OK;
}

void
digits_deinit(struct digits *digits)
{
    free(digits->images);
    *digits = (struct digits){0};
}
