/* engine/backoff.c - how somebody who waits spends the time */

#include "engine/backoff.h"

#include <stdbool.h>

#include "base/clock.h"

/* Untimed: each may last as long as others want the processor. Who is one of
 * very many looks at its connections in vain more often than it is looked for. */
static const unsigned yields_min[] = {
    [WAIT_POLICY_YIELD] = 16,
    [WAIT_POLICY_YIELD_BRIEFLY] = 3,
};

/* About what a wake-up from epoll costs. */
static const uint64_t SPIN_NS = 50000;

/* Whether it is time to sleep. */
static bool
is_over_budget(struct backoff *backoff, uint64_t work_ns)
{
    const uint64_t now_ns = clock_now_ns();

    if (backoff->until_ns == 0)
        backoff->until_ns = now_ns + SPIN_NS + work_ns;
    return now_ns >= backoff->until_ns;
}

enum wait_action
backoff_next_action(struct backoff *backoff,
                    enum wait_policy rule,
                    uint64_t work_ns)
{
    switch (rule) {
    case WAIT_POLICY_SPIN:
        return is_over_budget(backoff, work_ns) ? WAIT_ACTION_SLEEP
                                                : WAIT_ACTION_POLL;
    case WAIT_POLICY_YIELD:
    case WAIT_POLICY_YIELD_BRIEFLY:
        if (backoff->n_yields < yields_min[rule]) {
            backoff->n_yields++;
            return WAIT_ACTION_YIELD;
        }
        return is_over_budget(backoff, work_ns) ? WAIT_ACTION_SLEEP
                                                : WAIT_ACTION_YIELD;
    case WAIT_POLICY_SLEEP:
        break;
    }
    return WAIT_ACTION_SLEEP;
}
