/* engine/patience.c - how somebody who waits spends the time */

#include "engine/patience.h"

#include "base/clock.h"

enum {
    YIELDS_MAX = 8,
};

/* About what a wake-up from epoll costs. */
static const uint64_t SPIN_NS = 50000;

static enum patience_advice
spin(struct patience *patience)
{
    const uint64_t now_ns = clock_now_ns();

    if (patience->spin_until_ns == 0)
        patience->spin_until_ns = now_ns + SPIN_NS;
    return now_ns < patience->spin_until_ns ? PATIENCE_LOOK : PATIENCE_SLEEP;
}

enum patience_advice
patience_advise(struct patience *patience, enum patience_rule rule)
{
    switch (rule) {
    case PATIENCE_SPINS:
        return spin(patience);
    case PATIENCE_YIELDS:
        return patience->n_yields++ < YIELDS_MAX ? PATIENCE_YIELD
                                                 : PATIENCE_SLEEP;
    case PATIENCE_SLEEPS:
        break;
    }
    return PATIENCE_SLEEP;
}
