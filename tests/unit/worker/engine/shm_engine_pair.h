/* tests/unit/worker/engine/shm_engine_pair.h - engines with shared regions */

#ifndef TESTS_UNIT_WORKER_ENGINE_SHM_ENGINE_PAIR_H
#define TESTS_UNIT_WORKER_ENGINE_SHM_ENGINE_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine_pair_fixture.h"

enum {
    FLAT_SLOT = 32768, /* bytes */
};

/* Gives contexts 0 and 1 of engine_pair shared regions. Background threads
 * run. */
int
shm_pair_set_up(void **state);
/* This is like the one above, and the two ranks may read each other's
 * memory. */
int
shm_pair_set_up_open(void **state);
/* This is like the first one, and all calls are compared before any data
 * move. */
int
shm_pair_set_up_checked(void **state);
/* This is like the first one, but without background threads. */
int
shm_pair_set_up_idle(void **state);
/* This is like the one above, but not connected. */
int
shm_pair_set_up_unconnected(void **state);

/* Returns whether the last error contains the phrase. */
bool
says(const char *phrase);

struct engine_collective
flat_sum_of(const struct comm_context *context, int32_t *values, size_t count);
/* Runs two of three calls directly and the third as an operation. The ranks
 * need not agree on which. */
enum hoop_status
flat_run(struct engine_collective collective, struct comm_context *context);
enum hoop_status
flat_sum(struct comm_context *context, int32_t *values, size_t count);

#endif
