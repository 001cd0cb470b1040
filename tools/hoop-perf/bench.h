/* hoop-perf/bench.h - measures one operation at one size, and checks its
 * result */

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
    double *times_us; /* one per iteration, and their total */
    struct period *period;
    bool is_warm; /* this operation has already run at this size */
};

struct measurement {
    struct timing timing;  /* of the slowest rank */
    int64_t n_wrong;       /* over all ranks; -1: not checked */
    const char *candidate; /* an entry of --algorithms, "auto" or a name;
                              else NULL */
    const char *algorithm; /* the one that was used; NULL: the operation has
                              none */
};

/* Handle: HOOP_E_EXHAUSTED. Call bench_deinit() afterwards, also after a
 * failure. */
HOOP_NODISCARD enum hoop_status
bench_init(struct bench *bench,
           const struct options *options,
           hoop_comm_t *comm);

/* All ranks must call it with the same arguments. The error text is
 * hoop_error_text(). */
HOOP_NODISCARD enum hoop_status
bench_measure(struct bench *bench,
              const struct operation *operation,
              const struct extent *extent,
              struct measurement *out_measurement);

/* Run a few iterations, each after a barrier that is not timed. Returns the
 * mean of this rank's times. One iteration before them is not counted; with
 * --warmup 0 it is left out if one has already run. */
HOOP_NODISCARD enum hoop_status
bench_round(struct bench *bench,
            const struct operation *operation,
            const struct extent *extent,
            double *out_us);

/* Run once more on fresh buffers; returns the wrong elements of all ranks. */
HOOP_NODISCARD enum hoop_status
bench_check(struct bench *bench,
            const struct operation *operation,
            const struct extent *extent,
            int64_t *out_n_wrong);

/* Zeroed: nothing to release. */
void
bench_deinit(struct bench *bench);

#endif
