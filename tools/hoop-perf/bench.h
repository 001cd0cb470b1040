/* hoop-perf/bench.h - measure one operation at one size, and check it */

#ifndef HOOP_PERF_BENCH_H
#define HOOP_PERF_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/hoop.h"

#include "hoop-perf/operation.h"
#include "hoop-perf/options.h"
#include "hoop-perf/pattern.h"
#include "hoop-perf/timing.h"

struct bench {
    const struct options *options; /* borrowed */
    hoop_comm_t *comm;             /* borrowed */
    uint32_t rank;
    uint32_t n_ranks;
    void *send; /* as large as the largest size needs, or NULL */
    void *receive;
    double *times_us; /* one for each iteration, and their total */
    struct period *period;
    bool is_warm; /* this operation ran at this size already */
};

struct measurement {
    struct timing timing;  /* of the slowest rank */
    int64_t n_wrong;       /* over all ranks; -1: not checked */
    const char *candidate; /* of --algorithms, "auto" or forced; else NULL */
    const char *algorithm; /* that did it; NULL: it has none */
};

/* Handle: HOOP_E_EXHAUSTED. Undo with bench_deinit(), also after a failure. */
HOOP_NODISCARD enum hoop_status
bench_init(struct bench *bench,
           const struct options *options,
           hoop_comm_t *comm);

/* All ranks call it alike. The failure's text is hoop_error_text(). */
HOOP_NODISCARD enum hoop_status
bench_measure(struct bench *bench,
              const struct operation *operation,
              const struct extent *extent,
              struct measurement *out_measurement);

/* A few iterations, each after a barrier that is not timed: the mean of this
 * rank's times. Before them one that does not count; with --warmup 0 only if
 * nothing is warm. */
HOOP_NODISCARD enum hoop_status
bench_round(struct bench *bench,
            const struct operation *operation,
            const struct extent *extent,
            double *out_us);

/* One more run, on fresh buffers; wrong elements over all ranks. */
HOOP_NODISCARD enum hoop_status
bench_check(struct bench *bench,
            const struct operation *operation,
            const struct extent *extent,
            int64_t *out_n_wrong);

/* Zeroed memory is fine. */
void
bench_deinit(struct bench *bench);

#endif
