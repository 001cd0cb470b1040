/* engine/endurance.c - how somebody who waits spends the time */

#include "engine/endurance.h"

#include <stdbool.h>

#include "base/clock.h"

/* Untimed: each may last as long as others want the processor. Who is one of
 * very many looks at its connections in vain more often than it is looked for. */
static const unsigned yields_min[] = {
    [ENDURANCE_YIELDS] = 16,
    [ENDURANCE_YIELDS_BRIEFLY] = 3,
};

/* About what a wake-up from epoll costs. */
static const uint64_t SPIN_NS = 50000;

/* Whether it is time to sleep. */
static bool
is_worn_out(struct endurance *endurance, uint64_t work_ns)
{
    const uint64_t now_ns = clock_now_ns();

    if (endurance->until_ns == 0)
        endurance->until_ns = now_ns + SPIN_NS + work_ns;
    return now_ns >= endurance->until_ns;
}

enum endurance_advice
endurance_advise(struct endurance *endurance,
                 enum endurance_rule rule,
                 uint64_t work_ns)
{
    switch (rule) {
    case ENDURANCE_SPINS:
        return is_worn_out(endurance, work_ns) ? ENDURANCE_SLEEP
                                               : ENDURANCE_LOOK;
    case ENDURANCE_YIELDS:
    case ENDURANCE_YIELDS_BRIEFLY:
        if (endurance->n_yields < yields_min[rule]) {
            endurance->n_yields++;
            return ENDURANCE_YIELD;
        }
        return is_worn_out(endurance, work_ns) ? ENDURANCE_SLEEP
                                               : ENDURANCE_YIELD;
    case ENDURANCE_SLEEPS:
        break;
    }
    return ENDURANCE_SLEEP;
}
