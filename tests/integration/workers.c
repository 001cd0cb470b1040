/* tests/integration/workers.c - forked workers that use hoop as users do */

#include "workers.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "child.h"

enum {
    LOOK_US = 500,
    ROOM_MS = 20000,
};

/* A sanitizer is slow. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static uint64_t auth_timeout_ms = 240000;
#else
static uint64_t auth_timeout_ms = 100000;
#endif

void
workers_allow(uint32_t seconds)
{
    auth_timeout_ms = seconds * 1000ULL;
}

static volatile uint64_t *
room_create(void)
{
    void *room =
        mmap(NULL, WORKERS_ROOM * sizeof(uint64_t), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(room != MAP_FAILED);
    return room;
}

/* Waits for every process of pids; returns how many ended badly. */
static uint32_t
workers_wait(pid_t *pids, uint32_t n_workers)
{
    const uint64_t deadline_ns = clock_deadline_ns(auth_timeout_ms);
    uint32_t n_bad = 0;

    for (uint32_t i = 0; i < n_workers; i++) {
        int how = 0;

        while (waitpid(pids[i], &how, WNOHANG) == 0) {
            if (clock_is_past(deadline_ns)) {
                kill(pids[i], SIGABRT);
                /* One that is stopped does not end. */
                kill(pids[i], SIGCONT);
            }
            usleep(LOOK_US);
        }
        if (how == 0 || (WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL))
            continue;
        fprintf(stderr, "worker %u ended with %#x\n", i, (unsigned)how);
        n_bad++;
    }
    return n_bad;
}

/* Play the nodes of tests/path.h, as the process that becomes the worker. */
static void
worker_settle(const struct worker *worker)
{
    const char *n_nodes = getenv("HOOP_TEST_NODES");
    char node[16];

    if (!n_nodes)
        return;
    snprintf(node, sizeof(node), "node%lu",
             worker->index * strtoul(n_nodes, NULL, 10) / worker->n_workers);
    setenv("HOOP_NODE", node, 1);
}

uint32_t
workers_run(const char *coordinator,
            uint32_t n_workers,
            worker_fn *body,
            uint64_t out_room[WORKERS_ROOM])
{
    volatile uint64_t *room = room_create();
    pid_t pids[WORKERS_MAX];

    fflush(NULL);
    for (uint32_t i = 0; i < n_workers; i++) {
        const struct worker worker = {i, n_workers, coordinator, room};

        pids[i] = child_fork();
        assert_true(pids[i] >= 0);
        /* exit(), so that leaks are found. */
        if (pids[i] == 0) {
            worker_settle(&worker);
            exit(body(&worker));
        }
    }
    const uint32_t n_bad = workers_wait(pids, n_workers);
    for (uint32_t i = 0; out_room && i < WORKERS_ROOM; i++)
        out_room[i] = room[i];
    munmap((void *)(uintptr_t)room, WORKERS_ROOM * sizeof(uint64_t));
    return n_bad;
}

struct hoop_join_options
worker_options(const struct worker *worker)
{
    return (struct hoop_join_options){
        .coordinator = worker->coordinator,
        .job = "test",
        .token = "secret",
        .rank = &worker->index,
        .world_size = worker->n_workers,
        .join_timeout_ms = 20000,
        .op_timeout_ms = 20000,
    };
}

int
worker_join(const struct worker *worker,
            uint32_t n_members,
            uint32_t place,
            hoop_session_t **out_session)
{
    struct hoop_join_options options = worker_options(worker);

    /* Who is only slow on a busy machine is not lost. */
    setenv("HOOP_FAILURE_TIMEOUT", "30", 0);
    options.world_size = n_members;
    WORKER_CHECK(hoop_join(&options, out_session) == HOOP_OK);
    WORKER_CHECK(hoop_barrier(hoop_world(*out_session)) == HOOP_OK);
    __atomic_fetch_add(&worker->room[place], 1, __ATOMIC_SEQ_CST);
    while (worker->room[place] < n_members)
        usleep(LOOK_US);
    return 0;
}

int
worker_lose(const struct worker *worker, uint32_t victim, hoop_comm_t *world)
{
    if (worker->index == victim)
        kill(getpid(), SIGKILL);
    WORKER_CHECK(hoop_barrier(world) == HOOP_E_PEER_LOST);
    return 0;
}

int
worker_allreduce(hoop_comm_t *comm, size_t count)
{
    const uint32_t rank = hoop_comm_rank(comm);
    const uint32_t size = hoop_comm_size(comm);
    float *values = malloc(count * sizeof(*values));
    size_t n_wrong = 0;

    for (size_t i = 0; i < count; i++)
        values[i] = (float)(rank + 1) + (float)(i % 7);
    const enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, values, count, HOOP_FLOAT32, HOOP_SUM, comm);
    for (size_t i = 0; i < count; i++) {
        const float sum =
            (float)(size * (size + 1) / 2) + (float)size * (float)(i % 7);

        n_wrong += values[i] != sum;
    }
    free(values);
    WORKER_CHECK(status == HOOP_OK);
    WORKER_CHECK(n_wrong == 0);
    return 0;
}

void
room_set(const struct worker *worker, uint32_t place, uint64_t value)
{
    __atomic_store_n(&worker->room[place], value, __ATOMIC_RELEASE);
}

uint64_t
room_await_count(const struct worker *worker, uint32_t place, uint64_t count)
{
    const uint64_t deadline_ns = clock_deadline_ns(ROOM_MS);
    uint64_t value = 0;

    while (value < count && !clock_is_past(deadline_ns)) {
        value = __atomic_load_n(&worker->room[place], __ATOMIC_ACQUIRE);
        usleep(LOOK_US);
    }
    return value;
}

uint64_t
room_await(const struct worker *worker, uint32_t place)
{
    return room_await_count(worker, place, 1);
}

int
worker_report(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not true: %s; last error: %s\n", file, line,
            condition, hoop_error_text());
    return 1;
}
