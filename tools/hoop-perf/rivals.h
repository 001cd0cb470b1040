/*
 * hoop-perf/rivals.h - all algorithms of an operation, measured in turns
 *
 * Without --algorithms there is one, what hoop chooses, on the world.
 * Otherwise: a communicator for each, of all ranks, on which it is forced; the first one
 * chooses as hoop does. In every round each has its turn, and every round
 * begins with another one, so that whatever disturbs the machine disturbs all.
 */

#ifndef HOOP_PERF_RIVALS_H
#define HOOP_PERF_RIVALS_H

#include <stddef.h>

#include "hoop/hoop.h"

#include "hoop-perf/bench.h"
#include "hoop-perf/operation.h"
#include "hoop-perf/options.h"

enum {
    RIVALS_MAX = 12,
};

struct rivals {
    const struct options *options; /* borrowed */
    hoop_session_t *session;       /* borrowed */
    size_t n_comms;
    hoop_comm_t *comms[RIVALS_MAX];
    /* Of the operation at hand. */
    size_t n;
    const char *names[RIVALS_MAX];
    struct measurement measurements[RIVALS_MAX];
};

/* All ranks call it alike: make the communicators that operation needs. */
HOOP_NODISCARD enum hoop_status
rivals_gather(struct rivals *rivals, const struct operation *operation);

/* All ranks call it alike; fills measurements, whose percentiles are over the
 * rounds. bench's communicator is as it was afterwards. */
HOOP_NODISCARD enum hoop_status
rivals_measure(struct rivals *rivals,
               struct bench *bench,
               const struct operation *operation,
               const struct extent *extent);

/* Zeroed memory is fine. */
void
rivals_deinit(struct rivals *rivals);

#endif
