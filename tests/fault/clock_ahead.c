/*
 * tests/fault/clock_ahead.c - a wall clock that has been set forward
 *
 * Preload this library: the program, OpenSSL included, then sees a wall clock
 * that is CLOCK_AHEAD_S seconds ahead of the machine's. The other clocks do not
 * change.
 */

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int
clock_gettime(clockid_t clock, struct timespec *out_time)
{
    const char *ahead = getenv("CLOCK_AHEAD_S");
    const long result = syscall(SYS_clock_gettime, clock, out_time);

    if (result == 0 && clock == CLOCK_REALTIME && ahead)
        out_time->tv_sec += strtol(ahead, NULL, 10);
    return (int)result;
}

__attribute__((visibility("default"))) time_t
time(time_t *out_time)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    if (out_time)
        *out_time = now.tv_sec;
    return now.tv_sec;
}
