/* train_3d/text.h - a text to learn, and the windows that are cut from it */

#ifndef TRAIN_3D_TEXT_H
#define TRAIN_3D_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"

#include "train_3d/parameter.h"

enum {
    TEXT_BYTES = 128, /* different bytes, as in ASCII */
    TEXT_SIZE_MAX = 1 << 28,
};

struct text {
    unsigned char *bytes;
    size_t n_bytes;
};

/* Prints errors to stderr. Handle: HOOP_E_NOT_FOUND, HOOP_E_INVALID. */
HOOP_NODISCARD enum hoop_status
text_load(const char *path, struct text *out_text);

/*
 * Rank 0 loads a text for all ranks of world, which all call it. The text must
 * have more bytes than a window. Only rank 0 prints what is wrong with it, to
 * stderr. Handle: as text_load(), and the errors of a broadcast.
 */
HOOP_NODISCARD enum hoop_status
text_share(const char *path,
           size_t n_positions,
           hoop_comm_t *world,
           struct text *out_text);

/* The memory may also be zeroed. */
void
text_deinit(struct text *text);

/* A position in a window: the byte that the model sees and the one to
 * predict. */
struct token {
    unsigned char seen;
    unsigned char next;
    size_t position;
};

/* Selects windows of n_positions bytes each. */
struct windows {
    uint64_t seed;
    uint64_t first; /* number of the first, counted from the first step on */
    size_t n_positions;
};

/*
 * The windows follow each other, with a row for each position. Writes the
 * tokens of some of the rows. text has more bytes than a window.
 */
void
text_cut(const struct text *text,
         const struct windows *windows,
         struct span rows,
         struct token *out_tokens);

#endif
