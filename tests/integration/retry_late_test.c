/*
 * tests/integration/retry_late_test.c - survivors that do not come together in
 * time
 *
 * Each call adds numbers that tell who gave them, and in which call: nobody may
 * get what another has given to another call.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "daemon.h"
#include "fault/fault.h"
#include "retry_case.h"

enum {
    N_WORKERS = 4,
    DEAD = 3,
    LATE = 2,
    MISSED_MAX = 3,
    SHORT_MS = 300,
    FAIR_MS = 3000,
    LONG_MS = 20000,
    PLACE_MISSED = WORKERS_MAX - 1, /* behind those of retry_join() */
};

/* How many calls time out before the late one makes its first. */
static uint32_t n_missed;

static int64_t
value_of(uint32_t worker, int64_t call)
{
    return (call + 1) << (8 * worker);
}

static enum hoop_status
call_make(const struct worker *worker,
          hoop_comm_t *world,
          int64_t call,
          int64_t *out_sum)
{
    const int64_t value = value_of(worker->index, call);

    return hoop_allreduce(&value, out_sum, 1, HOOP_INT64, HOOP_SUM, world);
}

/* One dies as soon as all have joined. */
static int
late_join(const struct worker *worker, hoop_session_t **out_session)
{
    WORKER_CHECK(retry_join(worker, out_session) == 0);
    if (worker->index == DEAD)
        kill(getpid(), SIGKILL);
    return 0;
}

/* Which all survivors make. */
static int
call_check(const struct worker *worker, hoop_comm_t *world, int64_t call)
{
    int64_t sum = 0;

    hoop_comm_set_timeout(world, LONG_MS);
    WORKER_CHECK(call_make(worker, world, call, &sum) == HOOP_OK);
    WORKER_CHECK(sum ==
                 value_of(0, call) + value_of(1, call) + value_of(LATE, call));
    WORKER_CHECK(hoop_comm_size(world) == N_WORKERS - 1);
    return 0;
}

static int
late_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    int64_t sum = 0;

    WORKER_CHECK(late_join(worker, &session) == 0);
    hoop_comm_t *world = hoop_world(session);
    if (worker->index == LATE)
        room_await_count(worker, PLACE_MISSED, 2);
    else
        hoop_comm_set_timeout(world, SHORT_MS);
    for (uint32_t call = 0; call < n_missed; call++)
        WORKER_CHECK(call_make(worker, world, call, &sum) == HOOP_E_TIMEOUT);
    if (worker->index != LATE)
        __atomic_fetch_add(&worker->room[PLACE_MISSED], 1, __ATOMIC_RELEASE);
    if (call_check(worker, world, n_missed) != 0 ||
        call_check(worker, world, n_missed + 1) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

static void
late_rank_ends_the_calls_that_timed_out_without_it(void **state)
{
    (void)state;
    for (n_missed = 1; n_missed <= MISSED_MAX; n_missed++)
        assert_int_equal(workers_run(hoopd.address, N_WORKERS, late_body, NULL),
                         0);
}

static int
unanswered_body(const struct worker *worker)
{
    hoop_session_t *session = NULL;
    int64_t sum = 0;

    WORKER_CHECK(late_join(worker, &session) == 0);
    hoop_comm_t *world = hoop_world(session);
    hoop_comm_set_timeout(world, FAIR_MS);
    /* One could not know that the others make it again: all end it. */
    WORKER_CHECK(call_make(worker, world, 0, &sum) == HOOP_E_TIMEOUT);
    if (call_check(worker, world, 1) != 0 || call_check(worker, world, 2) != 0)
        return 1;
    hoop_leave(session);
    return 0;
}

/* Three shrink, three confirm that, three agree: the last is not answered. */
static void
rank_without_an_answer_ends_the_call_that_others_repeat(void **state)
{
    struct daemon other;

    (void)state;
    if (!FAULT_IS_BUILT)
        skip();
    assert_int_equal(setenv("HOOP_DEBUG_FAULT",
                            "rank=coordinator,op=groups_agree,seq=9,do=drop",
                            1),
                     0);
    daemon_start(&other, NULL);
    assert_int_equal(unsetenv("HOOP_DEBUG_FAULT"), 0);
    const uint32_t n_failed =
        workers_run(other.address, N_WORKERS, unanswered_body, NULL);
    daemon_stop(&other);
    assert_int_equal(n_failed, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(late_rank_ends_the_calls_that_timed_out_without_it),
        cmocka_unit_test(
            rank_without_an_answer_ends_the_call_that_others_repeat),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
