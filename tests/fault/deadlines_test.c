/*
 * tests/fault/deadlines_test.c - whose deadline ends a call, and that it says so
 *
 * A wait allows so much, the communicator so much, the session so much; what is
 * nearest counts. Rank 1 calls nothing of what rank 0 waits for.
 */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "integration/daemon.h"
#include "integration/workers.h"

enum {
    SHORT_MS = 1200, /* a busy machine must look at it before its end */
    LONG_MS = 30000,

    /* Of the room. */
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

    /* A communicator cannot allow more than the session. */
    hoop_comm_set_timeout(world, LONG_MS);
    WORKER_CHECK(hoop_recv(&value, 1, HOOP_INT32, 1, 1, world, NULL) ==
                 HOOP_E_TIMEOUT);
    WORKER_CHECK(says(" s of the 2.50 s that HOOP_TIMEOUT allows"));
    WORKER_CHECK(says("recv") && says("rank 1 ("));

    hoop_comm_set_timeout(world, SHORT_MS);
    WORKER_CHECK(hoop_recv_start(&value, 1, HOOP_INT32, 1, 1, world, NULL,
                                 &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, 10) == HOOP_E_PENDING);
    WORKER_CHECK(says("after the 10 ms that this wait allows"));
    WORKER_CHECK(hoop_wait(op, LONG_MS) == HOOP_E_TIMEOUT);
    WORKER_CHECK(says(" s of the 1.20 s that its communicator allows"));
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
    (void)state;
    assert_int_equal(workers_run(hoopd.address, 2, body, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest_deadline_ends_a_call_and_is_named),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
