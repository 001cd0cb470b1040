/*
 * tests/integration/daemon.h - a real hoopd under test, and workers that use it
 *
 * Its path is the HOOPD of the environment. It listens on ports of the
 * system's choice on 127.0.0.1, and knows the token "secret" where no
 * --token-file says another; its log goes to a file that can be searched.
 */

#ifndef TESTS_DAEMON_H
#define TESTS_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hoop/hoop.h"

#include "base/limits.h"

struct daemon {
    pid_t pid;
    char log_path[128];
    char token_path[128]; /* empty: it has one of its own, or none */
    char address[LIMIT_ADDRESS];
    char http_address[LIMIT_ADDRESS];
};

/* Further arguments, ended by NULL; returns when it serves. "--token-file=": it
 * knows no token. */
void
daemon_start(struct daemon *daemon, const char *const *arguments);

/* Fails the test if the log does not hold text within some seconds. */
void
daemon_expect_log(const struct daemon *daemon, const char *text);

/* SIGTERM; fails the test if it does not exit with 0 within some seconds. */
void
daemon_stop(struct daemon *daemon);

/* SIGSTOP; it does nothing any more when this returns. Any process of the
 * test may call it. False: it could not be stopped within some seconds. */
bool
daemon_freeze(const struct daemon *daemon);

/* Exit code of `hoopd --check ADDRESS`. */
int
daemon_check(const char *address);

/* One for all tests of a program: the fixtures of their group. */
extern struct daemon hoopd;
int
daemon_setup(void **state);
int
daemon_teardown(void **state);

/*
 * The test process has no threads and never joins itself: each worker is
 * forked first and joins a real hoopd by address.
 */

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
 * 100 s at most, 240 under a sanitizer. Returns how many did not return 0;
 * those ended by SIGKILL do not count. *out_room: a copy, NULL: not wanted.
 */
uint32_t
workers_run(const char *coordinator,
            uint32_t n_workers,
            worker_fn *body,
            uint64_t out_room[WORKERS_ROOM]);

/* A test of cmocka's: n_workers of body at hoopd. */
struct workers_test {
    worker_fn *body;
    uint32_t n_workers;
};

void
workers_test_run(void **state);

#define WORKERS_TEST(body, n_workers)                                          \
    {                                                                          \
        .name = #body, .test_func = workers_test_run,                          \
        .initial_state = &(struct workers_test)                                \
        {                                                                      \
            body, n_workers                                                    \
        }                                                                      \
    }

/* How long workers_run() waits from now on. */
void
workers_allow(uint32_t seconds);

/* Options that ask for rank index of n_workers at the coordinator. */
struct hoop_join_options
worker_options(const struct worker *worker);

/* Allreduce of count floats, checked; 0 when all is well. */
int
worker_allreduce(hoop_comm_t *comm, size_t count);

/* Join the world of the first n_members, and return when all have, who are
 * counted in a place of the room: nobody dies before the last has come
 * through. 0 when all is well. */
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

/* For tests whose bodies run on a mesh, one hoopd for the whole test. */

struct mesh_process {
    uint32_t n_rows;
    uint32_t n_columns;
    uint32_t rank; /* the place, too, in row-major order */
    hoop_session_t *session;
    hoop_mesh_t *mesh;
};

/* Returns 0 when all is well. */
typedef int
mesh_process_fn(struct mesh_process *mesh_process);

/* Run body in n_rows * n_columns processes that have joined, and in n_outside
 * more that are not in the mesh. Returns how many did not return 0. */
uint32_t
mesh_processes_run(uint32_t n_rows,
                   uint32_t n_columns,
                   uint32_t n_outside,
                   mesh_process_fn *body);

/* A test of cmocka's: body in these processes. */
struct mesh_processes_test {
    mesh_process_fn *body;
    uint32_t n_rows;
    uint32_t n_columns;
    uint32_t n_outside;
};

void
mesh_processes_test_run(void **state);

#define MESH_TEST(body, n_rows, n_columns, n_outside)                          \
    {                                                                          \
        .name = #body, .test_func = mesh_processes_test_run,                   \
        .initial_state = &(struct mesh_processes_test)                         \
        {                                                                      \
            body, n_rows, n_columns, n_outside                                 \
        }                                                                      \
    }

#endif
