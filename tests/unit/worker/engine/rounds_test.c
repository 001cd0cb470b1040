/* tests/unit/worker/engine/rounds_test.c - engine/rounds.c and assembly.c */

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "check.h"
#include "couple.h"
#include "plan/algorithms.h"
#include "transport/hall.h"

enum {
    N_SLOT = 4096,
    N_VALUES = 3 * N_SLOT / 4 + 5, /* several rounds */
    N_TIMES = 500,
    N_STARTED = 8,
};

static const uint64_t SOON_NS = 5000000000;

static struct couple couple;

/* Channels 0 and 1 of both get a hall. */
static void
halls_enter(void)
{
    struct bell_place bells[2];

    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(engine_bell(couple.sides[i].engine, &bells[i]),
                         HOOP_OK);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(
            engine_reach_bell(couple.sides[i].engine, 1 - i, &bells[1 - i]),
            HOOP_OK);
    for (unsigned k = 0; k < 2; k++) {
        struct memory_place place;
        struct hall *halls[2];

        assert_int_equal(hall_create(2, N_SLOT, &place, &halls[0]), HOOP_OK);
        assert_int_equal(hall_open(&place, 1, 2, &halls[1]), HOOP_OK);
        hall_seal_off(halls[0]);
        for (uint32_t i = 0; i < 2; i++)
            channel_enter(couple.sides[i].comms[k].channel, halls[i]);
    }
}

static int
couple_set_up(void **state)
{
    (void)state;
    couple_open(&couple);
    couple_connect(&couple);
    halls_enter();
    couple_start_backgrounds(&couple);
    return 0;
}

/* All calls are compared before anything else. */
static int
couple_set_up_checked(void **state)
{
    (void)state;
    couple_open_checking(&couple, ENGINE_CHECK_FIRST);
    couple_connect(&couple);
    halls_enter();
    couple_start_backgrounds(&couple);
    return 0;
}

static int
couple_tear_down(void **state)
{
    (void)state;
    couple_close(&couple);
    return 0;
}

static bool
says(const char *phrase)
{
    return strstr(error_text(), phrase) != NULL;
}

static struct engine_collective
sum_of(const struct channel *channel, int32_t *values, size_t count)
{
    return (struct engine_collective){
        .call = {.name = CALL_ALLREDUCE,
                 .dtype = HOOP_INT32,
                 .reduce_op = HOOP_SUM,
                 .count = count},
        .algorithm = &algorithm_allreduce_flat,
        .shape = {.rank = channel_rank(channel),
                  .size = 2,
                  .is_in_place = true,
                  .count = count,
                  .granule = 16,
                  .n_slot = channel_slot_bytes(channel) / 4},
        .input = values,
        .output = values,
    };
}

/* By the shortcut, or not, in turns: the ranks need not agree. */
static enum hoop_status
flat_run(struct engine_collective collective, struct channel *channel)
{
    static _Thread_local unsigned n_calls;
    struct op *op = NULL;

    collective.mode = ENGINE_START_AND_WAIT;
    if (n_calls++ % 3 != 2)
        return engine_run(channel, &collective);
    const enum hoop_status status = engine_start(channel, &collective, &op);
    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER) : status;
}

static enum hoop_status
flat_sum(struct channel *channel, int32_t *values, size_t count)
{
    return flat_run(sum_of(channel, values, count), channel);
}

static int
side_sums(struct side *side)
{
    static const size_t counts[] = {1, 8, 9, N_SLOT / 4, N_VALUES, 0};
    int32_t values[N_VALUES];

    for (int i = 0; i < N_TIMES; i++) {
        const size_t count = counts[i % 6];

        for (size_t k = 0; k < count; k++)
            values[k] = (int32_t)(side->rank + 1) * (i + (int)k);
        SIDE_CHECK(flat_sum(side->comms[i % 2].channel, values, count) ==
                   HOOP_OK);
        for (size_t k = 0; k < count; k++)
            SIDE_CHECK(values[k] == 3 * (i + (int)k));
        /* Others in between are not concerned. */
        if (i % 5 == 0)
            SIDE_CHECK(sum_run(side->comms[0].channel, values, 1) == HOOP_OK);
    }
    return 0;
}

static void
sums_of_any_size_are_right(void **state)
{
    struct engine_stats stats;

    (void)state;
    couple_run(&couple, side_sums);
    engine_stats(couple.sides[0].engine, &stats);
    assert_int_equal(stats.operations, N_TIMES + N_TIMES / 5);
    assert_true(stats.transport.bytes_sent > N_TIMES * 4);
    assert_int_equal(stats.transport.bytes_sent,
                     stats.transport.bytes_received);
}

/* Started at once, and waited for backwards; rank 1 is late. */
static int
side_starts(struct side *side)
{
    int32_t values[N_STARTED][N_SLOT / 4];
    struct op *ops[N_STARTED];
    struct channel *channel = side->comms[0].channel;

    if (side->rank == 1)
        SIDE_CHECK(sum_run(side->comms[2].channel, values[0], 1) == HOOP_OK);
    for (int i = 0; i < N_STARTED; i++) {
        values[i][0] = i;
        const struct engine_collective sum =
            sum_of(channel, values[i], i % 2 ? 1 : N_SLOT / 4);
        SIDE_CHECK(engine_start(channel, &sum, &ops[i]) == HOOP_OK);
    }
    if (side->rank == 0)
        SIDE_CHECK(sum_run(side->comms[2].channel, values[0] + 1, 1) ==
                   HOOP_OK);
    for (int i = N_STARTED; i-- > 0;) {
        SIDE_CHECK(engine_wait(ops[i], patience()) == HOOP_OK);
        SIDE_CHECK(values[i][0] == 2 * i);
    }
    return 0;
}

static void
many_that_are_started_run_in_order(void **state)
{
    (void)state;
    couple_run(&couple, side_starts);
}

/* Rank 0 sleeps in it, until rank 1 comes much later than anybody spins. */
static int
side_waits(struct side *side)
{
    for (int i = 0; i < 3; i++) {
        int32_t value = 1;

        if (side->rank == 1) {
            const uint64_t until_ns = clock_now_ns() + 3000000;

            while (clock_now_ns() < until_ns)
                ;
        }
        const uint64_t begin_ns = clock_now_ns();
        SIDE_CHECK(flat_sum(side->comms[0].channel, &value, 1) == HOOP_OK);
        SIDE_CHECK(value == 2);
        SIDE_CHECK(clock_now_ns() - begin_ns < SOON_NS);
    }
    return 0;
}

static void
who_sleeps_in_a_hall_is_woken(void **state)
{
    (void)state;
    couple_run(&couple, side_waits);
}

/* Alike but for the count; nothing is written. */
static int
side_differs(struct side *side)
{
    int32_t values[2] = {41, 42};

    SIDE_CHECK(flat_sum(side->comms[0].channel, values, 1 + side->rank) ==
               HOOP_E_MISMATCH);
    SIDE_CHECK(says("1 elements") && says("2 elements"));
    SIDE_CHECK(values[0] == 41 && values[1] == 42);
    SIDE_CHECK(flat_sum(side->comms[0].channel, values, 2) == HOOP_OK);
    SIDE_CHECK(values[1] == 84);
    return 0;
}

static void
other_call_is_named_and_nothing_written(void **state)
{
    (void)state;
    couple_run(&couple, side_differs);
}

/* One is flat, the other goes through frames. */
static int
side_differs_in_kind(struct side *side)
{
    struct channel *channel = side->comms[0].channel;
    int32_t values[2] = {41, 42};

    const enum hoop_status status = side->rank == 0
                                        ? flat_sum(channel, values, 1)
                                        : sum_run(channel, values, 2);
    SIDE_CHECK(status == HOOP_E_MISMATCH);
    SIDE_CHECK(says("1 elements") && says("2 elements"));
    SIDE_CHECK(values[0] == 41 && values[1] == 42);
    SIDE_CHECK(flat_sum(channel, values, 2) == HOOP_OK);
    return 0;
}

static void
call_that_is_not_flat_is_named_too(void **state)
{
    (void)state;
    couple_run(&couple, side_differs_in_kind);
}

/* A root that only posts is through before the others come. */
static int
side_roots(struct side *side)
{
    struct channel *channel = side->comms[0].channel;
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
                  .n_slot = channel_slot_bytes(channel) / 4},
        .input = &value,
        .output = &value,
    };

    if (flat_run(broadcast, channel) == HOOP_OK) {
        int32_t next = 1;

        SIDE_CHECK(flat_sum(channel, &next, 1) == HOOP_E_MISMATCH);
    }
    SIDE_CHECK(says("root 0") && says("root 1"));
    SIDE_CHECK(value == (int32_t)side->rank);
    return 0;
}

static void
two_roots_are_found_out(void **state)
{
    (void)state;
    couple_run(&couple, side_roots);
}

static int
side_is_alone(struct side *side)
{
    struct channel *channel = side->comms[0].channel;
    int32_t value = 1;

    if (side->rank == 0) {
        channel_set_timeout(channel, 300);
        SIDE_CHECK(flat_sum(channel, &value, 1) == HOOP_E_TIMEOUT);
        SIDE_CHECK(says("waiting for rank 1") && says("has not called"));
        channel_set_timeout(channel, 30000);
    } else {
        const uint64_t until_ns = clock_now_ns() + 1500000000;
        while (clock_now_ns() < until_ns)
            engine_turn_idle(side->engine);
        SIDE_CHECK(flat_sum(channel, &value, 1) == HOOP_E_TIMEOUT);
    }
    SIDE_CHECK(flat_sum(channel, &value, 1) == HOOP_OK);
    SIDE_CHECK(value == 2);
    return 0;
}

static void
rank_that_never_comes_is_named(void **state)
{
    (void)state;
    couple_run(&couple, side_is_alone);
}

static int
side_cancels(struct side *side)
{
    struct channel *channel = side->comms[0].channel;
    int32_t values[2] = {1, 1};

    if (side->rank == 0) {
        struct op *ops[2];

        for (unsigned i = 0; i < 2; i++) {
            const struct engine_collective sum = sum_of(channel, &values[i], 1);
            SIDE_CHECK(engine_start(channel, &sum, &ops[i]) == HOOP_OK);
        }
        engine_cancel(ops[0]);
        /* Unless rank 1 was faster. */
        (void)!engine_wait(ops[0], patience());
        SIDE_CHECK(engine_wait(ops[1], patience()) == HOOP_OK);
    } else {
        /* What rank 0 has published stays, or the news was faster. */
        if (flat_sum(channel, &values[0], 1) != HOOP_OK)
            SIDE_CHECK(values[0] == 1);
        SIDE_CHECK(flat_sum(channel, &values[1], 1) == HOOP_OK);
    }
    SIDE_CHECK(values[1] == 2);
    return 0;
}

static void
one_that_is_cancelled_lets_the_next_go_on(void **state)
{
    (void)state;
    couple_run(&couple, side_cancels);
}

/* Rank 1 leaves; what it had published before is good. */
static int
side_leaves(struct side *side)
{
    int32_t value = 1;

    SIDE_CHECK(flat_sum(side->comms[0].channel, &value, 1) == HOOP_OK);
    if (side->rank == 1) {
        engine_leave(side->engine, patience());
        return 0;
    }
    SIDE_CHECK(flat_sum(side->comms[0].channel, &value, 1) == HOOP_E_PEER_LOST);
    SIDE_CHECK(says("rank 1") && says("left"));
    engine_leave(side->engine, patience());
    return 0;
}

static void
rank_that_left_is_named(void **state)
{
    (void)state;
    couple_run(&couple, side_leaves);
}

static int
side_is_freed(struct side *side)
{
    struct channel *channel = side->comms[1].channel;
    int32_t value = 1;

    if (side->rank == 0) {
        struct op *op;
        const struct engine_collective sum = sum_of(channel, &value, 1);

        SIDE_CHECK(engine_start(channel, &sum, &op) == HOOP_OK);
        channel_close(channel);
        /* Unless rank 1 was faster. */
        const enum hoop_status status = engine_wait(op, patience());
        SIDE_CHECK(status == HOOP_OK || status == HOOP_E_CLOSED);
    } else {
        const enum hoop_status status = flat_sum(channel, &value, 1);

        /* Its post had been published. */
        SIDE_CHECK(status == HOOP_OK || status == HOOP_E_PEER_LOST);
    }
    SIDE_CHECK(flat_sum(side->comms[0].channel, &value, 1) == HOOP_OK);
    return 0;
}

static void
channel_is_closed_amid_a_round(void **state)
{
    (void)state;
    couple_run(&couple, side_is_freed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_of_any_size_are_right,
                                        couple_set_up, couple_tear_down),
        cmocka_unit_test_setup_teardown(many_that_are_started_run_in_order,
                                        couple_set_up, couple_tear_down),
        cmocka_unit_test_setup_teardown(many_that_are_started_run_in_order,
                                        couple_set_up_checked,
                                        couple_tear_down),
        cmocka_unit_test_setup_teardown(who_sleeps_in_a_hall_is_woken,
                                        couple_set_up, couple_tear_down),
        cmocka_unit_test_setup_teardown(other_call_is_named_and_nothing_written,
                                        couple_set_up, couple_tear_down),
        cmocka_unit_test_setup_teardown(call_that_is_not_flat_is_named_too,
                                        couple_set_up, couple_tear_down),
        cmocka_unit_test_setup_teardown(call_that_is_not_flat_is_named_too,
                                        couple_set_up_checked,
                                        couple_tear_down),
        cmocka_unit_test_setup_teardown(two_roots_are_found_out, couple_set_up,
                                        couple_tear_down),
        cmocka_unit_test_setup_teardown(rank_that_never_comes_is_named,
                                        couple_set_up, couple_tear_down),
        cmocka_unit_test_setup_teardown(
            one_that_is_cancelled_lets_the_next_go_on, couple_set_up,
            couple_tear_down),
        cmocka_unit_test_setup_teardown(rank_that_left_is_named, couple_set_up,
                                        couple_tear_down),
        cmocka_unit_test_setup_teardown(channel_is_closed_amid_a_round,
                                        couple_set_up, couple_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
