/*
 * engine/patience.h - how somebody who waits spends the time
 *
 * Looking again costs a processor, sleeping the wake-up, which is ten times
 * what a small message takes. So who has a processor to itself looks for about
 * as long as a wake-up takes, and sleeps then. Where ranks share processors
 * the one that is waited for may need this one: it is offered a few times.
 */

#ifndef ENGINE_PATIENCE_H
#define ENGINE_PATIENCE_H

#include <stdint.h>

enum patience_rule {
    PATIENCE_SPINS,
    PATIENCE_YIELDS,
    PATIENCE_SLEEPS, /* at once */
};

enum patience_advice {
    PATIENCE_LOOK,
    PATIENCE_YIELD, /* and look */
    PATIENCE_SLEEP,
};

/* Zeroed memory has waited for nothing yet. */
struct patience {
    uint64_t spin_until_ns; /* 0: not spinning */
    unsigned n_yields;
};

/* Nothing has moved: what now? */
enum patience_advice
patience_advise(struct patience *patience, enum patience_rule rule);

/* Something has moved. */
static inline void
patience_renew(struct patience *patience)
{
    *patience = (struct patience){0};
}

#endif
