/* tests/integration/draw.c - a call of a collective, drawn by chance */

#include "draw.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "reference.h"

enum {
    COUNT_MAX = 4097,
};

static const char *const names[DRAW_KINDS] = {
    "allreduce", "reduce",         "broadcast", "allgather", "gather",
    "scatter",   "reduce_scatter", "alltoall",  "scan",      "exscan",
};

const char *
draw_name(enum draw_kind kind)
{
    return names[kind];
}

size_t
draw_below(uint64_t *seed, size_t bound)
{
    return (size_t)(reference_random(seed) % bound);
}

/* Small ones more often: every bit length is as likely. */
static size_t
draw_count(uint64_t *seed, size_t bound)
{
    const size_t n = draw_below(seed, (size_t)1 << draw_below(seed, 14));

    return n > bound ? bound : n;
}

static void
draw_operator(struct draw *draw, uint64_t *seed)
{
    static const enum hoop_reduce_op ops[] = {
        HOOP_SUM, HOOP_PRODUCT, HOOP_MIN,  HOOP_MAX,
        HOOP_BOR, HOOP_BAND,    HOOP_BXOR, HOOP_AVG};
    const bool is_prefix = draw->kind == DRAW_SCAN || draw->kind == DRAW_EXSCAN;

    do {
        draw->dtype = (enum hoop_dtype)draw_below(seed, HOOP_BOOL + 1);
        draw->op = ops[draw_below(seed, COUNT_OF(ops))];
    } while (!reference_is_defined(draw->dtype, draw->op) ||
             (is_prefix && draw->op == HOOP_AVG));
    draw->element_size = hoop_dtype_size(draw->dtype);
}

static void
draw_counts(struct draw *draw, uint64_t *seed)
{
    draw->count = draw_count(seed, COUNT_MAX);
    for (uint32_t s = 0; s < draw->size; s++) {
        draw->counts[s] =
            draw->is_even ? draw->count : draw_count(seed, COUNT_MAX);
        for (uint32_t r = 0; r < draw->size; r++)
            draw->pairs[s][r] =
                draw->is_even ? draw->count : draw_count(seed, COUNT_MAX);
    }
}

size_t
draw_sum(const size_t *counts, uint32_t n)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

size_t
draw_given(const struct draw *draw, uint32_t rank)
{
    switch (draw->kind) {
    case DRAW_ALLREDUCE:
    case DRAW_REDUCE:
    case DRAW_SCAN:
    case DRAW_EXSCAN:
    case DRAW_BROADCAST:
        return draw->count;
    case DRAW_ALLGATHER:
    case DRAW_GATHER:
        return draw->counts[rank];
    case DRAW_SCATTER:
    case DRAW_REDUCE_SCATTER:
        return draw_sum(draw->counts, draw->size);
    case DRAW_ALLTOALL:
        return draw_sum(draw->pairs[rank], draw->size);
    case DRAW_KINDS:
        break;
    }
    return 0;
}

void
draw_init(struct draw *draw, uint32_t size, uint64_t seed)
{
    memset(draw, 0, sizeof(*draw));
    draw->size = size;
    draw->kind = (enum draw_kind)draw_below(&seed, DRAW_KINDS);
    draw->root = (uint32_t)draw_below(&seed, size);
    draw->is_in_place = draw_below(&seed, 2);
    draw->is_even = draw_below(&seed, 2);
    draw_operator(draw, &seed);
    draw_counts(draw, &seed);
    for (uint32_t s = 0; s < size; s++) {
        const size_t n = draw_given(draw, s);

        draw->inputs[s] = malloc(n * draw->element_size + 1);
        reference_fill(draw->inputs[s], draw->dtype, n, seed + s);
    }
}

void
draw_deinit(struct draw *draw)
{
    for (uint32_t s = 0; s < draw->size; s++)
        free(draw->inputs[s]);
}
