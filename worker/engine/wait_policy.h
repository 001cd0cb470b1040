/*
 * engine/wait_policy.h - how a waiter spends its time, and where
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
 *
 * A sender wakes its receiver on the sender's processor. If there are as many
 * ranks as processors, or more, they gather on one processor while another has
 * less to do, and the kernel takes its time to spread them: until then an
 * operation takes twice as long. So each rank is assigned a processor,
 * neighbours to the same one, and moves there once after each sleep. It is not
 * bound to it: a thread that spins stays where the kernel puts it. A thread
 * that yields moves back, because the kernel sees little difference between
 * three ranks here and one there, which makes all ranks wait for the three.
 */

#ifndef ENGINE_WAIT_POLICY_H
#define ENGINE_WAIT_POLICY_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct engine;

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
    uint64_t spin_until_ns; /* when to sleep; 0: not set yet */
    unsigned n_yields;
    /* First and last reading of the clock while polling in vain, which has not
     * been counted as waiting; 0: none. */
    uint64_t idle_since_ns;
    uint64_t idle_until_ns;
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

/* Belongs to the progress owner. Zeroed memory assigns no processor. */
struct cpu_placement {
    uint32_t local_rank; /* among the job's ranks on this host */
    uint32_t n_ranks;    /* of the job on this host; 0: the kernel decides */
    int processor;       /* the assigned processor; -1: none */
    bool is_thread_on_processor; /* has moved and not slept since */
    uint64_t next_move_ns;       /* earliest time of the next move */
};

/* Returns the processor assigned to local_rank; -1: there are more processors
 * than ranks. */
int
cpu_placement_processor(const struct cpu_placement *cpu_placement,
                        const cpu_set_t *allowed);

/* Move the calling thread to its processor, once after each sleep and not too
 * often. */
void
cpu_placement_apply(struct cpu_placement *cpu_placement);

/* The same, but also if the kernel has moved the thread since. */
void
cpu_placement_restore(struct cpu_placement *cpu_placement);

/* The thread has slept and may have woken elsewhere. */
static inline void
cpu_placement_invalidate(struct cpu_placement *cpu_placement)
{
    cpu_placement->is_thread_on_processor = false;
}

#endif
