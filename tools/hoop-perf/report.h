/* hoop-perf/report.h - prints results as a table, CSV and JSON */

#ifndef HOOP_PERF_REPORT_H
#define HOOP_PERF_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hoop-perf/bench.h"
#include "hoop-perf/operation.h"
#include "hoop-perf/options.h"

struct report {
    const struct options *options; /* borrowed */
    uint32_t n_ranks;
    bool has_table; /* on stdout */
    FILE *csv;      /* NULL: not wanted */
    FILE *json;
    size_t n_rows;
};

/* Handle: HOOP_E_UNAVAILABLE (a file; printed to stderr). */
HOOP_NODISCARD enum hoop_status
report_open(struct report *report,
            const struct options *options,
            uint32_t n_ranks);

void
report_row(struct report *report,
           const struct operation *operation,
           const struct extent *extent,
           const struct measurement *measurement);

/* Handle: HOOP_E_DATA_LOSS (a file was not written; printed to stderr). */
HOOP_NODISCARD enum hoop_status
report_close(struct report *report);

#endif
