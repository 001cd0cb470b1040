/*
 * bench/peers/mode.c - prints how far apart two processors are at the moment
 *
 * Prints the round trip of a cache line between the first two processors in
 * nanoseconds. It is the smallest of several samples, since anything else that
 * runs on the host only makes a sample longer. If a hypervisor moves virtual
 * processors between cores, the round trip changes by a factor, and so does
 * every transport between two processes of the host. Therefore only
 * measurements taken in the same state can be compared.
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
