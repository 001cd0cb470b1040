/*
 * engine/endurance.h - how somebody who waits spends the time
 *
 * Looking again costs a processor, sleeping the wake-up, which is ten times
 * what a small message takes. So who has a processor to itself looks for about
 * as long as a wake-up takes, and sleeps then. Where ranks share processors
 * the one that is waited for may need this one: it is offered again and again,
 * for that long if nobody takes it, a few times if somebody does.
 */

#ifndef ENGINE_ENDURANCE_H
#define ENGINE_ENDURANCE_H

#include <stdint.h>

enum endurance_rule {
    ENDURANCE_SPINS,
    ENDURANCE_YIELDS,
    ENDURANCE_SLEEPS, /* at once */
};

enum endurance_advice {
    ENDURANCE_LOOK,
    ENDURANCE_YIELD, /* and look */
    ENDURANCE_SLEEP,
};

/* Zeroed memory has waited for nothing yet. */
struct endurance {
    uint64_t until_ns; /* 0: the time has not begun */
    unsigned n_yields;
};

/* Nothing has moved: what now? */
enum endurance_advice
endurance_advise(struct endurance *endurance, enum endurance_rule rule);

/* Something has moved. */
static inline void
endurance_renew(struct endurance *endurance)
{
    *endurance = (struct endurance){0};
}

#endif
