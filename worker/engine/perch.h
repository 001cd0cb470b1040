/*
 * engine/perch.h - the processor of a rank that shares it with others
 *
 * A sender wakes its receiver where it runs itself, so ranks that are as many
 * as their processors, or more, gather on one of them while another has less
 * to do, and the kernel takes its time to spread them: all the while an
 * operation takes twice as long. So each has a perch, neighbours on the same
 * processor, and after a sleep it moves there, once. It is not bound to it:
 * where the kernel puts the thread then, it stays while it spins. One that
 * yields goes back: the kernel sees little difference between three ranks here
 * and one there, which lets all wait for the three.
 */

#ifndef ENGINE_PERCH_H
#define ENGINE_PERCH_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

/* The driver's. Zeroed memory has no perch. */
struct perch {
    uint32_t place;   /* among the job's ranks on this host */
    uint32_t n_ranks; /* of them; 0: the kernel places this one */
    int processor;    /* that the perch was last; -1: there is none */
    bool is_taken;    /* and has not slept since */
    uint64_t next_ns; /* earliest move */
};

/* The processor of that place; -1: there are more of them than ranks. */
int
perch_find(const struct perch *perch, const cpu_set_t *allowed);

/* Move the calling thread there if it is elsewhere, not too often. */
void
perch_take(struct perch *perch);

/* The same, also where the kernel has moved it since. */
void
perch_return(struct perch *perch);

/* It has slept, and may have woken elsewhere. */
static inline void
perch_leave(struct perch *perch)
{
    perch->is_taken = false;
}

#endif
