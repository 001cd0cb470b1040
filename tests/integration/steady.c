/*
 * tests/integration/steady.c - a worker that reduces until a file exists
 *
 * Usage: steady STOP_FILE. Every result is checked. When rank 0 has seen the
 * file, all ranks stop after the same operation, and print "reduced N times"
 * and exit with 0. Rank 0 also prints how long its calls have taken: at the
 * end, and each time it finds STOP_FILE.mark, which it then removes. The times
 * are those since the last mark.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "hoop/hoop.h"

enum {
    COUNT = 20000,
    PAUSE_US = 500,
    TIMES_MAX = 1 << 20,
    PATH_MAX_BYTES = 4096,
};

/* The durations of rank 0's calls since the last mark. */
static uint32_t times_us[TIMES_MAX];
static size_t n_times;

/* Element 0 asks to stop. The other elements differ in every round. */
static int64_t
element_of(uint32_t rank, uint64_t round, size_t at)
{
    return (int64_t)(round * 7 + at) * (rank + 1);
}

static int
elements_compare(const int64_t *elements, uint64_t round, uint32_t size)
{
    const int64_t ranks = (int64_t)size * (size + 1) / 2;

    for (size_t at = 1; at < COUNT; at++) {
        if (elements[at] != (int64_t)(round * 7 + at) * ranks)
            return fprintf(stderr, "steady: round %" PRIu64 ": %zu is wrong\n",
                           round, at),
                   1;
    }
    return 0;
}

static int
times_compare(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left;
    const uint32_t b = *(const uint32_t *)right;

    return (a > b) - (a < b);
}

static void
times_say(void)
{
    if (n_times == 0)
        return;
    qsort(times_us, n_times, sizeof(times_us[0]), times_compare);
    printf("%zu calls: p50 %u us, p99 %u us\n", n_times, times_us[n_times / 2],
           times_us[n_times * 99 / 100]);
    fflush(stdout);
    n_times = 0;
}

static uint64_t
now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* Records the duration of a call of rank 0 that began at the given time. */
static void
time_take(uint64_t begin_us, const char *mark_file)
{
    if (n_times < TIMES_MAX)
        times_us[n_times++] = (uint32_t)(now_us() - begin_us);
    if (unlink(mark_file) == 0)
        times_say();
}

static int
rounds_run(hoop_comm_t *world, const char *stop_file)
{
    static int64_t elements[COUNT];
    char mark_file[PATH_MAX_BYTES];
    const uint32_t rank = hoop_comm_rank(world);
    uint64_t round = 0;

    snprintf(mark_file, sizeof(mark_file), "%s.mark", stop_file);
    do {
        round++;
        elements[0] = rank == 0 && access(stop_file, F_OK) == 0;
        for (size_t at = 1; at < COUNT; at++)
            elements[at] = element_of(rank, round, at);
        const uint64_t begin_us = now_us();
        if (hoop_allreduce(HOOP_IN_PLACE, elements, COUNT, HOOP_INT64, HOOP_SUM,
                           world) != HOOP_OK)
            return fprintf(stderr, "steady: %s\n", hoop_error_text()), 1;
        if (rank == 0)
            time_take(begin_us, mark_file);
        if (elements_compare(elements, round, hoop_comm_size(world)) != 0)
            return 1;
        usleep(PAUSE_US);
    } while (elements[0] == 0);
    times_say();
    printf("reduced %" PRIu64 " times\n", round);
    return 0;
}

int
main(int argc, char **argv)
{
    hoop_session_t *session = NULL;

    if (argc != 2)
        return fprintf(stderr, "usage: steady STOP_FILE\n"), 64;
    if (hoop_join(NULL, &session) != HOOP_OK)
        return fprintf(stderr, "steady: %s\n", hoop_error_text()), 1;
    const int code = rounds_run(hoop_world(session), argv[1]);
    hoop_leave(session);
    return code;
}
