/* tests/integration/recovery/worker_loss_test.c - which workers count as
 * lost */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    LARGE = 16 << 20, /* floats: 64 MiB */
    VICTIM = 2,
    LEASE_MS = 3000, /* on a busy machine threads wait for a processor */
    /* A hypervisor may stop one of two processors for a second. Tests of what
     * must not happen allow for that. */
    CALM_LEASE_MS = 2000,

    /* These are places in the room. */
    PLACE_KILLED = 0, /* the time, in ns */
    PLACE_PID = 1,
    PLACE_NOTICED = 2, /* how many workers have noticed */
    PLACE_CHILD = 3,   /* result of the child: 1 is right, 2 is wrong */
};

/* TSan does not support threads in a forked child of a process with threads. */
#ifdef __SANITIZE_THREAD__
static const bool has_threads_after_fork = false;
#else
static const bool has_threads_after_fork = true;
#endif

/* A worker computes for this many leases. With a sanitizer, more would show
 * nothing new. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const uint64_t N_LEASES = 2;
#else
static const uint64_t N_LEASES = 4;
#endif

/* This is less than any timeout, and enough on a busy machine. */
static const uint64_t AT_ONCE_NS = 5 * (uint64_t)CLOCK_NS_PER_S;

/* Dies in the middle of an operation that takes much longer. */
static int
victim_die(const struct worker *worker, hoop_comm_t *world, float *values)
{
    enum hoop_status status = HOOP_OK;

    /* On a busy machine, the operation may have ended before it is checked. */
    while (status == HOOP_OK) {
        hoop_op_t *op = NULL;

        WORKER_CHECK(hoop_allreduce_start(HOOP_IN_PLACE, values, LARGE,
                                          HOOP_FLOAT32, HOOP_SUM, world,
                                          &op) == HOOP_OK);
        status = hoop_wait(op, 10);
    }
    WORKER_CHECK(status == HOOP_E_PENDING);
    room_set(worker, PLACE_PID, (uint64_t)getpid());
    room_set(worker, PLACE_KILLED, clock_now_ns());
    kill(getpid(), SIGKILL);
    return 1;
}

/* Checks that the last error names the killed worker, and came in time. */
static int
loss_check(const struct worker *worker, enum hoop_status status)
{
    const uint64_t now_ns = clock_now_ns();
    const uint64_t killed_ns = room_await(worker, PLACE_KILLED);
    char pid[32];

    WORKER_CHECK(status == HOOP_E_PEER_LOST);
    snprintf(pid, sizeof(pid), ":%u)", (unsigned)worker->room[PLACE_PID]);
    WORKER_CHECK(strstr(hoop_error_text(), pid));
    WORKER_CHECK(now_ns - killed_ns < AT_ONCE_NS);
    __atomic_fetch_add(&worker->room[PLACE_NOTICED], 1, __ATOMIC_RELEASE);
    return 0;
}

static int
killed_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    float *values = calloc(LARGE, sizeof(*values));
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    if (worker->index == VICTIM)
        return victim_die(worker, world, values);

    enum hoop_status status = HOOP_OK;
    while (status == HOOP_OK)
        status = hoop_allreduce(HOOP_IN_PLACE, values, LARGE, HOOP_FLOAT32,
                                HOOP_SUM, world);
    const int result = loss_check(worker, status);
    WORKER_CHECK(strstr(hoop_error_text(), "rank 2 ("));
    WORKER_CHECK(hoop_barrier(world) == HOOP_E_PEER_LOST);
    free(values);
    hoop_leave(session);
    return result;
}

static void
worker_killed_in_an_allreduce_is_named_at_once(void **state)
{
    uint64_t room[WORKERS_ROOM];

    assert_int_equal(workers_run(hoopd.address, 4, killed_body, room), 0);
    assert_int_equal(room[PLACE_NOTICED], 3);
    daemon_expect_log(&hoopd, "is lost");
}

/* Computes without calling hoop. */
static int
computing_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    volatile double sum = 0;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    if (worker_allreduce(hoop_world(session), 1000) != 0)
        return 1;
    const uint64_t until_ns = clock_deadline_ns(N_LEASES * CALM_LEASE_MS);
    while (worker->index == 0 && !clock_is_past(until_ns))
        sum = sum + 1;
    if (worker_allreduce(hoop_world(session), 1000) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void
worker_that_computes_for_many_leases_is_not_lost(void **state)
{
    char lease[32];
    const char *arguments[] = {lease, NULL};
    struct daemon hasty;

    snprintf(lease, sizeof(lease), "--lease=%dms", CALM_LEASE_MS);
    daemon_start(&hasty, arguments);
    const uint32_t n_bad = workers_run(hasty.address, 2, computing_body, NULL);
    daemon_stop(&hasty);
    assert_int_equal(n_bad, 0);
}

/* Returns whether none of the other three ranks shares VICTIM's node.
 * tests/path.h says which ranks do. */
static bool
victim_is_alone_on_its_node(void)
{
    const char *nodes = getenv("HOOP_TEST_NODES");
    const unsigned long n = nodes ? strtoul(nodes, NULL, 10) : 0;

    return (VICTIM - 1) * n / 4 != VICTIM * n / 4 &&
           (VICTIM + 1) * n / 4 != VICTIM * n / 4;
}

/* A stopped process keeps its connections, so only its silence shows the loss,
 * after a given time. If the rank is alone on its host, the host counts as
 * silent. */
static int
silent_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    setenv("HOOP_FAILURE_TIMEOUT", "3", 1);
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    if (worker->index == VICTIM) {
        room_set(worker, PLACE_PID, (uint64_t)getpid());
        kill(getpid(), SIGSTOP);
        return 0;
    }
    const pid_t stopped = (pid_t)room_await(worker, PLACE_PID);
    const enum hoop_status status = hoop_barrier(hoop_world(session));
    WORKER_CHECK(status == HOOP_E_PEER_LOST);
    WORKER_CHECK(strstr(hoop_error_text(), "rank 2 ("));
    /* Only a rank on the same host can see that it was stopped. */
    WORKER_CHECK(getenv("HOOP_TEST_NODES") ||
                 strstr(hoop_error_text(), "is lost: stopped"));
    WORKER_CHECK(
        strstr(hoop_error_text(),
               victim_is_alone_on_its_node()
                   ? "is lost: no rank of another host hears host"
                   : " (nothing has come from it for 3.0 s), reported"));
    if (__atomic_add_fetch(&worker->room[PLACE_NOTICED], 1, __ATOMIC_SEQ_CST) ==
        worker->n_workers - 1)
        kill(stopped, SIGKILL);
    hoop_leave(session);
    return 0;
}

static void
worker_that_is_stopped_is_lost_by_its_silence(void **state)
{
    uint64_t room[WORKERS_ROOM];

    assert_int_equal(workers_run(hoopd.address, 4, silent_body, room), 0);
    assert_int_equal(room[PLACE_NOTICED], 3);
}

/* The others allow a long silence, so only the lease shows the loss. */
static int
stopped_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    setenv("HOOP_FAILURE_TIMEOUT", "60", 1);
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    if (worker->index == 0) {
        room_set(worker, PLACE_PID, (uint64_t)getpid());
        kill(getpid(), SIGSTOP);
        return 0;
    }
    const pid_t stopped = (pid_t)room_await(worker, PLACE_PID);
    const enum hoop_status status = hoop_barrier(hoop_world(session));
    room_set(worker, PLACE_NOTICED,
             status == HOOP_E_PEER_LOST &&
                 strstr(hoop_error_text(), "lease") != NULL);
    if (worker->room[PLACE_NOTICED] != 1)
        fprintf(stderr, "%d: %s\n", (int)status, hoop_error_text());
    kill(stopped, SIGKILL);
    hoop_leave(session);
    return 0;
}

static void
worker_that_is_stopped_is_lost_with_its_lease(void **state)
{
    char lease[32];
    const char *arguments[] = {lease, NULL};
    uint64_t room[WORKERS_ROOM];
    struct daemon hasty;

    snprintf(lease, sizeof(lease), "--lease=%dms", LEASE_MS);
    daemon_start(&hasty, arguments);
    const uint32_t n_bad = workers_run(hasty.address, 2, stopped_body, room);
    daemon_stop(&hasty);
    assert_int_equal(n_bad, 0);
    assert_int_equal(room[PLACE_NOTICED], 1);
}

/* In a forked child of a worker every call is refused, and the child survives
 * that. */
static void
child_live(const struct worker *worker, hoop_session_t *session, hoop_op_t *op)
{
    const enum hoop_status started = hoop_barrier(hoop_world(session));
    const bool is_told = strstr(hoop_error_text(), "fork") != NULL;
    const enum hoop_status waited = hoop_wait(op, 1000);

    hoop_leave(session);
    room_set(
        worker, PLACE_CHILD,
        started == HOOP_E_CLOSED && waited == HOOP_E_CLOSED && is_told ? 1 : 2);
    room_await(worker, PLACE_NOTICED);
    _exit(0);
}

static int
forking_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    if (worker->index == 1) {
        WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
        const enum hoop_status status = hoop_barrier(world);
        const int result = loss_check(worker, status);

        hoop_leave(session);
        return result;
    }
    WORKER_CHECK(hoop_barrier_start(world, &op) == HOOP_OK);
    if (fork() == 0)
        child_live(worker, session, op);
    WORKER_CHECK(room_await(worker, PLACE_CHILD) == 1);
    WORKER_CHECK(hoop_wait(op, 20000) == HOOP_OK);
    room_set(worker, PLACE_PID, (uint64_t)getpid());
    room_set(worker, PLACE_KILLED, clock_now_ns());
    kill(getpid(), SIGKILL);
    return 1;
}

static void
forked_child_is_refused_and_holds_no_peer(void **state)
{
    uint64_t room[WORKERS_ROOM];

    assert_int_equal(workers_run(hoopd.address, 2, forking_body, room), 0);
    assert_int_equal(room[PLACE_NOTICED], 1);
    assert_int_equal(room[PLACE_CHILD], 1);
}

/* A forked child joins by itself, while its parent's session continues. */
static int
joining_child_body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    int how = 0;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    const pid_t child = fork();
    if (child == 0) {
        hoop_session_t *own = NULL;

        options.job = "children";
        if (hoop_join(&options, &own) != HOOP_OK ||
            worker_allreduce(hoop_world(own), 1000) != 0)
            _exit(1);
        hoop_leave(own);
        _exit(0);
    }
    WORKER_CHECK(waitpid(child, &how, 0) == child);
    WORKER_CHECK(how == 0);
    if (worker_allreduce(hoop_world(session), 1000) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void
forked_child_may_join_for_itself(void **state)
{
    if (!has_threads_after_fork)
        skip();
    assert_int_equal(workers_run(hoopd.address, 2, joining_child_body, NULL),
                     0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_killed_in_an_allreduce_is_named_at_once),
        cmocka_unit_test(worker_that_computes_for_many_leases_is_not_lost),
        cmocka_unit_test(worker_that_is_stopped_is_lost_by_its_silence),
        cmocka_unit_test(worker_that_is_stopped_is_lost_with_its_lease),
        cmocka_unit_test(forked_child_is_refused_and_holds_no_peer),
        cmocka_unit_test(forked_child_may_join_for_itself),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
