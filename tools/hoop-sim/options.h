/* hoop-sim/options.h - the command line of hoop-sim */

#ifndef HOOP_SIM_OPTIONS_H
#define HOOP_SIM_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/simulate.h"

#include "hoop-sim/number_list.h"

enum {
    OPTIONS_NAMES_MAX = 32,
};

/* All texts are borrowed from argv or the library. */
struct options {
    const char *collectives[OPTIONS_NAMES_MAX];
    size_t n_collectives;
    const char *algorithms[OPTIONS_NAMES_MAX];
    size_t n_algorithms; /* 0: all algorithms */
    struct number_list ranks;
    struct number_list sizes;
    uint32_t n_per_host;
    size_t element_size;
    struct hoop_machine machine;
    const char *csv; /* a path, "-", or NULL */
    const char *svg; /* a path, or NULL */
};

/* Fills *out_options, or prints what is wrong and exits with 64. */
void
options_parse(int argc, char **argv, struct options *out_options);

#endif
