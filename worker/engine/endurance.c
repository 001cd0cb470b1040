/* engine/endurance.c - how somebody who waits spends the time */

#include "engine/endurance.h"

#include "base/clock.h"

enum {
    YIELDS_MAX = 8,
};

/* About what a wake-up from epoll costs. */
static const uint64_t SPIN_NS = 50000;

static enum endurance_advice
spin(struct endurance *endurance)
{
    const uint64_t now_ns = clock_now_ns();

    if (endurance->spin_until_ns == 0)
        endurance->spin_until_ns = now_ns + SPIN_NS;
    return now_ns < endurance->spin_until_ns ? ENDURANCE_LOOK : ENDURANCE_SLEEP;
}

enum endurance_advice
endurance_advise(struct endurance *endurance, enum endurance_rule rule)
{
    switch (rule) {
    case ENDURANCE_SPINS:
        return spin(endurance);
    case ENDURANCE_YIELDS:
        return endurance->n_yields++ < YIELDS_MAX ? ENDURANCE_YIELD
                                                  : ENDURANCE_SLEEP;
    case ENDURANCE_SLEEPS:
        break;
    }
    return ENDURANCE_SLEEP;
}
