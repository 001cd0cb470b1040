/*
 * tests/integration/draw.h - a call of a collective, drawn by chance
 *
 * The same seed draws the same on all ranks, all ranks' inputs included.
 */

#ifndef TESTS_DRAW_H
#define TESTS_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"

enum {
    DRAW_RANKS_MAX = 8,
};

enum draw_kind {
    DRAW_ALLREDUCE,
    DRAW_REDUCE,
    DRAW_BROADCAST,
    DRAW_ALLGATHER,
    DRAW_GATHER,
    DRAW_SCATTER,
    DRAW_REDUCE_SCATTER,
    DRAW_ALLTOALL,
    DRAW_SCAN,
    DRAW_EXSCAN,
    DRAW_KINDS,
};

/* "allreduce". Static. */
const char *
draw_name(enum draw_kind kind);

/* One call, the same on all ranks. counts[s] are rank s's; of an all-to-all,
 * pair[s][r] go from s to r. */
struct draw {
    enum draw_kind kind;
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    uint32_t size;
    uint32_t root;
    bool is_in_place;
    bool is_even;
    size_t element_size;
    size_t count;
    size_t counts[DRAW_RANKS_MAX];
    size_t pairs[DRAW_RANKS_MAX][DRAW_RANKS_MAX];
    void *inputs[DRAW_RANKS_MAX];
};

/* A number below bound; seed becomes the next one. */
size_t
draw_below(uint64_t *seed, size_t bound);

size_t
draw_sum(const size_t *counts, uint32_t n);

void
draw_init(struct draw *draw, uint32_t size, uint64_t seed);
void
draw_deinit(struct draw *draw);

/* Elements that rank gives. */
size_t
draw_given(const struct draw *draw, uint32_t rank);

#endif
