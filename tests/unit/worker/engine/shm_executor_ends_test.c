/*
 * tests/unit/worker/engine/shm_executor_ends_test.c - flat operations that end
 * badly
 *
 * Calls that differ, ranks that come late, leave, give up or die.
 */

#include <sched.h>
#include <stdatomic.h>

#include "algorithms/algorithms.h"
#include "allocation.h"
#include "base/clock.h"
#include "check.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/op_history.h"
#include "engine/progress.h"
#include "engine/shm_executor.h"
#include "engine/shm_queue.h"
#include "engine/state.h"
#include "shm_engine_pair.h"

enum {
    N_LARGE = 3 * FLAT_SLOT / 4, /* elements: several slots */
};

/* Alike but for the count; nothing is written. */
static int
other_call_is_named_and_nothing_written(struct side *side)
{
    int32_t values[2] = {41, 42};

    SIDE_CHECK(flat_sum(side->comms[0].context, values, 1 + side->rank) ==
               HOOP_E_MISMATCH);
    SIDE_CHECK(says("1 elements") && says("2 elements"));
    SIDE_CHECK(values[0] == 41 && values[1] == 42);
    SIDE_CHECK(flat_sum(side->comms[0].context, values, 2) == HOOP_OK);
    SIDE_CHECK(values[1] == 84);
    return 0;
}

/* One is flat, the other goes through frames. */
static int
call_that_is_not_flat_is_named_too(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    int32_t values[2] = {41, 42};

    const enum hoop_status status = side->rank == 0
                                        ? flat_sum(context, values, 1)
                                        : sum_run(context, values, 2);
    SIDE_CHECK(status == HOOP_E_MISMATCH);
    SIDE_CHECK(says("1 elements") && says("2 elements"));
    SIDE_CHECK(values[0] == 41 && values[1] == 42);
    SIDE_CHECK(flat_sum(context, values, 2) == HOOP_OK);
    return 0;
}

/* What was sent for a call that frames carry may lie in sockets still, and then
 * what those who find it say of it: nobody's two next may pass by that. */
static int
two_calls_behind_one_by_frames_look_at_sockets(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    int32_t value = 1;

    SIDE_CHECK(sum_run(context, &value, 1) == HOOP_OK);
    SIDE_CHECK(context->polls.n_shm == POLLS_AFTER_OP);
    for (unsigned i = POLLS_AFTER_OP; i-- > 0;) {
        SIDE_CHECK(flat_sum(context, &value, 1) == HOOP_OK);
        SIDE_CHECK(context->polls.n_shm == i);
    }
    return 0;
}

/* A root that only posts is through before the others come. */
static int
two_roots_are_found_out(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    int32_t value = (int32_t)side->rank;
    const struct engine_collective broadcast = {
        .call = {.name = CALL_BROADCAST,
                 .dtype = HOOP_INT32,
                 .root = side->rank,
                 .count = 1},
        .algorithm = &algorithm_broadcast_flat,
        .shape = {.rank = side->rank,
                  .size = 2,
                  .root = side->rank,
                  .is_in_place = true,
                  .count = 1,
                  .granule = 1,
                  .slot_capacity = context_shm_slot_bytes(context) / 4},
        .input = &value,
        .output = &value,
    };

    if (flat_run(broadcast, context) == HOOP_OK) {
        int32_t next = 1;

        SIDE_CHECK(flat_sum(context, &next, 1) == HOOP_E_MISMATCH);
    }
    SIDE_CHECK(says("root 0") && says("root 1"));
    SIDE_CHECK(value == (int32_t)side->rank);
    return 0;
}

/* Rank 0 has been told that its time was up, or something else. */
static atomic_bool is_told;

static int
side_is_alone(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    int32_t value = 1;

    if (side->rank == 0) {
        context_set_timeout(context, 300);
        const enum hoop_status status = flat_sum(context, &value, 1);
        atomic_store(&is_told, true);
        SIDE_CHECK(status == HOOP_E_TIMEOUT);
        SIDE_CHECK(says("waiting for rank 1") && says("has not called"));
        context_set_timeout(context, 30000);
    } else {
        const uint64_t deadline_ns = patience();
        while (!atomic_load(&is_told) && !clock_is_past(deadline_ns))
            sched_yield();
        SIDE_CHECK(flat_sum(context, &value, 1) == HOOP_E_TIMEOUT);
    }
    SIDE_CHECK(flat_sum(context, &value, 1) == HOOP_OK);
    SIDE_CHECK(value == 2);
    return 0;
}

static void
rank_that_never_comes_is_named(void **state)
{
    atomic_store(&is_told, false);
    engine_pair_run(&engine_pair, side_is_alone);
}

/* A large one, which fills both slots, and for which rank 1 comes too late. */
static enum hoop_status
late_broadcast(struct side *side, int32_t *values)
{
    struct comm_context *context = side->comms[0].context;
    const struct engine_collective broadcast = {
        .call = {.name = CALL_BROADCAST, .dtype = HOOP_INT32, .count = N_LARGE},
        .algorithm = &algorithm_broadcast_flat,
        .shape = {.rank = side->rank,
                  .size = 2,
                  .is_in_place = true,
                  .count = N_LARGE,
                  .granule = 16,
                  .slot_capacity = context_shm_slot_bytes(context) / 4},
        .input = values,
        .output = values,
    };

    return flat_run(broadcast, context);
}

static int
side_is_late(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    static int32_t values[2][N_LARGE];
    int32_t *own = values[side->rank];

    if (side->rank == 0) {
        context_set_timeout(context, 300);
        const enum hoop_status status = late_broadcast(side, own);
        atomic_store(&is_told, true);
        SIDE_CHECK(status == HOOP_E_TIMEOUT);
        context_set_timeout(context, 30000);
    } else {
        const uint64_t deadline_ns = patience();
        while (!atomic_load(&is_told) && !clock_is_past(deadline_ns))
            sched_yield();
        SIDE_CHECK(late_broadcast(side, own) == HOOP_E_TIMEOUT);
    }
    own[0] = 1;
    SIDE_CHECK(flat_sum(context, own, N_LARGE) == HOOP_OK);
    SIDE_CHECK(own[0] == 2);
    return 0;
}

static void
slots_of_what_failed_are_free_for_the_next(void **state)
{
    atomic_store(&is_told, false);
    engine_pair_run(&engine_pair, side_is_late);
}

static int
one_that_is_cancelled_lets_the_next_go_on(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    int32_t values[2] = {1, 1};

    if (side->rank == 0) {
        struct op *ops[2];

        for (unsigned i = 0; i < 2; i++) {
            const struct engine_collective sum =
                flat_sum_of(context, &values[i], 1);
            SIDE_CHECK(engine_start_collective(context, &sum, &ops[i]) ==
                       HOOP_OK);
        }
        engine_cancel_op(ops[0]);
        /* Unless rank 1 was faster. */
        (void)!engine_wait(ops[0], patience());
        SIDE_CHECK(engine_wait(ops[1], patience()) == HOOP_OK);
    } else {
        /* What rank 0 has published stays, or the news was faster. */
        if (flat_sum(context, &values[0], 1) != HOOP_OK)
            SIDE_CHECK(values[0] == 1);
        SIDE_CHECK(flat_sum(context, &values[1], 1) == HOOP_OK);
    }
    SIDE_CHECK(values[1] == 2);
    return 0;
}

/* Rank 1 leaves; what it had published before is good. */
static int
rank_that_left_is_named(struct side *side)
{
    int32_t value = 1;

    SIDE_CHECK(flat_sum(side->comms[0].context, &value, 1) == HOOP_OK);
    if (side->rank == 1) {
        engine_shutdown(side->engine, patience());
        return 0;
    }
    SIDE_CHECK(flat_sum(side->comms[0].context, &value, 1) == HOOP_E_PEER_LOST);
    SIDE_CHECK(says("rank 1") && says("left"));
    engine_shutdown(side->engine, patience());
    return 0;
}

/* It died before it could wake anybody. */
static void
what_was_posted_before_the_end_counts(void **state)
{
    struct op *ops[2];
    int32_t values[2] = {1, 1};

    for (unsigned i = 0; i < 2; i++) {
        struct comm_context *context = engine_pair.sides[i].comms[0].context;
        const struct engine_collective sum =
            flat_sum_of(context, &values[i], 1);

        assert_ok(engine_start_collective(context, &sum, &ops[i]));
    }
    engine_declare_dead(engine_pair.sides[0].engine, 1, "it has been killed");
    for (unsigned i = 0; i < 2; i++) {
        assert_ok(engine_wait(ops[i], patience()));
        assert_int_equal(values[i], 2);
    }
    assert_int_equal(flat_sum(engine_pair.sides[0].comms[0].context, values, 1),
                     HOOP_E_PEER_LOST);
}

static int
context_is_closed_amid_a_round(struct side *side)
{
    struct comm_context *context = side->comms[1].context;
    int32_t value = 1;

    if (side->rank == 0) {
        struct op *op;
        const struct engine_collective sum = flat_sum_of(context, &value, 1);

        SIDE_CHECK(engine_start_collective(context, &sum, &op) == HOOP_OK);
        context_close(context);
        /* Unless rank 1 was faster. */
        const enum hoop_status status = engine_wait(op, patience());
        SIDE_CHECK(status == HOOP_OK || status == HOOP_E_CLOSED);
    } else {
        const enum hoop_status status = flat_sum(context, &value, 1);

        /* Its post had been published. */
        SIDE_CHECK(status == HOOP_OK || status == HOOP_E_PEER_LOST);
    }
    SIDE_CHECK(flat_sum(side->comms[0].context, &value, 1) == HOOP_OK);
    return 0;
}

/* It told of a third rank's end before its own. What it is waited for is
 * there, and would look at the sockets once more, amid the turn that reads
 * of the end. */
static void
who_dies_telling_of_another_is_read_to_its_end(void **state)
{
    struct side *sides = engine_pair.sides;
    struct comm_context *contexts[2] = {sides[0].comms[0].context,
                                        sides[1].comms[0].context};
    int32_t values[2] = {1, 2};
    struct op *ops[2] = {NULL, NULL};

    progress_poll(sides[0].engine, 0);
    progress_poll(sides[1].engine, 0);
    contexts[0]->polls.n_shm = POLLS_AFTER_OP;
    for (uint32_t i = 0; i < 2; i++) {
        const struct engine_collective sum =
            flat_sum_of(contexts[i], &values[i], 1);

        assert_ok(engine_start_collective(contexts[i], &sum, &ops[i]));
    }
    assert_ok(engine_wait(ops[1], patience()));
    engine_declare_dead(sides[1].engine, 2, "connection reset");
    progress_poll(sides[1].engine, 0);
    engine_destroy(sides[1].engine);
    sides[1].engine = NULL;

    assert_ok(engine_wait(ops[0], patience()));
    assert_int_equal(values[0], 3);
    assert_in_range(atomic_load(&sides[0].n_lost), 1, 2);
}

/* Rank 0 waits so long inline that it needs an operation, which finds no
 * memory. It had posted, but no rank may take that for its part. The next call
 * succeeds. */
static void
call_without_memory_for_an_operation_fails_on_all_members(void **state)
{
    const struct side *sides = engine_pair.sides;
    int32_t values[2] = {41, 42};
    struct op *ops[2] = {NULL, NULL};

    for (uint32_t i = 0; i < 2; i++)
        progress_poll(sides[i].engine, 0);
    calloc_refuse_nth(1);
    for (uint32_t i = 0; i < 2; i++) {
        struct comm_context *context = sides[i].comms[0].context;
        const struct engine_collective sum =
            flat_sum_of(context, &values[i], 1);

        assert_int_equal(engine_run_collective(context, &sum),
                         HOOP_E_EXHAUSTED);
        assert_true(says("no memory for an operation"));
        assert_int_equal(says("rank 0 (host:40) cannot take part"), i == 1);
        assert_int_equal(values[i], 41 + i);
    }
    for (uint32_t i = 0; i < 2; i++) {
        struct comm_context *context = sides[i].comms[0].context;
        const struct engine_collective sum =
            flat_sum_of(context, &values[i], 1);

        assert_ok(engine_start_collective(context, &sum, &ops[i]));
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_ok(engine_wait(ops[i], patience()));
        assert_int_equal(values[i], 83);
    }
}

/* Rank 1 has published that an earlier operation failed there. Until the
 * failure notice on that arrives, rank 0 has nothing to do, and may sleep. */
static void
rank_that_awaits_a_failure_notice_may_sleep(void **state)
{
    const struct side *sides = engine_pair.sides;
    struct comm_context *contexts[2] = {sides[0].comms[0].context,
                                        sides[1].comms[0].context};
    const struct failure_notice notice =
        failure_notice_make(HOOP_E_CANCELLED, HOOP_NO_RANK, "it is cancelled");
    int32_t values[2] = {1, 1};
    struct op *ops[2] = {NULL, NULL};
    uint64_t number = 0;

    for (unsigned call = 0; call < 2; call++) {
        for (uint32_t i = 0; i < 2; i++) {
            const struct engine_collective sum =
                flat_sum_of(contexts[i], &values[i], 1);

            assert_ok(engine_start_collective(contexts[i], &sum, &ops[i]));
        }
        if (call == 1)
            break;
        number = ops[0]->run.number;
        for (uint32_t i = 2; i-- > 0;)
            assert_ok(engine_wait(ops[i], patience()));
        op_history_mark_failed(&contexts[1]->op_history, number);
    }
    while (progress_poll(sides[1].engine, 0))
        ;
    for (unsigned i = 0; i < 3; i++)
        progress_poll(sides[0].engine, 0);
    assert_false(engine_is_op_done(ops[0]));
    assert_false(progress_poll(sides[0].engine, 0));
    assert_true(shm_queue_prepare_sleep(sides[0].engine));
    assert_int_equal(shm_executor_awaited_rank(ops[0]), 1);

    failure_notice_send_all(sides[1].engine, contexts[1], number, &notice);
    while (progress_poll(sides[1].engine, 0))
        ;
    for (uint32_t i = 2; i-- > 0;)
        assert_ok(engine_wait(ops[i], patience()));
    assert_int_equal(values[0], 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_TEST_WITH(shm_pair_set_up,
                        other_call_is_named_and_nothing_written),
        SIDES_TEST_WITH(shm_pair_set_up, call_that_is_not_flat_is_named_too),
        SIDES_TEST_WITH(shm_pair_set_up_checked,
                        call_that_is_not_flat_is_named_too),
        SIDES_TEST_WITH(shm_pair_set_up,
                        two_calls_behind_one_by_frames_look_at_sockets),
        SIDES_TEST_WITH(shm_pair_set_up, two_roots_are_found_out),
        cmocka_unit_test_setup_teardown(rank_that_never_comes_is_named,
                                        shm_pair_set_up, engine_pair_tear_down),
        cmocka_unit_test_setup_teardown(
            slots_of_what_failed_are_free_for_the_next, shm_pair_set_up,
            engine_pair_tear_down),
        SIDES_TEST_WITH(shm_pair_set_up,
                        one_that_is_cancelled_lets_the_next_go_on),
        SIDES_TEST_WITH(shm_pair_set_up, rank_that_left_is_named),
        cmocka_unit_test_setup_teardown(what_was_posted_before_the_end_counts,
                                        shm_pair_set_up_idle,
                                        engine_pair_tear_down),
        cmocka_unit_test_setup_teardown(
            who_dies_telling_of_another_is_read_to_its_end,
            shm_pair_set_up_idle, engine_pair_tear_down),
        cmocka_unit_test_setup_teardown(
            call_without_memory_for_an_operation_fails_on_all_members,
            shm_pair_set_up_idle, engine_pair_tear_down),
        cmocka_unit_test_setup_teardown(
            rank_that_awaits_a_failure_notice_may_sleep, shm_pair_set_up_idle,
            engine_pair_tear_down),
        SIDES_TEST_WITH(shm_pair_set_up, context_is_closed_amid_a_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
