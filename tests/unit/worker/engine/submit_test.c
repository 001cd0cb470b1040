/* tests/unit/worker/engine/submit_test.c - engine/submit.c */

#include <stdio.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "base/error.h"
#include "couple_scene.h"
#include "engine/op.h"

static void
operations_are_numbered_in_the_order_of_their_start(void **state)
{
    struct comm_context *alone = couple.sides[0].alone.context;
    struct op *ops[5];
    int32_t value = 1;

    (void)state;
    for (uint64_t i = 0; i < 5; i++) {
        assert_int_equal(sum_start(alone, &value, 1, &ops[i]), HOOP_OK);
        assert_int_equal(ops[i]->number, i + 1);
    }
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(engine_wait(ops[i], patience()), HOOP_OK);
}

static void
messages_are_numbered_apart_from_collectives(void **state)
{
    struct comm_context *context = couple.sides[0].comms[0].context;
    struct op *first = NULL;
    struct op *second = NULL;
    struct op *receive = NULL;
    char bytes[4];

    (void)state;
    assert_int_equal(send_start(context, "a", 1, 1, &first), HOOP_OK);
    assert_int_equal(send_start(context, "b", 1, 2, &second), HOOP_OK);
    assert_int_equal(message_user_number(first->number), 1);
    assert_int_equal(message_user_number(second->number), 2);
    assert_int_equal(engine_wait(first, patience()), HOOP_OK);
    assert_int_equal(engine_wait(second, patience()), HOOP_OK);

    context = couple.sides[1].comms[0].context;
    assert_int_equal(receive_start(context, bytes, 4, 2, &receive), HOOP_OK);
    assert_int_equal(engine_wait(receive, patience()), HOOP_OK);
    assert_int_equal(bytes[0], 'b');
    assert_int_equal(receive_start(context, bytes, 4, 1, &receive), HOOP_OK);
    assert_int_equal(engine_wait(receive, patience()), HOOP_OK);
    assert_int_equal(bytes[0], 'a');
}

static void
operation_that_needs_nobody_is_done_when_its_start_returns(void **state)
{
    struct comm_context *alone = couple.sides[0].alone.context;
    struct op *op = NULL;
    int32_t value = 3;

    (void)state;
    assert_int_equal(sum_start(alone, &value, 1, &op), HOOP_OK);
    assert_true(atomic_load(&op->is_done));
    assert_int_equal(engine_wait(op, 0), HOOP_OK);
    assert_int_equal(value, 3);
}

static void
counts_are_copied_when_an_operation_starts(void **state)
{
    size_t counts[] = {2};
    int32_t input[] = {7, 8};
    int32_t output[] = {0, 0};
    struct op *op = NULL;
    const struct engine_collective gather = {
        .call = {.name = CALL_ALLGATHERV,
                 .dtype = HOOP_INT32,
                 .count = 2,
                 .counts = counts,
                 .n_counts = 1},
        .algorithm = &algorithm_allgather_ring,
        .shape = {.size = 1, .counts = counts, .granule = 16},
        .input = input,
        .output = output,
        /* Not begun before somebody waits. */
        .mode = ENGINE_START_AND_WAIT,
    };

    (void)state;
    assert_int_equal(
        engine_start_collective(couple.sides[0].alone.context, &gather, &op),
        HOOP_OK);
    assert_false(atomic_load(&op->is_done));
    counts[0] = SIZE_MAX;
    assert_int_equal(engine_wait(op, patience()), HOOP_OK);
    assert_int_equal(output[0], 7);
    assert_int_equal(output[1], 8);
}

/* A spare keeps nothing of what it did before. */
static void
spare_operation_begins_anew(void **state)
{
    struct comm_context *context = couple.sides[0].comms[0].context;
    struct op *op = NULL;
    int32_t value = 3;

    (void)state;
    context_set_timeout(context, 20);
    assert_int_equal(sum_run(context, &value, 1), HOOP_E_TIMEOUT);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(
            sum_start(couple.sides[0].alone.context, &value, 1, &op), HOOP_OK);
        assert_int_equal(engine_wait(op, patience()), HOOP_OK);
        assert_int_equal(send_start(context, "x", 1, 1, &op), HOOP_OK);
        assert_int_equal(engine_wait(op, patience()), HOOP_OK);
    }
    assert_int_equal(value, 3);
}

static int
side_ping_pong(struct side *side)
{
    struct comm_context *context = side->comms[2].context;

    for (unsigned i = 0; i < 200; i++) {
        char bytes[32] = "";
        char expected[32];
        struct op *in = NULL;
        struct op *out = NULL;

        snprintf(expected, sizeof(expected), "ball %u", i);
        SIDE_CHECK(receive_start(context, bytes, 32, 9, &in) == HOOP_OK);
        SIDE_CHECK(send_start(context, expected, 32, 9, &out) == HOOP_OK);
        SIDE_CHECK(engine_wait(out, patience()) == HOOP_OK);
        SIDE_CHECK(engine_wait(in, patience()) == HOOP_OK);
        SIDE_CHECK(strcmp(bytes, expected) == 0);
    }
    return 0;
}

static void
messages_cross_in_both_directions(void **state)
{
    (void)state;
    couple_run(&couple, side_ping_pong);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(operations_are_numbered_in_the_order_of_their_start),
        COUPLE_TEST(messages_are_numbered_apart_from_collectives),
        COUPLE_TEST(operation_that_needs_nobody_is_done_when_its_start_returns),
        COUPLE_TEST(counts_are_copied_when_an_operation_starts),
        COUPLE_TEST(spare_operation_begins_anew),
        COUPLE_TEST(messages_cross_in_both_directions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
