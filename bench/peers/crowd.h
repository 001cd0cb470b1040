/*
 * bench/peers/crowd.h - forked ranks in the measuring loop
 *
 * For programs without a library: they meet in shared memory, and know one
 * operation, the allreduce.
 */

#ifndef BENCH_PEERS_CROWD_H
#define BENCH_PEERS_CROWD_H

#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "plain.h"

enum {
    CROWD_RANKS_MAX = 16
};

/* Where the ranks meet, in shared memory. */
struct crowd_meeting {
    struct plain_barrier barrier;
    double numbers[CROWD_RANKS_MAX][DRIVER_NUMBERS_MAX];
};

struct crowd {
    struct driver driver;
    char peer[16];
    char transport[32];
    char *schedule;
    void (*run)(struct driver *driver, const char *op, size_t count);
    struct crowd_meeting *meeting;
};

static inline int
crowd_size_read(const char *text)
{
    const int size = atoi(text);

    if (size < 2 || size > CROWD_RANKS_MAX) {
        fprintf(stderr, "from 2 to %d ranks\n", CROWD_RANKS_MAX);
        exit(64);
    }
    return size;
}

static inline void
crowd_barrier(struct driver *driver)
{
    struct crowd *crowd = (struct crowd *)driver;

    plain_barrier_wait(&crowd->meeting->barrier, driver->size);
}

static inline void
crowd_maximize(struct driver *driver, double *numbers, int n)
{
    struct crowd_meeting *meeting = ((struct crowd *)driver)->meeting;

    memcpy(meeting->numbers[driver->rank], numbers,
           (size_t)n * sizeof(*numbers));
    crowd_barrier(driver);
    for (int r = 0; r < driver->size; r++) {
        for (int i = 0; i < n; i++) {
            if (meeting->numbers[r][i] > numbers[i])
                numbers[i] = meeting->numbers[r][i];
        }
    }
    crowd_barrier(driver);
}

/* All ranks but 0 are children, which have what was mapped and opened before.
 * Returns the rank. */
static inline int
crowd_fork(struct crowd *crowd, int size)
{
    crowd->driver.size = size;
    crowd->driver.run = crowd->run;
    crowd->driver.barrier = crowd_barrier;
    crowd->driver.maximize = crowd_maximize;
    crowd->meeting =
        (struct crowd_meeting *)plain_map(sizeof(*crowd->meeting), MAP_SHARED);
    for (int child = 1; child < size && crowd->driver.rank == 0; child++) {
        const pid_t pid = fork();

        if (pid < 0)
            plain_fail("fork");
        if (pid == 0)
            crowd->driver.rank = child;
    }
    return crowd->driver.rank;
}

/* Returns what main() does: a rank that has failed is a failure. */
static inline int
crowd_run(struct crowd *crowd)
{
    char op[] = "allreduce";
    char *arguments[] = {crowd->peer, crowd->transport, op, crowd->schedule};
    int code = 0;
    int status;

    driver_run(&crowd->driver, arguments);
    while (crowd->driver.rank == 0 && wait(&status) > 0)
        code |= status != 0;
    return code;
}

#endif
