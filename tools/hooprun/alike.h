/*
 * hooprun/alike.h - lines that many ranks write alike
 *
 * What one cause makes hundreds of ranks say is said by the first of them; the
 * others are counted. Lines are alike where they differ in numbers, and
 * lists of them, only.
 *
 * Thread: one at a time.
 */

#ifndef HOOPRUN_ALIKE_H
#define HOOPRUN_ALIKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ALIKE_SHOWN = 1,  /* lines that are written before they are counted */
    ALIKE_KINDS = 64, /* that are known; the one seen longest ago goes */
    ALIKE_TEXT = 160,
};

struct alike_kind {
    uint64_t digest;
    uint64_t seen;     /* of alike.n_lines */
    uint32_t n_lines;  /* written or counted; 0: unused */
    uint32_t n_hidden; /* counted, not told yet */
    uint32_t rank_min; /* of those who wrote these */
    uint32_t rank_max;
    char text[ALIKE_TEXT]; /* the beginning of the last one */
};

/* Zeroed memory knows no line. */
struct alike {
    uint64_t n_lines;
    struct alike_kind kinds[ALIKE_KINDS];
};

/* Whether the line of the rank is to be counted in place of being written. It is
 * as long as n_bytes says. */
bool
alike_hides(struct alike *alike,
            uint32_t rank,
            const char *bytes,
            size_t n_bytes);

/* The next kind of which lines were counted. They are told with that. False: no
 * more. */
bool
alike_next(struct alike *alike, struct alike_kind *out_kind);

/* What libhoop says of itself, not the program: "2026-11-26T03:43:00.000Z ...
 * warning ...". */
bool
alike_is_log(const char *bytes, size_t n_bytes);

#endif
