/*
 * engine/cpu_placement.c - the processor of a rank that shares it with others
 */

#include "engine/cpu_placement.h"

#include <stddef.h>

#include "base/clock.h"

/* Shortest time between moves: a move costs about 20 us, and a thread must not
 * move against the kernel's choice all the time. */
static const uint64_t MOVE_NS = 10000000;

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
move_to(size_t processor, const cpu_set_t *allowed)
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

    if (cpu_placement->is_applied)
        return;
    const uint64_t now_ns = clock_now_ns();
    if (now_ns < cpu_placement->next_ns)
        return;
    cpu_placement->is_applied = true;
    cpu_placement->processor = -1;
    if (cpu_placement->n_ranks == 0 ||
        sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    cpu_placement->processor = cpu_placement_processor(cpu_placement, &allowed);
    if (cpu_placement->processor < 0 ||
        cpu_placement->processor == sched_getcpu())
        return;
    cpu_placement->next_ns = now_ns + MOVE_NS;
    move_to((size_t)cpu_placement->processor, &allowed);
}

void
cpu_placement_restore(struct cpu_placement *cpu_placement)
{
    if (cpu_placement->is_applied &&
        (cpu_placement->processor < 0 ||
         cpu_placement->processor == sched_getcpu()))
        return;
    cpu_placement->is_applied = false;
    cpu_placement_apply(cpu_placement);
}
