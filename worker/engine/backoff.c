/* engine/backoff.c - how a waiter spends its time */

#include "engine/backoff.h"

#include <stdbool.h>

#include "base/clock.h"

/* Least number of yields. They are counted, not timed, since each lasts as long
 * as other ranks want the processor. Among very many ranks a rank polls in vain
 * more often than a peer waits for it. */
static const unsigned yields_min[] = {
    [WAIT_POLICY_YIELD] = 16,
    [WAIT_POLICY_YIELD_BRIEFLY] = 3,
};

/* About the cost of a wake-up from epoll. */
static const uint64_t SPIN_NS = 50000;

/* Returns whether it is time to sleep. */
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
