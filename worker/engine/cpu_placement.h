/*
 * engine/cpu_placement.h - the processor of a rank that shares it with others
 *
 * A sender wakes its receiver where it runs itself, so ranks that are as many
 * as their processors, or more, gather on one of them while another has less
 * to do, and the kernel takes its time to spread them: all the while an
 * operation takes twice as long. So each has a CPU placement, neighbours on the same
 * processor, and after a sleep it moves there, once. It is not bound to it:
 * where the kernel puts the thread then, it stays while it spins. One that
 * yields goes back: the kernel sees little difference between three ranks here
 * and one there, which lets all wait for the three.
 */

#ifndef ENGINE_CPU_PLACEMENT_H
#define ENGINE_CPU_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* The progress owner's. Zeroed memory has no cpu_placement. */
struct cpu_placement {
    uint32_t local_rank; /* among the job's ranks on this host */
    uint32_t n_ranks;    /* of them; 0: the kernel places this one */
    int processor;    /* that the CPU placement was last; -1: there is none */
    bool is_applied;  /* and has not slept since */
    uint64_t next_ns; /* earliest move */
};

/* The processor of that local_rank; -1: there are more of them than ranks. */
int
cpu_placement_processor(const struct cpu_placement *cpu_placement,
                        const cpu_set_t *allowed);

/* Move the calling thread there if it is elsewhere, not too often. */
void
cpu_placement_apply(struct cpu_placement *cpu_placement);

/* The same, also where the kernel has moved it since. */
void
cpu_placement_restore(struct cpu_placement *cpu_placement);

/* It has slept, and may have woken elsewhere. */
static inline void
cpu_placement_invalidate(struct cpu_placement *cpu_placement)
{
    cpu_placement->is_applied = false;
}

#endif
