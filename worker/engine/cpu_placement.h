/*
 * engine/cpu_placement.h - the processor of a rank that shares it with others
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

#ifndef ENGINE_CPU_PLACEMENT_H
#define ENGINE_CPU_PLACEMENT_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* Belongs to the progress owner. Zeroed memory assigns no processor. */
struct cpu_placement {
    uint32_t local_rank; /* among the job's ranks on this host */
    uint32_t n_ranks;    /* of the job on this host; 0: the kernel decides */
    int processor;       /* the assigned processor; -1: none */
    bool is_applied;     /* has moved and not slept since */
    uint64_t next_ns;    /* earliest time of the next move */
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
    cpu_placement->is_applied = false;
}

#endif
