/*
 * bench/wire/allreduce_rate.c - measures sums of gradients over a slow link
 *
 * Usage: allreduce_rate MIB RUNS [FILE]. Each rank of the job repeats the
 * floats of its FILE up to MIB MiB; without FILE it uses floats of random bits.
 * The ranks sum them RUNS times, after one run that is not counted. Rank 0
 * prints the median time in ms, the rate in Gbit/s that a link would need to
 * carry the uncompressed floats in that time, how many of their bytes went into
 * each byte on the wire, and whether all ranks have the same bits.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hoop/hoop.h"

enum {
    RUNS_MAX = 64
};

static void
must(enum hoop_status status)
{
    if (status == HOOP_OK)
        return;
    fprintf(stderr, "allreduce_rate: %s\n", hoop_error_text());
    exit(1);
}

static double
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void
fill_random(float *floats, size_t count, uint32_t rank)
{
    uint32_t seed = rank + 1;

    for (size_t i = 0; i < count; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 17;
        seed ^= seed << 5;
        const uint32_t bits = seed;
        memcpy(&floats[i], &bits, sizeof(bits));
        /* Infinities and NaNs are replaced. */
        if ((bits >> 23 & 0xff) == 0xff)
            floats[i] = 0;
    }
}

static void
fill_from(float *floats, size_t count, const char *path)
{
    FILE *file = fopen(path, "rb");
    const size_t n_read =
        file ? fread(floats, sizeof(*floats), count, file) : 0;

    if (n_read == 0) {
        perror(path);
        exit(1);
    }
    fclose(file);
    for (size_t i = n_read; i < count; i++)
        floats[i] = floats[i - n_read];
}

static int
by_size(const void *one, const void *other)
{
    const double left = *(const double *)one;
    const double right = *(const double *)other;

    return (left > right) - (left < right);
}

static bool
is_alike(const float *floats, size_t count, hoop_comm_t *world)
{
    uint64_t mine = 14695981039346656037u;
    uint64_t least;
    uint64_t most;

    for (size_t i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, &floats[i], sizeof(bits));
        mine = (mine ^ bits) * 1099511628211u;
    }
    must(hoop_allreduce(&mine, &least, 1, HOOP_UINT64, HOOP_MIN, world));
    must(hoop_allreduce(&mine, &most, 1, HOOP_UINT64, HOOP_MAX, world));
    return least == most;
}

int
main(int argc, char **argv)
{
    hoop_session_t *session;
    struct hoop_stats before;
    struct hoop_stats after;
    double times[RUNS_MAX];

    if (argc < 3) {
        fprintf(stderr, "usage: allreduce_rate MIB RUNS [FILE]\n");
        return 2;
    }
    const size_t count = (size_t)atoi(argv[1]) << 18;
    const int n_runs = atoi(argv[2]) < RUNS_MAX ? atoi(argv[2]) : RUNS_MAX;
    float *send = malloc(count * sizeof(*send));
    float *recv = malloc(count * sizeof(*recv));
    must(hoop_join(NULL, &session));
    hoop_comm_t *world = hoop_world(session);
    const double size = hoop_comm_size(world);

    if (!send || !recv || n_runs < 1)
        return 2;
    if (argc > 3)
        fill_from(send, count, argv[3]);
    else
        fill_random(send, count, hoop_comm_rank(world));
    must(hoop_allreduce(send, recv, count, HOOP_FLOAT32, HOOP_SUM, world));
    hoop_session_stats(session, &before);
    for (int i = 0; i < n_runs; i++) {
        must(hoop_barrier(world));
        const double begun_ms = now_ms();
        must(hoop_allreduce(send, recv, count, HOOP_FLOAT32, HOOP_SUM, world));
        times[i] = now_ms() - begun_ms;
    }
    hoop_session_stats(session, &after);
    qsort(times, (size_t)n_runs, sizeof(times[0]), by_size);
    const bool alike = is_alike(recv, count, world);
    const double median_ms = times[n_runs / 2];
    const double n_bits =
        2 * (size - 1) / size * (double)count * sizeof(*send) * 8;
    if (hoop_comm_rank(world) == 0)
        printf("%8.1f ms  %6.3f Gbit/s  %5.2f to 1  %s\n", median_ms,
               n_bits / median_ms / 1e6,
               (double)(after.bytes_sent - before.bytes_sent) /
                   (double)(after.wire_sent - before.wire_sent),
               alike ? "alike" : "NOT ALIKE");
    free(send);
    free(recv);
    hoop_leave(session);
    return alike ? 0 : 1;
}
