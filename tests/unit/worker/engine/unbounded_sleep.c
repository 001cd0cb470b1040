/*
 * tests/unit/worker/engine/unbounded_sleep.c - a missed wake-up is not made up
 * for
 *
 * A progress owner sleeps for PROGRESS_SLEEP_MAX_MS at most, so that a missed
 * wake-up costs time only. With this, and --wrap=transport_progress, it sleeps
 * longer than any test may take.
 */

#include "unbounded_sleep.h"

#include "transport/transport.h"

enum {
    SLEEP_BOUND_MS = 100,
    SLEEP_MS = 120000,
};

atomic_bool unbounded_sleep_ignores_deadlines;

bool
__real_transport_progress(struct transport *transport, int timeout_ms);
bool
__wrap_transport_progress(struct transport *transport, int timeout_ms);

bool
__wrap_transport_progress(struct transport *transport, int timeout_ms)
{
    const int shortest_ms =
        atomic_load(&unbounded_sleep_ignores_deadlines) ? 1 : SLEEP_BOUND_MS;

    return __real_transport_progress(
        transport, timeout_ms < shortest_ms ? timeout_ms : SLEEP_MS);
}
