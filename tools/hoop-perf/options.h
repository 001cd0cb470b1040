/* hoop-perf/options.h - the command line of hoop-perf */

#ifndef HOOP_PERF_OPTIONS_H
#define HOOP_PERF_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop-perf/operation.h"

enum {
    OPTIONS_SIZES_MAX = 64,
};

enum placement {
    PLACEMENT_APART,
    PLACEMENT_IN_PLACE,
};

/* --inject-wrong: change one element of one rank's result. */
struct injection {
    bool is_wanted;
    uint32_t rank;
    size_t index;
};

/* All texts are borrowed from argv. */
struct options {
    const struct operation *chosen[OPERATION_COUNT];
    size_t n_chosen;
    bool takes_all; /* --op all */
    size_t min_bytes;
    size_t max_bytes;
    size_t factor;
    size_t n_iterations;
    size_t n_warmups;
    enum hoop_dtype dtype;
    enum hoop_reduce_op reduce_op;
    enum placement placement;
    uint32_t root;
    bool has_check;
    bool only_explains;
    const char *algorithms; /* to compare, "all" or a list; NULL: none */
    size_t n_rounds;        /* rounds of the comparison */
    struct injection injection;
    const char *csv;  /* a path, "-", or NULL */
    const char *json; /* a path, "-", or NULL */
    const char *tune; /* a path, or NULL */
};

/* Fills *out_options, or prints what is wrong and exits with 64. */
void
options_parse(int argc, char **argv, struct options *out_options);

/* min, min * factor, ... up to max. Returns how many there are. */
size_t
options_sizes(const struct options *options,
              size_t out_sizes[static OPTIONS_SIZES_MAX]);

#endif
