/* engine/wait_policy.c - how a waiter spends its time, and where */

#include "engine/wait_policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/state.h"
#include "net/path.h"

/* Least number of yields. They are counted, not timed, since each lasts as long
 * as other ranks want the processor. Among very many ranks a rank polls in vain
 * more often than a peer waits for it. */
static const unsigned yields_min[] = {
    [WAIT_POLICY_YIELD] = 16,
    [WAIT_POLICY_YIELD_BRIEFLY] = 3,
};

/* About the cost of a wake-up from epoll. */
static const uint64_t SPIN_BEFORE_SLEEP_NS = 50000;

/* Returns whether it is time to sleep. */
static bool
is_spin_time_over(struct backoff *backoff, uint64_t work_ns)
{
    const uint64_t now_ns = clock_now_ns();

    if (backoff->spin_until_ns == 0)
        backoff->spin_until_ns = now_ns + SPIN_BEFORE_SLEEP_NS + work_ns;
    if (backoff->n_yields == 0) { /* yields are counted where they are made */
        if (backoff->idle_since_ns == 0)
            backoff->idle_since_ns = now_ns;
        backoff->idle_until_ns = now_ns;
    }
    return now_ns >= backoff->spin_until_ns;
}

enum wait_action
backoff_next_action(struct backoff *backoff,
                    enum wait_policy rule,
                    uint64_t work_ns)
{
    switch (rule) {
    case WAIT_POLICY_SPIN:
        return is_spin_time_over(backoff, work_ns) ? WAIT_ACTION_SLEEP
                                                   : WAIT_ACTION_POLL;
    case WAIT_POLICY_YIELD:
    case WAIT_POLICY_YIELD_BRIEFLY:
        if (backoff->n_yields < yields_min[rule]) {
            backoff->n_yields++;
            return WAIT_ACTION_YIELD;
        }
        return is_spin_time_over(backoff, work_ns) ? WAIT_ACTION_SLEEP
                                                   : WAIT_ACTION_YIELD;
    case WAIT_POLICY_SLEEP:
        break;
    }
    return WAIT_ACTION_SLEEP;
}

/* Shortest time between moves: a move costs about 20 us, and a thread must not
 * move against the kernel's choice all the time. */
static const uint64_t CPU_MOVE_INTERVAL_MIN_NS = 10000000;

int
cpu_placement_processor(const struct cpu_placement *cpu_placement,
                        const cpu_set_t *allowed)
{
    const uint32_t n_processors = (uint32_t)CPU_COUNT(allowed);

    if (cpu_placement->n_ranks < n_processors)
        return -1;
    uint32_t n_before = (uint32_t)((uint64_t)cpu_placement->local_rank *
                                   n_processors / cpu_placement->n_ranks);
    for (size_t processor = 0; processor < CPU_SETSIZE; processor++) {
        if (CPU_ISSET(processor, allowed) && n_before-- == 0)
            return (int)processor;
    }
    return -1;
}

static void
move_to_processor(size_t processor, const cpu_set_t *allowed)
{
    cpu_set_t only;

    CPU_ZERO(&only);
    CPU_SET(processor, &only);
    if (sched_setaffinity(0, sizeof(only), &only) == 0)
        (void)sched_setaffinity(0, sizeof(*allowed), allowed);
}

void
cpu_placement_apply(struct cpu_placement *cpu_placement)
{
    cpu_set_t allowed;

    if (cpu_placement->is_thread_on_processor)
        return;
    const uint64_t now_ns = clock_now_ns();
    if (now_ns < cpu_placement->next_move_ns)
        return;
    cpu_placement->is_thread_on_processor = true;
    cpu_placement->processor = -1;
    if (cpu_placement->n_ranks == 0 ||
        sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    cpu_placement->processor = cpu_placement_processor(cpu_placement, &allowed);
    if (cpu_placement->processor < 0 ||
        cpu_placement->processor == sched_getcpu())
        return;
    cpu_placement->next_move_ns = now_ns + CPU_MOVE_INTERVAL_MIN_NS;
    move_to_processor((size_t)cpu_placement->processor, &allowed);
}

void
cpu_placement_restore(struct cpu_placement *cpu_placement)
{
    if (cpu_placement->is_thread_on_processor &&
        (cpu_placement->processor < 0 ||
         cpu_placement->processor == sched_getcpu()))
        return;
    cpu_placement->is_thread_on_processor = false;
    cpu_placement_apply(cpu_placement);
}

enum {
    /* Ranks per processor up to which each looks as often as a single rank. */
    POLL_FULL_RATE_RANKS_PER_CPU = 16,
    /* Beyond this many ranks per processor a call takes so long that the
     * processor time of a joining rank matters more than a quick wake-up. */
    BRIEF_YIELD_RANKS_PER_CPU = 128,
    POLL_DIVISOR_MAX = 20,
};

/* Returns the number of processors that this process may use. */
static uint32_t
count_processors(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return (uint32_t)CPU_COUNT(&set);
    return (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
}

/* If the job's own ranks outnumber the processors, other jobs need not be
 * counted: every rank would read the list of all ranks again and again. */
void
engine_update_wait_policy(struct engine *engine)
{
    const uint32_t n_processors = count_processors();
    const uint32_t n_ranks = engine->cpu_placement.n_ranks;
    enum wait_policy rule = WAIT_POLICY_SPIN;

    if (n_ranks > BRIEF_YIELD_RANKS_PER_CPU * n_processors)
        rule = WAIT_POLICY_YIELD_BRIEFLY;
    else if (n_ranks > n_processors || host_ranks_count() > n_processors)
        rule = WAIT_POLICY_YIELD;
    atomic_store(&engine->host_wait_policy, rule);
}

uint64_t
engine_poll_divisor(const struct engine *engine)
{
    const uint64_t divisor =
        engine->cpu_placement.n_ranks /
        (POLL_FULL_RATE_RANKS_PER_CPU * count_processors());

    if (divisor > POLL_DIVISOR_MAX)
        return POLL_DIVISOR_MAX;
    return divisor > 0 ? divisor : 1;
}
