/* hoop-sim/study.h - simulates all requested points and finds the fastest */

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
    size_t n_bytes; /* as requested; outcome has the size that was simulated */
    struct hoop_simulated outcome;
    bool is_best; /* the fastest for its operation, ranks and size */
};

/* Points of the same operation, ranks and size are consecutive. Zeroed: an
 * empty study. */
struct study {
    struct study_point *points;
    size_t n_points;
    size_t capacity;
};

void
study_deinit(struct study *study);

/*
 * Add one group: all chosen algorithms that can be simulated there, maybe none.
 * *out_first is the number of its first point. Handle: none (hoop_error_text()
 * says what is wrong).
 */
HOOP_NODISCARD enum hoop_status
study_add(struct study *study,
          const struct options *options,
          const struct study_point *asked,
          size_t *out_first);

#endif
