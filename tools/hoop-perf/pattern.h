/*
 * hoop-perf/pattern.h - the input of each rank, and the expected result
 *
 * The inputs are small whole numbers that depend on rank and index, chosen so
 * that every partial result is exact in the dtype. Any order of combination
 * then gives the same bits, and each rank can compute the expected result
 * alone. They repeat after a prime number of elements, so that a block in the
 * wrong place is detected.
 */

#ifndef HOOP_PERF_PATTERN_H
#define HOOP_PERF_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/dtype.h"

#include "hoop-perf/element.h"

enum {
    PATTERN_PERIOD = 4093,
};

enum pattern_use {
    PATTERN_MOVED,   /* arrives unchanged */
    PATTERN_REDUCED, /* is combined over all ranks */
};

struct pattern {
    enum pattern_use use;
    enum hoop_dtype dtype;
    enum hoop_reduce_op reduce_op; /* for PATTERN_REDUCED */
    uint32_t n_ranks;
};

/* One period, encoded. */
struct period {
    size_t element_size;
    unsigned char bytes[PATTERN_PERIOD * ELEMENT_BYTES_MAX];
};

/* The contribution of rank at index. */
struct number
pattern_input(const struct pattern *pattern, uint32_t rank, size_t index);

/* The combination of all contributions at index. */
struct number
pattern_output(const struct pattern *pattern, size_t index);

/* The combination of the first n_first ranks, at least one; not for AVG. */
struct number
pattern_prefix(const struct pattern *pattern, uint32_t n_first, size_t index);

void
period_of_input(const struct pattern *pattern,
                uint32_t rank,
                struct period *out_period);
void
period_of_output(const struct pattern *pattern, struct period *out_period);
void
period_of_prefix(const struct pattern *pattern,
                 uint32_t n_first,
                 struct period *out_period);

/* Elements first, first + 1, ... of the repeated period. */
void
period_fill(const struct period *period,
            size_t first,
            size_t count,
            void *out_elements);

/* Return how many of count elements differ from the repeated period. */
size_t
period_count_wrong(const struct period *period,
                   size_t first,
                   size_t count,
                   const void *elements);

#endif
