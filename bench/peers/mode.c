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
#include <sys/wait.h>
#include <unistd.h>

#include "line.h"

enum {
    SAMPLES = 9,
    TRIPS = 2000,
};

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
    line_stay_on(pid == 0);
    if (pid == 0) {
        line_echo(line, 1, SAMPLES * TRIPS);
        return 0;
    }
    for (unsigned i = 0; i < SAMPLES; i++)
        least_ns = fmin(least_ns, line_time_ns(line, 1 + i * TRIPS, TRIPS));
    waitpid(pid, NULL, 0);
    printf("%.0f\n", least_ns);
    return 0;
}
