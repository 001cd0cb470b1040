/*
 * tests/integration/arrival.c - join, pass a barrier, say what it took
 *
 * Prints "joined_ms X barrier_ms Y peak_kib Z own_kib W threads T connections
 * C", where peak is all memory ever resident and own what is not shared with
 * others now.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "hoop/hoop.h"

static double
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* The number behind name in a file of lines "name: number"; 0: none. */
static uint64_t
number_of(const char *path, const char *name)
{
    FILE *file = fopen(path, "r");
    const size_t n_name = strlen(name);
    char line[256];
    uint64_t number = 0;

    if (!file)
        return 0;
    while (number == 0 && fgets(line, sizeof(line), file)) {
        if (strncmp(line, name, n_name) == 0 && line[n_name] == ':')
            (void)sscanf(line + n_name + 1, "%" SCNu64, &number);
    }
    fclose(file);
    return number;
}

int
main(void)
{
    hoop_session_t *session = NULL;
    struct hoop_stats stats;

    const double start_ms = now_ms();
    if (hoop_join(NULL, &session) != HOOP_OK)
        return fprintf(stderr, "arrival: %s\n", hoop_error_text()), 1;
    const double joined_ms = now_ms();
    if (hoop_barrier(hoop_world(session)) != HOOP_OK)
        return fprintf(stderr, "arrival: %s\n", hoop_error_text()), 1;
    const double passed_ms = now_ms();
    hoop_session_stats(session, &stats);
    printf("joined_ms %.0f barrier_ms %.0f peak_kib %" PRIu64
           " own_kib %" PRIu64 " threads %" PRIu64 " connections %" PRIu64 "\n",
           joined_ms - start_ms, passed_ms - joined_ms,
           number_of("/proc/self/status", "VmHWM"),
           number_of("/proc/self/smaps_rollup", "Private_Dirty"),
           number_of("/proc/self/status", "Threads"), stats.connections);
    /* Nobody leaves before all have looked. */
    if (hoop_barrier(hoop_world(session)) != HOOP_OK)
        return fprintf(stderr, "arrival: %s\n", hoop_error_text()), 1;
    hoop_leave(session);
    return 0;
}
