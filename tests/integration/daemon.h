/*
 * tests/integration/daemon.h - a real hoopd under test, and workers that use it
 *
 * HOOPD in the environment is its path. It listens on free ports of 127.0.0.1.
 * Its token is "secret" unless --token-file names another one. Its log goes to
 * a file that a test can search.
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
    char token_path[128]; /* empty: hoopd has another token, or none */
    char address[LIMIT_ADDRESS];
    char http_address[LIMIT_ADDRESS];
};

/* Starts hoopd with further arguments, which NULL ends. Returns when it serves.
 * With "--token-file=" it has no token. */
void
daemon_start(struct daemon *daemon, const char *const *arguments);

/* Fails the test if the log does not hold text within some seconds. */
void
daemon_expect_log(const struct daemon *daemon, const char *text);

/* Sends SIGTERM. Fails the test if hoopd does not exit with 0 within some
 * seconds. */
void
daemon_stop(struct daemon *daemon);

/* Sends SIGSTOP, and returns when hoopd has stopped, or false if it has not
 * within some seconds. Any process of the test may call it. */
bool
daemon_freeze(const struct daemon *daemon);

/* Returns the exit code of `hoopd --check ADDRESS`. */
int
daemon_check(const char *address);

/* All tests of a program share this hoopd, which the fixtures of their group
 * start and stop. */
extern struct daemon hoopd;
int
daemon_setup(void **state);
int
daemon_teardown(void **state);

/*
 * The test process has no threads and never joins by itself. Each worker is
 * forked first and then joins a real hoopd by its address.
 */

enum {
    WORKERS_MAX = 16,
    WORKERS_ROOM = 16,
};

/* A worker's body may use this. */
struct worker {
    uint32_t index; /* it is the rank only if the worker asks for that */
    uint32_t n_workers;
    const char *coordinator;
    volatile uint64_t *room; /* all workers share it; zeroed at first */
};

/* Returns 0 if all is well. The process exits with the result. */
typedef int
worker_fn(const struct worker *worker);

/*
 * Runs n_workers and waits for them, for at most 100 s or 240 s with a
 * sanitizer, unless workers_allow() has changed that. Returns how many did not
 * return 0; a worker that SIGKILL has ended does not count. Copies the room to
 * out_room, unless that is NULL.
 */
uint32_t
workers_run(const char *coordinator,
            uint32_t n_workers,
            worker_fn *body,
            uint64_t out_room[WORKERS_ROOM]);

/* A cmocka test with this state runs body on n_workers that use hoopd. */
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

/* Sets how long workers_run() waits from now on. */
void
workers_allow(uint32_t seconds);

/* Returns options that ask the coordinator for the rank index of n_workers. */
struct hoop_join_options
worker_options(const struct worker *worker);

/* Reduces count floats and checks them. Returns 0 if all is well. */
int
worker_allreduce(hoop_comm_t *comm, size_t count);

/* Joins the world of the first n_members, and returns when all have joined. A
 * place of the room counts them, so that none dies before the last one has
 * joined. Returns 0 if all is well. */
int
worker_join(const struct worker *worker,
            uint32_t n_members,
            uint32_t place,
            hoop_session_t **out_session);
/* Kills the worker victim. The others wait until they learn that it is lost.
 * Returns 0 if all is well. */
int
worker_lose(const struct worker *worker, uint32_t victim, hoop_comm_t *world);

/* These functions use a place of the room, which all processes share. */
void
room_set(const struct worker *worker, uint32_t place, uint64_t value);
/* Waits until the value is at least count, for at most 20 s. Returns it. */
uint64_t
room_await_count(const struct worker *worker, uint32_t place, uint64_t count);
/* Waits until the value is not 0. */
uint64_t
room_await(const struct worker *worker, uint32_t place);

/* Use this in a body: unless the condition holds, it reports that and returns
 * 1. */
#define WORKER_CHECK(condition)                                                \
    do {                                                                       \
        if (!(condition))                                                      \
            return worker_report(#condition, __FILE_NAME__, __LINE__);         \
    } while (0)

int
worker_report(const char *condition, const char *file, int line);

/* This is a process of a test whose bodies run on a mesh. One hoopd serves all
 * of them. */

struct mesh_process {
    uint32_t n_rows;
    uint32_t n_columns;
    uint32_t rank; /* also the place in the mesh, in row-major order */
    hoop_session_t *session;
    hoop_mesh_t *mesh;
};

/* Returns 0 if all is well. */
typedef int
mesh_process_fn(struct mesh_process *mesh_process);

/* Runs body in n_rows * n_columns processes that have joined, and in n_outside
 * more that are not in the mesh. Returns how many did not return 0. */
uint32_t
mesh_processes_run(uint32_t n_rows,
                   uint32_t n_columns,
                   uint32_t n_outside,
                   mesh_process_fn *body);

/* A cmocka test with this state runs body in these processes. */
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
