/*
 * hoop-perf/race_log.h - --tune: a line for each race, behind those of before
 *
 * What HOOP_TUNING reads (hoop(7)): ranks, nodes, collective, bytes, and the
 * median of each algorithm's rounds in whole ns. One job is one race.
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

/* Several algorithms do it, on even blocks; it has sizes. */
bool
race_log_takes(const struct operation *operation);

/* path NULL: log nothing. Handle: HOOP_E_UNAVAILABLE (says so on stderr). */
HOOP_NODISCARD enum hoop_status
race_log_open(struct race_log *log, const char *path, const hoop_comm_t *comm);

/* What candidates_measure() found; without results that were wrong. */
void
race_log_add(struct race_log *log,
             const struct operation *operation,
             const struct extent *extent,
             const struct candidates *candidates);

/* Handle: HOOP_E_DATA_LOSS (was not written; says so on stderr). */
HOOP_NODISCARD enum hoop_status
race_log_close(struct race_log *log);

#endif
