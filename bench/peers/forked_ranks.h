/*
 * bench/peers/forked_ranks.h - runs forked ranks in the measuring loop
 *
 * It serves programs without a library. Their ranks meet in shared memory, and
 * the only operation is allreduce.
 */

#ifndef BENCH_PEERS_FORKED_RANKS_H
#define BENCH_PEERS_FORKED_RANKS_H

#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "plain.h"

enum {
    FORKED_RANKS_MAX = 16
};

/* The ranks meet here, in shared memory. */
struct forked_ranks_shared {
    struct plain_barrier barrier;
    double numbers[FORKED_RANKS_MAX][DRIVER_NUMBERS_MAX];
};

struct forked_ranks {
    struct driver driver;
    char peer[16];
    char transport[32];
    char *schedule;
    void (*run)(struct driver *driver, const char *op, size_t count);
    struct forked_ranks_shared *meeting;
};

static inline int
forked_ranks_size_read(const char *text)
{
    const int size = atoi(text);

    if (size < 2 || size > FORKED_RANKS_MAX) {
        fprintf(stderr, "from 2 to %d ranks\n", FORKED_RANKS_MAX);
        exit(64);
    }
    return size;
}

static inline void
forked_ranks_barrier(struct driver *driver)
{
    struct forked_ranks *forked_ranks = (struct forked_ranks *)driver;

    plain_barrier_wait(&forked_ranks->meeting->barrier, driver->size);
}

static inline void
forked_ranks_maximize(struct driver *driver, double *numbers, int n)
{
    struct forked_ranks_shared *meeting =
        ((struct forked_ranks *)driver)->meeting;

    memcpy(meeting->numbers[driver->rank], numbers,
           (size_t)n * sizeof(*numbers));
    forked_ranks_barrier(driver);
    for (int r = 0; r < driver->size; r++) {
        for (int i = 0; i < n; i++) {
            if (meeting->numbers[r][i] > numbers[i])
                numbers[i] = meeting->numbers[r][i];
        }
    }
    forked_ranks_barrier(driver);
}

/* Forks all ranks but 0. Children inherit what was mapped and opened before.
 * Returns the rank of the calling process. */
static inline int
forked_ranks_fork(struct forked_ranks *forked_ranks, int size)
{
    forked_ranks->driver.size = size;
    forked_ranks->driver.run = forked_ranks->run;
    forked_ranks->driver.barrier = forked_ranks_barrier;
    forked_ranks->driver.maximize = forked_ranks_maximize;
    forked_ranks->meeting = (struct forked_ranks_shared *)plain_map(
        sizeof(*forked_ranks->meeting), MAP_SHARED);
    for (int child = 1; child < size && forked_ranks->driver.rank == 0;
         child++) {
        const pid_t pid = fork();

        if (pid < 0)
            plain_fail("fork");
        if (pid == 0)
            forked_ranks->driver.rank = child;
    }
    return forked_ranks->driver.rank;
}

/* Returns the exit code of main(), which is not 0 if any rank has failed. */
static inline int
forked_ranks_run(struct forked_ranks *forked_ranks)
{
    char op[] = "allreduce";
    char *arguments[] = {forked_ranks->peer, forked_ranks->transport, op,
                         forked_ranks->schedule};
    int code = 0;
    int status;

    driver_run(&forked_ranks->driver, arguments);
    while (forked_ranks->driver.rank == 0 && wait(&status) > 0)
        code |= status != 0;
    return code;
}

#endif
