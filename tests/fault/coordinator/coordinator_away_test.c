/*
 * tests/fault/coordinator/coordinator_away_test.c - a stopped hoopd
 *
 * The stopped hoopd accepts connections and says nothing. What the ranks do
 * among themselves goes on, and that includes finding out who is lost. What
 * only the coordinator can decide waits for it until the deadline, and no rank
 * decides in its place.
 */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    WORKERS = 3,
    SURVIVORS = WORKERS - 1,
    COUNT = 5000,
    /* This is the timeout of calls that wait for the coordinator in vain.
     * Before it passes, the ranks must have agreed, also on a busy machine. */
    SHORT_MS = 1500,
    TRIES = 5,

    /* These are places in the room. */
    PLACE_AWAY = 0, /* whether hoopd is stopped */
    PLACE_DONE = 1, /* how many have found out what fails without hoopd */
    PLACE_BACK = 2,
    PLACE_HERE = 3, /* how many have reached the point where hoopd stops */
    PLACE_TOLD = 4, /* the first of one place per rank: what it was told */
};

/* Rank 0 stops hoopd when all ranks are here; the others learn of it. */
static void
coordinator_stop(const struct worker *worker)
{
    __atomic_add_fetch(&worker->room[PLACE_HERE], 1, __ATOMIC_SEQ_CST);
    if (worker->index == 0) {
        room_await_count(worker, PLACE_HERE, WORKERS);
        daemon_freeze(&hoopd);
        room_set(worker, PLACE_AWAY, 1);
    }
    room_await(worker, PLACE_AWAY);
}

static void
coordinator_go_on(const struct worker *worker, uint32_t n_workers)
{
    __atomic_add_fetch(&worker->room[PLACE_DONE], 1, __ATOMIC_SEQ_CST);
    if (worker->index == 0) {
        room_await_count(worker, PLACE_DONE, n_workers);
        kill(hoopd.pid, SIGCONT);
        room_set(worker, PLACE_BACK, 1);
    }
    room_await(worker, PLACE_BACK);
}

/* Runs the body, and lets hoopd go on even if the body has failed. */
static uint32_t
run(worker_fn *body, uint64_t *out_room)
{
    const uint32_t n_bad = workers_run(hoopd.address, WORKERS, body, out_room);

    kill(hoopd.pid, SIGCONT);
    return n_bad;
}

static int
message_pass(hoop_comm_t *world)
{
    const uint32_t rank = hoop_comm_rank(world);
    int32_t value = 42;

    if (rank == 0)
        WORKER_CHECK(hoop_send(&value, 1, HOOP_INT32, 1, 7, world) == HOOP_OK);
    if (rank == 1)
        WORKER_CHECK(hoop_recv(&value, 1, HOOP_INT32, 0, 7, world, NULL) ==
                     HOOP_OK);
    WORKER_CHECK(value == 42);
    return 0;
}

static int
away_body(const struct worker *worker)
{
    static const uint32_t ranks[] = {0, 1, 2};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_comm_t *before = NULL;
    uint64_t flags = 6 | worker->index;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(hoop_comm_create(session, ranks, WORKERS, &before) == HOOP_OK);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);
    coordinator_stop(worker);

    WORKER_CHECK(worker_allreduce(world, COUNT) == 0);
    WORKER_CHECK(worker_allreduce(before, COUNT) == 0);
    WORKER_CHECK(message_pass(world) == 0);
    hoop_comm_free(before);
    WORKER_CHECK(hoop_barrier(world) == HOOP_OK);

    hoop_comm_set_timeout(world, SHORT_MS);
    WORKER_CHECK(hoop_comm_agree(world, &flags) != HOOP_OK);
    WORKER_CHECK(strstr(hoop_error_text(), "hoopd at "));
    WORKER_CHECK(flags == (6 | worker->index));
    hoop_comm_set_timeout(world, 0);
    coordinator_go_on(worker, WORKERS);
    WORKER_CHECK(hoop_comm_agree(world, &flags) == HOOP_OK);
    WORKER_CHECK(flags == 6);
    hoop_leave(session);
    return 0;
}

static void
only_what_needs_it_waits_for_the_coordinator(void **state)
{
    assert_int_equal(run(away_body, NULL), 0);
}

/* Stores which rank is lost and why. The reporter, which may differ, is left
 * out. */
static int
verdict_tell(const struct worker *worker)
{
    const char *core = strstr(hoop_error_text(), "rank 1 (");

    WORKER_CHECK(core && strstr(core, " is lost: "));
    const size_t n_bytes = strcspn(core, ",;");
    room_set(worker, PLACE_TOLD + worker->index,
             digest_bytes(core, n_bytes) | 1);
    return 0;
}

static int
death_body(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    enum hoop_status status = HOOP_E_UNAVAILABLE;
    hoop_session_t *session = NULL;
    hoop_comm_t *rest = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    hoop_comm_t *world = hoop_world(session);
    WORKER_CHECK(worker_allreduce(world, COUNT) == 0);
    coordinator_stop(worker);
    if (worker->index == 1)
        kill(getpid(), SIGKILL);
    WORKER_CHECK(hoop_barrier(world) == HOOP_E_PEER_LOST);
    WORKER_CHECK(verdict_tell(worker) == 0);

    /* All survivors agree, but that is not enough without the coordinator. */
    hoop_comm_set_timeout(world, SHORT_MS);
    WORKER_CHECK(hoop_comm_shrink(world, &rest) != HOOP_OK);
    WORKER_CHECK(strstr(hoop_error_text(), "hoopd at "));
    hoop_comm_set_timeout(world, 0);
    coordinator_go_on(worker, SURVIVORS);
    /* The first answers may be about the calls that have timed out. */
    for (int i = 0; i < TRIES && !rest; i++)
        status = hoop_comm_shrink(world, &rest);
    WORKER_CHECK(status == HOOP_OK);
    WORKER_CHECK(hoop_comm_size(rest) == SURVIVORS);
    WORKER_CHECK(worker_allreduce(rest, COUNT) == 0);
    hoop_leave(session);
    return 0;
}

static void
death_without_a_coordinator_is_told_alike_and_decided_by_nobody(void **state)
{
    uint64_t room[WORKERS_ROOM];

    assert_int_equal(run(death_body, room), 0);
    assert_int_not_equal(room[PLACE_TOLD], 0);
    assert_int_equal(room[PLACE_TOLD], room[PLACE_TOLD + 2]);
}

/*
 * A call ends at the nearest deadline, and its error says whose that was.
 *
 * The wait, the communicator and the session each set a deadline. Rank 1 makes
 * none of the calls that rank 0 waits for.
 */

enum {
    DEADLINES_SHORT_MS =
        1200, /* A busy machine must check the wait before this is over. */
    LONG_MS = 30000,

    /* This is a place in the room. */
    PLACE_OVER = 0,
};

static bool
says(const char *phrase)
{
    return strstr(hoop_error_text(), phrase) != NULL;
}

static int
deadlines_meet(hoop_comm_t *world)
{
    hoop_op_t *op = NULL;
    int32_t value = 0;

    /* The communicator's timeout cannot exceed that of the session. */
    hoop_comm_set_timeout(world, LONG_MS);
    WORKER_CHECK(hoop_recv(&value, 1, HOOP_INT32, 1, 1, world, NULL) ==
                 HOOP_E_TIMEOUT);
    WORKER_CHECK(says(" s: the 2.50 s that HOOP_TIMEOUT allows are over"));
    WORKER_CHECK(says("recv") && says("rank 1 ("));

    hoop_comm_set_timeout(world, DEADLINES_SHORT_MS);
    WORKER_CHECK(hoop_recv_start(&value, 1, HOOP_INT32, 1, 1, world, NULL,
                                 &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, 10) == HOOP_E_PENDING);
    WORKER_CHECK(says("after the 10 ms that this wait allows"));
    WORKER_CHECK(hoop_wait(op, LONG_MS) == HOOP_E_TIMEOUT);
    WORKER_CHECK(says(" s: the 1.20 s that its communicator allows are over"));
    return 0;
}

static int
body(const struct worker *worker)
{
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    options.op_timeout_ms = 0;
    setenv("HOOP_TIMEOUT", "2.5", 1);
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    if (worker->index == 0) {
        WORKER_CHECK(deadlines_meet(hoop_world(session)) == 0);
        room_set(worker, PLACE_OVER, 1);
    }
    room_await(worker, PLACE_OVER);
    hoop_leave(session);
    return 0;
}

static void
nearest_deadline_ends_a_call_and_is_named(void **state)
{
    assert_int_equal(workers_run(hoopd.address, 2, body, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_needs_it_waits_for_the_coordinator),
        cmocka_unit_test(
            death_without_a_coordinator_is_told_alike_and_decided_by_nobody),
        cmocka_unit_test(nearest_deadline_ends_a_call_and_is_named),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
