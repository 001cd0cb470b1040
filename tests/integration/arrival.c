/*
 * tests/integration/arrival.c - joins, reduces, splits, and prints the costs
 *
 * The program calls a barrier, an allreduce of 8 bytes, a split by rank into 32
 * groups, and an allreduce in each group, and checks every result. It prints
 * "joined_ms X barrier_ms Y reduced_ms R split_ms S peak_kib Z threads T
 * connections C" and, on some ranks, "own_kib W". The peak is the most memory
 * that was ever resident, and own is the memory that is not shared with other
 * processes at the end.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hoop/hoop.h"

enum {
    N_GROUPS = 32,
};

static double
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* Returns the number after name in a file of lines "name: number", or 0 if
 * there is none. */
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

static void
check(enum hoop_status status)
{
    if (status == HOOP_OK)
        return;
    fprintf(stderr, "arrival: %s\n", hoop_error_text());
    exit(1);
}

/* Fails unless the world ranks of comm add up to expected. */
static void
sum_check(hoop_comm_t *comm, uint32_t world_rank, int64_t expected)
{
    const int64_t own = world_rank;
    int64_t sum = -1;

    check(hoop_allreduce(&own, &sum, 1, HOOP_INT64, HOOP_SUM, comm));
    if (sum == expected)
        return;
    fprintf(stderr,
            "arrival: rank %u: the ranks add up to %" PRId64 ", not %" PRId64
            "\n",
            world_rank, sum, expected);
    exit(1);
}

/* Returns a group that has every 32nd rank. */
static hoop_comm_t *
group_join(hoop_comm_t *world)
{
    const uint32_t rank = hoop_comm_rank(world);
    hoop_comm_t *group = NULL;
    int64_t expected = 0;

    check(hoop_comm_split(world, rank % N_GROUPS, rank, &group));
    for (uint32_t member = rank % N_GROUPS; member < hoop_comm_size(world);
         member += N_GROUPS)
        expected += member;
    sum_check(group, rank, expected);
    return group;
}

int
main(void)
{
    hoop_session_t *session = NULL;
    struct hoop_stats stats;

    const double start_ms = now_ms();
    check(hoop_join(NULL, &session));
    const double joined_ms = now_ms();
    hoop_comm_t *world = hoop_world(session);
    const int64_t size = hoop_comm_size(world);
    check(hoop_barrier(world));
    const double passed_ms = now_ms();
    sum_check(world, hoop_comm_rank(world), size * (size - 1) / 2);
    const double reduced_ms = now_ms();
    hoop_comm_t *group = group_join(world);
    const double split_ms = now_ms();
    hoop_session_stats(session, &stats);
    /* Only some ranks report this, since the kernel reads all page tables for
     * it. */
    if (hoop_comm_rank(world) % N_GROUPS == 0)
        printf("own_kib %" PRIu64 "\n",
               number_of("/proc/self/smaps_rollup", "Private_Dirty"));
    printf("joined_ms %.0f barrier_ms %.0f reduced_ms %.0f split_ms %.0f"
           " peak_kib %" PRIu64 " threads %" PRIu64 " connections %" PRIu64
           "\n",
           joined_ms - start_ms, passed_ms - joined_ms, reduced_ms - passed_ms,
           split_ms - reduced_ms, number_of("/proc/self/status", "VmHWM"),
           number_of("/proc/self/status", "Threads"), stats.connections);
    /* No rank leaves before all have measured. */
    check(hoop_barrier(world));
    hoop_comm_free(group);
    hoop_leave(session);
    return 0;
}
