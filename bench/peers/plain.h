/* bench/peers/plain.h - functions for the programs without a library */

#ifndef BENCH_PEERS_PLAIN_H
#define BENCH_PEERS_PLAIN_H

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

static inline double
plain_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline void
plain_fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

/* Returns zeroed memory whose pages are present. With MAP_SHARED, forked
 * children share it. */
static inline void *
plain_map(size_t n_bytes, int sharing)
{
    void *room = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE,
                      sharing | MAP_ANONYMOUS, -1, 0);

    if (room == MAP_FAILED)
        plain_fail("mmap");
    memset(room, 0, n_bytes);
    return room;
}

/* A barrier in shared memory. A waiting rank spins at first, and then
 * yields. */
struct plain_barrier {
    _Alignas(64) _Atomic int n_arrived;
    _Alignas(64) _Atomic int turn;
};

static inline void
plain_barrier_wait(struct plain_barrier *barrier, int size)
{
    const int turn = barrier->turn;

    if (++barrier->n_arrived == size) {
        barrier->n_arrived = 0;
        barrier->turn++;
        return;
    }
    for (int spins = 0; barrier->turn == turn; spins++) {
        if (spins > 200)
            sched_yield();
    }
}

#endif
