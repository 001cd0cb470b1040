/* hoop-perf/explain.h - predicts the algorithm and its time */

#ifndef HOOP_PERF_EXPLAIN_H
#define HOOP_PERF_EXPLAIN_H

#include "hoop/hoop.h"

#include "hoop-perf/options.h"

/* Print a row for each chosen operation and size, without running it. */
HOOP_NODISCARD enum hoop_status
explain_print(const struct options *options, hoop_comm_t *comm);

#endif
