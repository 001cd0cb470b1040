/*
 * hoop-perf/candidates.h - all algorithms of an operation, measured in turns
 *
 * Without --algorithms there is one, what hoop chooses, on the world.
 * Otherwise: a communicator for each, of all ranks, on which it is forced; the first one
 * chooses as hoop does. In every round each has its turn, and every round
 * begins with another one, so that whatever disturbs the machine disturbs all.
 */

#ifndef HOOP_PERF_CANDIDATES_H
#define HOOP_PERF_CANDIDATES_H

#include <stddef.h>

#include "hoop/hoop.h"

#include "hoop-perf/bench.h"
#include "hoop-perf/operation.h"
#include "hoop-perf/options.h"

enum {
    CANDIDATES_MAX = 12,
};

struct candidates {
    const struct options *options; /* borrowed */
    hoop_session_t *session;       /* borrowed */
    size_t n_comms;
    hoop_comm_t *comms[CANDIDATES_MAX];
    /* Of the operation at hand. */
    size_t n;
    const char *names[CANDIDATES_MAX];
    struct measurement measurements[CANDIDATES_MAX];
};

/* All ranks call it alike: make the communicators that operation needs. */
HOOP_NODISCARD enum hoop_status
candidates_gather(struct candidates *candidates,
                  const struct operation *operation);

/* All ranks call it alike; fills measurements, whose percentiles are over the
 * rounds. bench's communicator is as it was afterwards. */
HOOP_NODISCARD enum hoop_status
candidates_measure(struct candidates *candidates,
                   struct bench *bench,
                   const struct operation *operation,
                   const struct extent *extent);

/* Zeroed memory is fine. */
void
candidates_deinit(struct candidates *candidates);

#endif
