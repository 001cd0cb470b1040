/* tests/unit/worker/engine/shm_engine_pair.h - two engines that share shared regions */

#ifndef TESTS_UNIT_WORKER_ENGINE_SHM_ENGINE_PAIR_H
#define TESTS_UNIT_WORKER_ENGINE_SHM_ENGINE_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine_pair.h"

enum {
    FLAT_SLOT = 4096, /* bytes */
};

/* Its contexts 0 and 1 have shared regions. */
extern struct engine_pair engine_pair;

/* With backgrounds. */
int
engine_pair_set_up(void **state);
/* And the two may read each other's memory. */
int
engine_pair_set_up_open(void **state);
/* All calls are compared before anything else. */
int
engine_pair_set_up_checked(void **state);
/* Without backgrounds. */
int
engine_pair_set_up_idle(void **state);
/* ... and not connected. */
int
engine_pair_set_up_unconnected(void **state);
int
engine_pair_tear_down(void **state);

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
