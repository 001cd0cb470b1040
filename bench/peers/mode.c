/*
 * bench/peers/mode.c - how far apart two processors are now, in nanoseconds
 *
 * The round trip of a cache line between the first two processors, the least of
 * some samples, since whatever else runs here only lengthens one.
 * Where a hypervisor moves virtual processors between cores it changes by a
 * factor, and every transport between two processes of the host with it: only
 * measurements of one state may be compared.
 */

#include <math.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plain.h"

enum {
    SAMPLES = 9,
    TRIPS = 2000,
};

struct line {
    _Alignas(64) _Atomic unsigned there;
    _Alignas(64) _Atomic unsigned back;
};

static void
stay_on(int processor)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        plain_fail("sched_setaffinity");
}

static void
echo(struct line *line)
{
    for (unsigned trip = 1; trip <= SAMPLES * TRIPS; trip++) {
        while (atomic_load_explicit(&line->there, memory_order_acquire) != trip)
            ;
        atomic_store_explicit(&line->back, trip, memory_order_release);
    }
}

/* Nanoseconds of one trip, over TRIPS of them from first on. */
static double
sample(struct line *line, unsigned first)
{
    const double start_us = plain_now_us();

    for (unsigned trip = first; trip < first + TRIPS; trip++) {
        atomic_store_explicit(&line->there, trip, memory_order_release);
        while (atomic_load_explicit(&line->back, memory_order_acquire) != trip)
            ;
    }
    return (plain_now_us() - start_us) * 1e3 / TRIPS;
}

int
main(void)
{
    struct line *line = plain_map(sizeof(*line), MAP_SHARED);
    double least_ns = INFINITY;

    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        return puts("0"), 0;
    const pid_t pid = fork();
    if (pid < 0)
        plain_fail("fork");
    stay_on(pid == 0);
    if (pid == 0) {
        echo(line);
        return 0;
    }
    for (unsigned i = 0; i < SAMPLES; i++)
        least_ns = fmin(least_ns, sample(line, 1 + i * TRIPS));
    waitpid(pid, NULL, 0);
    printf("%.0f\n", least_ns);
    return 0;
}
