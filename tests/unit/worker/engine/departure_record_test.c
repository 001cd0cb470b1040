/* tests/unit/worker/engine/departure_record_test.c - engine/failure/departure.c */

#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "shm_engine_pair.h"

/* Rank 1 does its part, if it has one, and leaves; rank 0 calls a flat sum.
 * Nobody was ever connected. */
static enum hoop_status
sum_after_leave(int32_t *value)
{
    engine_shutdown(engine_pair.sides[1].engine, clock_deadline_ns(0));
    engine_report_unreachable(engine_pair.sides[0].engine, 1,
                              "connection refused");
    const enum hoop_status status =
        flat_sum(engine_pair.sides[0].comms[0].context, value, 1);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 0);
    return status;
}

static void
rank_that_left_unconnected_is_not_lost(void **state)
{
    int32_t value = 41;

    assert_int_equal(sum_after_leave(&value), HOOP_E_PEER_LOST);
    assert_true(says("rank 1 (host:41) has left the job"));
    assert_int_equal(value, 41);
    assert_int_equal(flat_sum(engine_pair.sides[0].comms[1].context, &value, 1),
                     HOOP_E_PEER_LOST);
    assert_true(says("has left the job"));
}

static void
what_it_had_called_is_compared(void **state)
{
    int32_t value = 41;

    /* Through frames, of which there are none. */
    assert_ok(sum_run(engine_pair.sides[1].comms[0].context, &value, 0));
    assert_int_equal(sum_after_leave(&value), HOOP_E_MISMATCH);
    assert_true(says("0 elements") && says("1 elements"));
    assert_int_equal(value, 41);
}

static void
what_had_failed_there_fails_here(void **state)
{
    int32_t value = 41;

    context_set_timeout(engine_pair.sides[1].comms[0].context, 300);
    assert_int_equal(flat_sum(engine_pair.sides[1].comms[0].context, &value, 1),
                     HOOP_E_TIMEOUT);
    assert_int_equal(sum_after_leave(&value), HOOP_E_TIMEOUT);
    assert_true(says("rank 1 (host:41) timed out"));
    assert_int_equal(value, 41);
}

static void
what_it_had_posted_counts(void **state)
{
    int32_t values[2] = {1, 1};
    struct op *ops[2];

    for (unsigned i = 0; i < 2; i++) {
        const struct engine_collective sum =
            flat_sum_of(engine_pair.sides[i].comms[0].context, &values[i], 1);

        assert_ok(engine_start_collective(engine_pair.sides[i].comms[0].context,
                                          &sum, &ops[i]));
    }
    assert_ok(engine_wait(ops[1], patience()));
    engine_shutdown(engine_pair.sides[1].engine, clock_deadline_ns(0));
    engine_report_unreachable(engine_pair.sides[0].engine, 1,
                              "connection refused");
    assert_ok(engine_wait(ops[0], patience()));
    assert_int_equal(values[0], 2);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 0);
}

static void
end_of_a_connection_is_no_loss_after_it_left(void **state)
{
    int32_t value = 1;

    engine_shutdown(engine_pair.sides[1].engine, clock_deadline_ns(0));
    /* It came too late for a goodbye. */
    engine_add_connection(engine_pair.sides[0].engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    close(engine_pair.fds[1]);
    engine_pair.fds[1] = -1;
    assert_int_equal(sum_run(engine_pair.sides[0].comms[0].context, &value, 1),
                     HOOP_E_PEER_LOST);
    assert_true(says("has left the job"));
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 0);
}

#define APART_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, shm_pair_set_up_unconnected,         \
                                    engine_pair_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        APART_TEST(rank_that_left_unconnected_is_not_lost),
        APART_TEST(what_it_had_called_is_compared),
        APART_TEST(what_had_failed_there_fails_here),
        APART_TEST(what_it_had_posted_counts),
        APART_TEST(end_of_a_connection_is_no_loss_after_it_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
