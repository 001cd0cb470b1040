/* tests/unit/worker/engine/unbounded_sleep.h - a missed wake-up is not made
 * up for */

#ifndef TESTS_UNIT_WORKER_ENGINE_UNBOUNDED_SLEEP_H
#define TESTS_UNIT_WORKER_ENGINE_UNBOUNDED_SLEEP_H

#include <stdatomic.h>

/* Sleeps until a deadline of the engine have no end either. */
extern atomic_bool unbounded_sleep_ignores_deadlines;

#endif
