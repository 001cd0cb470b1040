/* engine/perch.c - the processor of a rank that shares it with others */

#include "engine/perch.h"

#include <stddef.h>

#include "base/clock.h"

/* A move costs some 20 us, and whoever moves against the kernel's will must
 * not do so all the time. */
static const uint64_t MOVE_NS = 10000000;

int
perch_find(const struct perch *perch, const cpu_set_t *allowed)
{
    const uint32_t n_processors = (uint32_t)CPU_COUNT(allowed);

    if (perch->n_ranks < n_processors)
        return -1;
    uint32_t n_before =
        (uint32_t)((uint64_t)perch->place * n_processors / perch->n_ranks);
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
perch_take(struct perch *perch)
{
    cpu_set_t allowed;

    if (perch->is_taken)
        return;
    const uint64_t now_ns = clock_now_ns();
    if (now_ns < perch->next_ns)
        return;
    perch->is_taken = true;
    perch->processor = -1;
    if (perch->n_ranks == 0 ||
        sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
        return;
    perch->processor = perch_find(perch, &allowed);
    if (perch->processor < 0 || perch->processor == sched_getcpu())
        return;
    perch->next_ns = now_ns + MOVE_NS;
    move_to((size_t)perch->processor, &allowed);
}

void
perch_return(struct perch *perch)
{
    if (perch->is_taken &&
        (perch->processor < 0 || perch->processor == sched_getcpu()))
        return;
    perch->is_taken = false;
    perch_take(perch);
}
