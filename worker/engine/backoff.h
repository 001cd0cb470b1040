/*
 * engine/backoff.h - how a waiter spends its time
 *
 * Polling costs a processor; sleeping costs a wake-up, which takes ten times as
 * long as a small message. A rank with a processor of its own therefore polls
 * for about as long as a wake-up takes, and then sleeps. Where ranks share
 * processors, the awaited rank may need this processor: the waiter yields a
 * minimum number of times, and goes on for that long before it sleeps.
 *
 * A waiter polls longer if its peers have much to do first. Ranks that take
 * turns at pieces, each longer than a wake-up, would otherwise sleep at each
 * piece, and every late wake-up would make the others wait longer still.
 */

#ifndef ENGINE_BACKOFF_H
#define ENGINE_BACKOFF_H

#include <stdint.h>

enum wait_policy {
    WAIT_POLICY_SPIN,
    WAIT_POLICY_YIELD,
    WAIT_POLICY_YIELD_BRIEFLY, /* where very many ranks share a processor */
    WAIT_POLICY_SLEEP,         /* at once */
};

enum wait_action {
    WAIT_ACTION_POLL,
    WAIT_ACTION_YIELD, /* then poll */
    WAIT_ACTION_SLEEP,
};

/* Zeroed memory is a wait that has not begun. */
struct backoff {
    uint64_t until_ns; /* when to sleep; 0: not set yet */
    unsigned n_yields;
};

/* Nothing has moved: returns what the waiter does next. work_ns is how long its
 * peers may be busy first. */
enum wait_action
backoff_next_action(struct backoff *backoff,
                    enum wait_policy rule,
                    uint64_t work_ns);

/* Something has moved: start the wait anew. */
static inline void
backoff_reset(struct backoff *backoff)
{
    *backoff = (struct backoff){0};
}

#endif
