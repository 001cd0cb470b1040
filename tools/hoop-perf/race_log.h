/*
 * hoop-perf/race_log.h - --tune: appends a line for each comparison to a file
 *
 * HOOP_TUNING reads the file (hoop(7)). A line has ranks, nodes, collective,
 * bytes, and for each algorithm the median of its rounds in whole ns.
 */

#ifndef HOOP_PERF_RACE_LOG_H
#define HOOP_PERF_RACE_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "hoop/hoop.h"

#include "hoop-perf/candidates.h"
#include "hoop-perf/operation.h"

struct race_log {
    const char *path; /* borrowed */
    FILE *file;       /* NULL: not wanted */
    uint32_t n_ranks;
    uint32_t n_nodes;
};

/* Return whether several algorithms can run operation, on blocks of equal size,
 * and it has sizes. */
bool
race_log_takes(const struct operation *operation);

/* path NULL: log nothing. Handle: HOOP_E_UNAVAILABLE (printed to stderr). */
HOOP_NODISCARD enum hoop_status
race_log_open(struct race_log *log, const char *path, const hoop_comm_t *comm);

/* Add what candidates_measure() found, except wrong results. */
void
race_log_add(struct race_log *log,
             const struct operation *operation,
             const struct extent *extent,
             const struct candidates *candidates);

/* Handle: HOOP_E_DATA_LOSS (not written; printed to stderr). */
HOOP_NODISCARD enum hoop_status
race_log_close(struct race_log *log);

#endif
