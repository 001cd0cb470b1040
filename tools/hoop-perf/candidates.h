/*
 * hoop-perf/candidates.h - measures all algorithms of an operation in turns
 *
 * Without --algorithms there is one candidate, what hoop chooses, on the world
 * communicator. Otherwise each candidate has a communicator of all ranks on
 * which it is forced; on the first one hoop chooses. Every round measures each
 * candidate once and begins with a different one, so that a disturbance affects
 * all of them alike.
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
    /* For the current operation. */
    size_t n;
    const char *names[CANDIDATES_MAX];
    struct measurement measurements[CANDIDATES_MAX];
};

/* All ranks must call it with the same arguments. Makes the communicators that
 * operation needs. */
HOOP_NODISCARD enum hoop_status
candidates_gather(struct candidates *candidates,
                  const struct operation *operation);

/* All ranks must call it with the same arguments. Fills measurements, with
 * percentiles over the rounds. The communicator of bench is restored
 * afterwards. */
HOOP_NODISCARD enum hoop_status
candidates_measure(struct candidates *candidates,
                   struct bench *bench,
                   const struct operation *operation,
                   const struct extent *extent);

/* Zeroed: nothing to release. */
void
candidates_deinit(struct candidates *candidates);

#endif
