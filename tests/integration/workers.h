/*
 * tests/integration/workers.h - forked workers that use hoop as users do
 *
 * The test process has no threads and never joins itself: each worker is
 * forked first and joins a real hoopd by address.
 */

#ifndef TESTS_WORKERS_H
#define TESTS_WORKERS_H

#include <stdint.h>
#include <sys/types.h>

#include "hoop/hoop.h"

enum {
    WORKERS_MAX = 16,
    WORKERS_ROOM = 16,
};

/* What a worker's body may use. */
struct worker {
    uint32_t index; /* not its rank, unless it asks for it */
    uint32_t n_workers;
    const char *coordinator;
    volatile uint64_t *room; /* shared by all workers, zero at first */
};

/* Returns 0 when all is well. Its exit is the process's. */
typedef int
worker_fn(const struct worker *worker);

/*
 * Run n_workers and wait for them, if workers_allow() has not said otherwise
 * 100 s at most, 240 under a sanitizer. Returns how many did not return 0; those
 * ended by SIGKILL do not count. *out_room: a copy, NULL: not
 * wanted.
 */
uint32_t
workers_run(const char *coordinator,
            uint32_t n_workers,
            worker_fn *body,
            uint64_t out_room[WORKERS_ROOM]);

/* How long workers_run() waits from now on. */
void
workers_allow(uint32_t seconds);

/* Options that ask for rank index of n_workers at the coordinator. */
struct hoop_join_options
worker_options(const struct worker *worker);

/* Allreduce of count floats, checked; 0 when all is well. */
int
worker_allreduce(hoop_comm_t *comm, size_t count);

/* Join the world of the first n_members, and return when all have, who are counted
 * in a place of the room: nobody dies before the last has come through. 0 when
 * all is well. */
int
worker_join(const struct worker *worker,
            uint32_t n_members,
            uint32_t place,
            hoop_session_t **out_session);
/* Worker victim dies, and the others of world learn it; 0 when all is well. */
int
worker_lose(const struct worker *worker, uint32_t victim, hoop_comm_t *world);

/* A place of the room, between processes. */
void
room_set(const struct worker *worker, uint32_t place, uint64_t value);
/* Wait until it is at least this much, for at most 20 s; returns it. */
uint64_t
room_await_count(const struct worker *worker, uint32_t place, uint64_t count);
/* ... until it is not 0. */
uint64_t
room_await(const struct worker *worker, uint32_t place);

/* In a body: report and return 1 unless the condition holds. */
#define WORKER_CHECK(condition)                                                \
    do {                                                                       \
        if (!(condition))                                                      \
            return worker_report(#condition, __FILE_NAME__, __LINE__);         \
    } while (0)

int
worker_report(const char *condition, const char *file, int line);

#endif
