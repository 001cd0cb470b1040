/* tests/unit/worker/engine/shm_engine_pair.h - two engines that share shared
 * regions */

#ifndef TESTS_UNIT_WORKER_ENGINE_SHM_ENGINE_PAIR_H
#define TESTS_UNIT_WORKER_ENGINE_SHM_ENGINE_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine_pair_fixture.h"

enum {
    FLAT_SLOT = 4096, /* bytes */
};

/* Contexts 0 and 1 of engine_pair have shared regions. With backgrounds. */
int
shm_pair_set_up(void **state);
/* And the two may read each other's memory. */
int
shm_pair_set_up_open(void **state);
/* All calls are compared before anything else. */
int
shm_pair_set_up_checked(void **state);
/* Without backgrounds. */
int
shm_pair_set_up_idle(void **state);
/* ... and not connected. */
int
shm_pair_set_up_unconnected(void **state);

/* The last error does. */
bool
says(const char *phrase);

struct engine_collective
flat_sum_of(const struct comm_context *context, int32_t *values, size_t count);
/* By the shortcut, or not, in turns: the ranks need not agree. */
enum hoop_status
flat_run(struct engine_collective collective, struct comm_context *context);
enum hoop_status
flat_sum(struct comm_context *context, int32_t *values, size_t count);

#endif
