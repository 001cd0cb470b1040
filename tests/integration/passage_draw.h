/*
 * tests/integration/passage_draw.h - a mapping's call, drawn by chance
 *
 * All ranks draw the same, with all ranks' tensors. Where an element of a
 * result must come from follows from the definition of the effect: from the
 * index formulas, a tensor being [outer, length, inner] around a dimension.
 */

#ifndef TESTS_PASSAGE_DRAW_H
#define TESTS_PASSAGE_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "passages.h"

enum {
    PASSAGE_RANKS_MAX = 4,
};

struct passage_draw {
    const struct passage *passage;
    uint32_t size;
    enum hoop_dtype dtype;
    size_t element_size;
    bool has_sizes;  /* of rows */
    bool has_splits; /* of rows to and from each rank */
    size_t sizes[PASSAGE_RANKS_MAX];
    size_t pairs[PASSAGE_RANKS_MAX][PASSAGE_RANKS_MAX]; /* [from][to] */
    struct hoop_shape shapes[PASSAGE_RANKS_MAX];        /* of the tensors */
    void *inputs[PASSAGE_RANKS_MAX];
};

void
passage_draw_init(struct passage_draw *draw, uint32_t size, uint64_t seed);
void
passage_draw_deinit(struct passage_draw *draw);

/* A rank's result; false where it cannot be cut. */
bool
passage_draw_result(const struct passage_draw *draw,
                    uint32_t rank,
                    struct hoop_shape *out_shape);

struct passage_origin {
    bool is_sum; /* of all ranks' */
    uint32_t rank;
    size_t index;
};

/* Of element index of a rank's result. */
struct passage_origin
passage_draw_origin(const struct passage_draw *draw,
                    uint32_t rank,
                    size_t index);

size_t
passage_draw_count(const struct hoop_shape *shape);

#endif
