/*
 * hooprun/alike.h - counts similar lines of many ranks in place of writing them
 *
 * When one cause makes hundreds of ranks write the same line, only the first
 * line is written and the others are counted. Lines are similar if they differ
 * only in numbers and lists of numbers.
 *
 * Thread: one at a time.
 */

#ifndef HOOPRUN_ALIKE_H
#define HOOPRUN_ALIKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ALIKE_SHOWN = 1,  /* lines of a kind that are written before others are
                         counted */
    ALIKE_KINDS = 64, /* kinds that are remembered; the one seen longest ago
                         is dropped */
    ALIKE_TEXT = 160,
};

struct alike_kind {
    uint64_t digest;
    uint64_t seen;        /* value of alike.n_lines at the last line */
    uint32_t n_lines;     /* written or counted; 0: unused */
    uint32_t n_hidden;    /* counted, not yet reported */
    uint32_t lowest_rank; /* of the ranks whose lines were counted */
    uint32_t highest_rank;
    char text[ALIKE_TEXT]; /* the beginning of the last line */
};

/* Zeroed: no line is known. */
struct alike {
    uint64_t n_lines;
    struct alike_kind kinds[ALIKE_KINDS];
};

/* Return whether the line of rank is counted in place of being written. bytes
 * need not be terminated. */
bool
alike_hides(struct alike *alike,
            uint32_t rank,
            const char *bytes,
            size_t n_bytes);

/* Get the next kind with counted lines, which then count as reported. Return
 * false if there are no more. */
bool
alike_next(struct alike *alike, struct alike_kind *out_kind);

/* Return whether the line is from libhoop's log, not from the program:
 * "2026-11-26T03:43:00.000Z ... warning ...". */
bool
alike_is_log(const char *bytes, size_t n_bytes);

#endif
