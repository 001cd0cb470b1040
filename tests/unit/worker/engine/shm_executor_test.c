/* tests/unit/worker/engine/shm_executor_test.c - engine/shm_executor.c and
 * shm_queue.c */

#include <sched.h>
#include <stdatomic.h>

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "check.h"
#include "engine/progress.h"
#include "engine/state.h"
#include "shm_engine_pair.h"
#include "transport/sequence.h"
#include "unbounded_sleep.h"

enum {
    N_VALUES = 3 * FLAT_SLOT / 4 + 5, /* several rounds */
    N_TIMES = 500,
    N_STARTED = 8,
    N_SLEEPS = 10,
};

static int
side_sums(struct side *side)
{
    static const size_t counts[] = {1, 8, 9, FLAT_SLOT / 4, N_VALUES, 0};
    int32_t values[N_VALUES];

    for (int i = 0; i < N_TIMES; i++) {
        const size_t count = counts[i % 6];

        for (size_t k = 0; k < count; k++)
            values[k] = (int32_t)(side->rank + 1) * (i + (int)k);
        SIDE_CHECK(flat_sum(side->comms[i % 2].context, values, count) ==
                   HOOP_OK);
        for (size_t k = 0; k < count; k++)
            SIDE_CHECK(values[k] == 3 * (i + (int)k));
        /* Others in between are not concerned. */
        if (i % 5 == 0)
            SIDE_CHECK(sum_run(side->comms[0].context, values, 1) == HOOP_OK);
    }
    return 0;
}

static void
sums_of_any_size_are_right(void **state)
{
    struct engine_stats stats;

    engine_pair_run(&engine_pair, side_sums);
    engine_stats(engine_pair.sides[0].engine, &stats);
    assert_int_equal(stats.operations, N_TIMES + N_TIMES / 5);
    assert_true(stats.transport.bytes_sent > N_TIMES * 4);
    assert_int_equal(stats.transport.bytes_sent,
                     stats.transport.bytes_received);
}

/* Started at once, and waited for backwards; rank 1 is late. */
static int
many_that_are_started_run_in_order(struct side *side)
{
    int32_t values[N_STARTED][FLAT_SLOT / 4];
    struct op *ops[N_STARTED];
    struct comm_context *context = side->comms[0].context;

    if (side->rank == 1)
        SIDE_CHECK(sum_run(side->comms[2].context, values[0], 1) == HOOP_OK);
    for (int i = 0; i < N_STARTED; i++) {
        values[i][0] = i;
        const struct engine_collective sum =
            flat_sum_of(context, values[i], i % 2 ? 1 : FLAT_SLOT / 4);
        SIDE_CHECK(engine_start_collective(context, &sum, &ops[i]) == HOOP_OK);
    }
    if (side->rank == 0)
        SIDE_CHECK(sum_run(side->comms[2].context, values[0] + 1, 1) ==
                   HOOP_OK);
    for (int i = N_STARTED; i-- > 0;) {
        SIDE_CHECK(engine_wait(ops[i], patience()) == HOOP_OK);
        SIDE_CHECK(values[i][0] == 2 * i);
    }
    return 0;
}

/* Calls that rank 0 has begun. */
static atomic_int n_begun;

/* Rank 1 comes when rank 0 sleeps, or much later than anybody spins. */
static void
come_late(int n_before)
{
    const uint64_t deadline_ns = patience();

    while (atomic_load(&n_begun) <= n_before && !clock_is_past(deadline_ns))
        sched_yield();
    const uint64_t asleep_by_ns = clock_deadline_ns(200);
    while (!atomic_load(&engine_pair.sides[0].engine->progress.is_sleeping) &&
           !clock_is_past(asleep_by_ns))
        sched_yield();
    const uint64_t until_ns = clock_now_ns() + 3000000;
    while (clock_now_ns() < until_ns)
        ;
}

/* Rank 0 sleeps in it until it is woken. */
static int
side_waits(struct side *side)
{
    for (int i = 0; i < N_SLEEPS; i++) {
        int32_t value = 1;

        if (side->rank == 1)
            come_late(i);
        else
            atomic_store(&n_begun, i + 1);
        SIDE_CHECK(flat_sum(side->comms[0].context, &value, 1) == HOOP_OK);
        SIDE_CHECK(value == 2);
    }
    return 0;
}

static void
who_sleeps_in_a_hall_is_woken(void **state)
{
    atomic_store(&n_begun, 0);
    atomic_store(&unbounded_sleep_ignores_deadlines, true);
    engine_pair_run(&engine_pair, side_waits);
    atomic_store(&unbounded_sleep_ignores_deadlines, false);
}

/* More rounds than a sequence counts: a slot holds one element. */
static int
operation_may_have_any_number_of_rounds(struct side *side)
{
    enum {
        N_ROUNDS = 3 * SEQUENCE_N_ROUNDS + 5
    };
    static int32_t values[2][N_ROUNDS];
    struct comm_context *context = side->comms[0].context;
    int32_t *own = values[side->rank];
    struct engine_collective sum = flat_sum_of(context, own, N_ROUNDS);

    sum.shape.slot_capacity = 1;
    for (int i = 0; i < N_ROUNDS; i++)
        own[i] = (int32_t)(side->rank + 1) * i;
    SIDE_CHECK(flat_run(sum, context) == HOOP_OK);
    for (int i = 0; i < N_ROUNDS; i++)
        SIDE_CHECK(own[i] == 3 * i);
    return 0;
}

/* What a round has combined is posted by the next: all ranks have it. */
static int
what_a_round_makes_is_posted_by_the_next(struct side *side)
{
    int32_t own[N_VALUES];
    int32_t results[N_VALUES];
    struct comm_context *context = side->comms[0].context;

    for (int i = 0; i < N_TIMES / 5; i++) {
        const size_t count = N_VALUES - (size_t)i;
        struct engine_collective sum = flat_sum_of(context, own, count);

        sum.algorithm = &algorithm_allreduce_flat_blocks;
        sum.call.reduce_op = i % 3 == 0 ? HOOP_AVG : HOOP_SUM;
        sum.shape.is_in_place = i % 2 == 0;
        sum.output = sum.shape.is_in_place ? own : results;
        for (size_t k = 0; k < count; k++)
            own[k] = 2 * (int32_t)(side->rank + 1) * (i + (int)k);
        SIDE_CHECK(flat_run(sum, context) == HOOP_OK);
        for (size_t k = 0; k < count; k++)
            SIDE_CHECK(((int32_t *)sum.output)[k] ==
                       (i % 3 == 0 ? 3 : 6) * (i + (int)k));
    }
    return 0;
}

/* What rank 1 found when it combined, each time. */
static struct {
    reduction_fn *reduce;
    unsigned n_locked;
    unsigned n_free;
} combinations;

static void
combine_and_look_at_lock(void *to,
                         const void *left,
                         const void *right,
                         size_t count)
{
    pthread_mutex_t *lock = &engine_pair.sides[1].engine->lock;

    if (pthread_mutex_trylock(lock) == 0) {
        pthread_mutex_unlock(lock);
        combinations.n_free++;
    } else {
        combinations.n_locked++;
    }
    combinations.reduce(to, left, right, count);
}

/* Rank 0 has posted when rank 1 calls, which is then through at once. */
static void
sum_when_the_other_has_posted(size_t count)
{
    static int32_t values[2][FLAT_SLOT / 4];
    struct comm_context *contexts[2] = {engine_pair.sides[0].comms[0].context,
                                        engine_pair.sides[1].comms[0].context};
    struct engine_collective sums[2];
    struct op *op = NULL;

    for (uint32_t i = 0; i < 2; i++) {
        sums[i] = flat_sum_of(contexts[i], values[i], count);
        for (size_t k = 0; k < count; k++)
            values[i][k] = (int32_t)(i + k);
    }
    assert_ok(engine_start_collective(contexts[0], &sums[0], &op));
    assert_ok(engine_run_collective(contexts[1], &sums[1]));
    assert_ok(engine_wait(op, patience()));
    for (size_t k = 0; k < count; k++) {
        assert_int_equal(values[0][k], 1 + 2 * k);
        assert_int_equal(values[1][k], 1 + 2 * k);
    }
}

/* The first of two like calls prepares, and the second combines as told. */
static void
look_at_lock_while_summing(size_t count)
{
    struct op *op = engine_pair.sides[1].comms[0].context->cached_op;

    sum_when_the_other_has_posted(count);
    combinations.reduce = op->run.reduce;
    combinations.n_locked = 0;
    combinations.n_free = 0;
    op->run.reduce = combine_and_look_at_lock;
    sum_when_the_other_has_posted(count);
}

static void
only_a_short_round_is_done_under_the_lock(void **state)
{
    progress_poll(engine_pair.sides[0].engine, 0);
    progress_poll(engine_pair.sides[1].engine, 0);
    look_at_lock_while_summing(1);
    assert_int_equal(combinations.n_locked, 1);
    assert_int_equal(combinations.n_free, 0);
    look_at_lock_while_summing(FLAT_SLOT / 4);
    assert_int_equal(combinations.n_locked, 0);
    assert_true(combinations.n_free > 0);
    assert_false(engine_pair.sides[1].engine->is_progress_owned);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_of_any_size_are_right,
                                        shm_pair_set_up, engine_pair_tear_down),
        SIDES_TEST_WITH(shm_pair_set_up, many_that_are_started_run_in_order),
        SIDES_TEST_WITH(shm_pair_set_up_checked,
                        many_that_are_started_run_in_order),
        cmocka_unit_test_setup_teardown(who_sleeps_in_a_hall_is_woken,
                                        shm_pair_set_up, engine_pair_tear_down),
        SIDES_TEST_WITH(shm_pair_set_up,
                        what_a_round_makes_is_posted_by_the_next),
        SIDES_TEST_WITH(shm_pair_set_up,
                        operation_may_have_any_number_of_rounds),
        cmocka_unit_test_setup_teardown(
            only_a_short_round_is_done_under_the_lock, shm_pair_set_up_idle,
            engine_pair_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
