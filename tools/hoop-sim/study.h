/* hoop-sim/study.h - all that was asked, simulated; who is the fastest where */

#ifndef HOOP_SIM_STUDY_H
#define HOOP_SIM_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/simulate.h"

#include "hoop-sim/options.h"

struct study_point {
    const char *collective;
    const char *algorithm;
    uint32_t n_ranks;
    size_t n_bytes; /* asked for; the outcome knows what it became */
    struct hoop_simulated outcome;
    bool is_best; /* of those of its operation, ranks and size */
};

/* Points of one operation, number of ranks and size stand together. Zeroed
 * memory is an empty study. */
struct study {
    struct study_point *points;
    size_t n_points;
    size_t capacity;
};

void
study_deinit(struct study *study);

/*
 * One group: all algorithms that were chosen and have a point there, maybe
 * none. *out_first is the number of its first point.
 *
 * Handle: none (hoop_error_text() says what is wrong).
 */
HOOP_NODISCARD enum hoop_status
study_add(struct study *study,
          const struct options *options,
          const struct study_point *asked,
          size_t *out_first);

#endif
