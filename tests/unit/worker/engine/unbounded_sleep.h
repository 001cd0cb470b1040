/* tests/unit/worker/engine/unbounded_sleep.h - sleeps without a bound */

#ifndef TESTS_UNIT_WORKER_ENGINE_UNBOUNDED_SLEEP_H
#define TESTS_UNIT_WORKER_ENGINE_UNBOUNDED_SLEEP_H

#include <stdatomic.h>

/* If it is set, sleeps until a deadline of the engine have no bound either. */
extern atomic_bool unbounded_sleep_ignores_deadlines;

#endif
