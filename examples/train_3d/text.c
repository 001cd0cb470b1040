/* train_3d/text.c - loads a text to learn, and cuts windows from it */

#include "train_3d/text.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train_3d/memory.h"
#include "train_3d/noise.h"

static enum hoop_status
text_check(const struct text *text, const char *path)
{
    for (size_t i = 0; i < text->n_bytes; i++) {
        if (text->bytes[i] < TEXT_BYTES)
            continue;
        warnx("%s: byte %zu is no ASCII; choose another text with --text", path,
              i);
        return HOOP_E_INVALID;
    }
    return HOOP_OK;
}

static enum hoop_status
text_read(FILE *file, const char *path, struct text *text)
{
    fseek(file, 0, SEEK_END);
    const long n_bytes = ftell(file);
    rewind(file);
    if (n_bytes <= 0 || n_bytes > TEXT_SIZE_MAX) {
        warnx("%s: a text of 1 to %d bytes is wanted", path, TEXT_SIZE_MAX);
        return HOOP_E_INVALID;
    }
    text->bytes = zeros_create((size_t)n_bytes, 1);
    text->n_bytes = fread(text->bytes, 1, (size_t)n_bytes, file);
    if (text->n_bytes != (size_t)n_bytes) {
        warn("cannot read %s", path);
        return HOOP_E_INVALID;
    }
    return text_check(text, path);
}

enum hoop_status
text_load(const char *path, struct text *out_text)
{
    struct text text = {0};
    FILE *file = fopen(path, "re");

    if (!file) {
        warn("%s (say where a text is with --text)", path);
        return HOOP_E_NOT_FOUND;
    }
    const enum hoop_status status = text_read(file, path, &text);
    fclose(file);
    if (status != HOOP_OK) {
        text_deinit(&text);
        return status;
    }
    *out_text = text;
    return HOOP_OK;
}

static void
text_load_longer(const char *path, size_t n_positions, struct text *out_text)
{
    if (text_load(path, out_text) != HOOP_OK)
        return;
    if (out_text->n_bytes > n_positions)
        return;
    warnx("%s: %zu bytes are less than a window and one; choose smaller "
          "--positions",
          path, out_text->n_bytes);
    text_deinit(out_text);
}

enum hoop_status
text_share(const char *path,
           size_t n_positions,
           hoop_comm_t *world,
           struct text *out_text)
{
    struct text text = {0};
    void *bytes = NULL;

    if (hoop_comm_rank(world) == 0)
        text_load_longer(path, n_positions, &text);
    const enum hoop_status status = hoop_broadcast_object(
        text.bytes, text.n_bytes, &bytes, &text.n_bytes, 0, world);
    if (status != HOOP_OK)
        warnx("no text from rank 0: %s", hoop_error_text());
    if (status == HOOP_OK && !text.bytes) {
        text.bytes = zeros_create(text.n_bytes, 1);
        if (text.n_bytes > 0)
            memcpy(text.bytes, bytes, text.n_bytes);
        hoop_object_free(bytes);
    }
    if (status != HOOP_OK || text.n_bytes == 0) {
        text_deinit(&text);
        return status != HOOP_OK ? status : HOOP_E_NOT_FOUND;
    }
    *out_text = text;
    return HOOP_OK;
}

void
text_deinit(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

void
text_cut(const struct text *text,
         const struct windows *windows,
         struct span rows,
         struct token *out_tokens)
{
    const struct noise noise = {windows->seed, "windows"};
    const size_t n_begins = text->n_bytes - windows->n_positions;

    for (size_t i = 0; i < rows.count; i++) {
        const size_t row = rows.begin + i;
        const size_t position = row % windows->n_positions;
        const uint64_t window = windows->first + row / windows->n_positions;
        const unsigned char *at =
            text->bytes + noise_below(noise, window, n_begins) + position;

        out_tokens[i] = (struct token){at[0], at[1], position};
    }
}
