/*
 * engine/endurance.h - how somebody who waits spends the time
 *
 * Looking again costs a processor, sleeping the wake-up, which is ten times
 * what a small message takes. So who has a processor to itself looks for about
 * as long as a wake-up takes, and sleeps then. Where ranks share processors
 * the one that is waited for may need this one: it is offered again and again,
 * for that long if nobody takes it, a few times if somebody does.
 *
 * Who waits for others that have much to do first looks for as much longer:
 * ranks that take turns at pieces, each of which takes longer than that, would
 * sleep at each, since who wakes late lets the others wait for longer still.
 */

#ifndef ENGINE_ENDURANCE_H
#define ENGINE_ENDURANCE_H

#include <stdint.h>

enum endurance_rule {
    ENDURANCE_SPINS,
    ENDURANCE_YIELDS,
    ENDURANCE_YIELDS_BRIEFLY, /* where very many share a processor */
    ENDURANCE_SLEEPS,         /* at once */
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

/* Nothing has moved: what now? Others have some work_ns to do before it can. */
enum endurance_advice
endurance_advise(struct endurance *endurance,
                 enum endurance_rule rule,
                 uint64_t work_ns);

/* Something has moved. */
static inline void
endurance_renew(struct endurance *endurance)
{
    *endurance = (struct endurance){0};
}

#endif
