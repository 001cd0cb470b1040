/* hoop-sim/listing.h - prints a study as a table and as CSV */

#ifndef HOOP_SIM_LISTING_H
#define HOOP_SIM_LISTING_H

#include <stdbool.h>
#include <stdio.h>

#include "hoop-sim/options.h"
#include "hoop-sim/study.h"

struct listing {
    const struct options *options; /* borrowed */
    bool has_table;                /* on stdout */
    FILE *csv;                     /* NULL: not wanted */
};

/* Handle: HOOP_E_UNAVAILABLE (a file; printed to stderr). */
HOOP_NODISCARD enum hoop_status
listing_open(struct listing *listing, const struct options *options);

/* Print the points from number first on, which are one group. */
void
listing_group(struct listing *listing, const struct study *study, size_t first);

/* Handle: HOOP_E_DATA_LOSS (a file was not written; printed to stderr). */
HOOP_NODISCARD enum hoop_status
listing_close(struct listing *listing);

#endif
