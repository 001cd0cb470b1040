/*
 * engine/backoff.h - how somebody who waits spends the time
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

#ifndef ENGINE_BACKOFF_H
#define ENGINE_BACKOFF_H

#include <stdint.h>

enum wait_policy {
    WAIT_POLICY_SPIN,
    WAIT_POLICY_YIELD,
    WAIT_POLICY_YIELD_BRIEFLY, /* where very many share a processor */
    WAIT_POLICY_SLEEP,         /* at once */
};

enum wait_action {
    WAIT_ACTION_POLL,
    WAIT_ACTION_YIELD, /* and look */
    WAIT_ACTION_SLEEP,
};

/* Zeroed memory has waited for nothing yet. */
struct backoff {
    uint64_t until_ns; /* 0: the time has not begun */
    unsigned n_yields;
};

/* Nothing has moved: what now? Others have some work_ns to do before it can. */
enum wait_action
backoff_next_action(struct backoff *backoff,
                    enum wait_policy rule,
                    uint64_t work_ns);

/* Something has moved. */
static inline void
backoff_reset(struct backoff *backoff)
{
    *backoff = (struct backoff){0};
}

#endif
