/* tests/unit/worker/engine/executor_test.c - engine/executor.c */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "base/error.h"
#include "couple_scene.h"

static int
sum_of(struct side *side, size_t count)
{
    int32_t *values = malloc((count + 1) * sizeof(*values));
    int wrong = 0;

    for (size_t i = 0; i < count; i++)
        values[i] = (int32_t)i * (int32_t)(side->rank + 1);
    values[count] = -1;
    SIDE_CHECK(sum_run(side->comms[0].context, values, count) == HOOP_OK);
    for (size_t i = 0; i < count; i++)
        wrong |= values[i] != 3 * (int32_t)i;
    wrong |= values[count] != -1;
    free(values);
    return wrong ? __LINE__ : 0;
}

static int
side_sums(struct side *side)
{
    static const size_t counts[] = {0,  1,   2,    15,    16,    17,
                                    31, 255, 4097, 20000, 500001};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const int line = sum_of(side, counts[i]);
        SIDE_CHECK(line == 0);
    }
    return 0;
}

static void
sums_of_every_size_are_right(void **state)
{
    (void)state;
    couple_run(&couple, side_sums);
}

static int
side_average(struct side *side)
{
    float input[1000];
    float output[1000];
    struct comm_context *context = side->comms[1].context;
    struct op *op = NULL;
    const struct engine_collective average = {
        .call = {.name = CALL_ALLREDUCE,
                 .dtype = HOOP_FLOAT32,
                 .reduce_op = HOOP_AVG,
                 .count = 1000},
        .algorithm = &algorithm_allreduce_ring,
        .shape = {.rank = side->rank, .size = 2, .count = 1000, .granule = 16},
        .input = input,
        .output = output,
        .mode = ENGINE_START_AND_WAIT,
    };

    for (unsigned i = 0; i < 1000; i++)
        input[i] = (float)(i * (2 * side->rank + 1));
    SIDE_CHECK(engine_start_collective(context, &average, &op) == HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
    for (unsigned i = 0; i < 1000; i++) {
        SIDE_CHECK(output[i] == (float)(2 * i));
        SIDE_CHECK(input[i] == (float)(i * (2 * side->rank + 1)));
    }
    return 0;
}

static void
average_out_of_place_divides_once_and_keeps_the_input(void **state)
{
    (void)state;
    couple_run(&couple, side_average);
}

enum {
    N_OPS = 20,
    N_VALUES = 3000,
};

static int
side_many(struct side *side)
{
    static int32_t values[2][N_OPS][N_VALUES];
    struct op *ops[N_OPS];

    for (unsigned k = 0; k < N_OPS; k++) {
        for (int32_t i = 0; i < N_VALUES; i++)
            values[side->rank][k][i] = i + (int32_t)k;
        SIDE_CHECK(sum_start(side->comms[0].context, values[side->rank][k],
                             N_VALUES, &ops[k]) == HOOP_OK);
    }
    /* In any order; here the last is waited for first. */
    for (unsigned k = N_OPS; k-- > 0;)
        SIDE_CHECK(engine_wait(ops[k], patience()) == HOOP_OK);
    for (unsigned k = 0; k < N_OPS; k++) {
        for (int32_t i = 0; i < N_VALUES; i++)
            SIDE_CHECK(values[side->rank][k][i] == 2 * (i + (int32_t)k));
    }
    return 0;
}

static void
many_operations_on_one_context_run_at_once(void **state)
{
    (void)state;
    couple_run(&couple, side_many);
}

/* The sanitizer watches what is freed, and that nobody writes later. */
static void
operation_cut_off_in_the_middle_frees_everything(void **state)
{
    enum {
        COUNT = 1 << 20
    };
    int32_t *values = calloc(COUNT, sizeof(*values));
    int32_t *other = calloc(COUNT, sizeof(*other));
    struct op *op = NULL;
    struct op *other_op = NULL;

    (void)state;
    assert_int_equal(
        sum_start(couple.sides[0].comms[0].context, values, COUNT, &op),
        HOOP_OK);
    assert_int_equal(
        sum_start(couple.sides[1].comms[0].context, other, COUNT, &other_op),
        HOOP_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(engine_wait(op, 0), HOOP_E_PENDING);
        assert_int_equal(engine_wait(other_op, 0), HOOP_E_PENDING);
    }
    engine_declare_dead(couple.sides[0].engine, 1, "shot");
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    free(values);
    /* Rank 1 hears of it from rank 0, or sees its stream end. */
    engine_shutdown(couple.sides[0].engine, 0);
    engine_declare_dead(couple.sides[1].engine, 0, "it has gone");
    assert_int_equal(engine_wait(other_op, patience()), HOOP_E_PEER_LOST);
    free(other);
}

static void
rank_alone_copies_or_does_nothing(void **state)
{
    struct comm_context *alone = couple.sides[1].alone.context;
    int32_t values[] = {4, 5, 6};

    (void)state;
    assert_int_equal(sum_run(alone, values, 3), HOOP_OK);
    assert_int_equal(values[0], 4);
    assert_int_equal(values[2], 6);
    assert_int_equal(sum_run(alone, NULL, 0), HOOP_OK);
}

/* Rank 1 gives a block of count elements, and gets two back: one of rank 0's
 * own, and that. */
static uint32_t
there_and_back_n_rounds(const struct plan_shape *shape)
{
    (void)shape;
    return 2;
}

static void
there_and_back_round(struct plan *plan,
                     const struct plan_shape *shape,
                     uint32_t round)
{
    const size_t count = shape->count;
    const struct plan_span given = {PLAN_OUTPUT, count, count};
    const struct plan_span both = {PLAN_OUTPUT, 0, 2 * count};
    const bool is_sender = (round == 0) == (shape->rank == 1);
    const struct plan_span span = round == 0 ? given : both;

    if (is_sender)
        plan_add_send(plan, 1 - shape->rank, round, span);
    else
        plan_add_store(plan, 1 - shape->rank, round, span);
}

static const struct algorithm there_and_back = {
    .name = "there_and_back",
    .n_rounds = there_and_back_n_rounds,
    .plan_round = there_and_back_round,
};

static struct op *
there_and_back_start(struct side *side, uint8_t *bytes, size_t count)
{
    struct op *op = NULL;
    const struct engine_collective collective = {
        .call = {.name = CALL_ALLGATHER, .dtype = HOOP_UINT8, .count = count},
        .algorithm = &there_and_back,
        .shape = {.rank = side->rank, .size = 2, .count = count, .granule = 1},
        .input = bytes,
        .output = bytes,
        .mode = ENGINE_START,
    };

    assert_int_equal(
        engine_start_collective(side->comms[0].context, &collective, &op),
        HOOP_OK);
    return op;
}

/* What rank 0 sends before rank 1 has given anything, and what of it is not
 * right in the end. */
static uint64_t
bytes_sent_ahead(size_t count)
{
    uint8_t *bytes[2] = {calloc(2, count), calloc(2, count)};
    struct engine_stats stats;

    bytes[0][count - 1] = 5;
    bytes[1][2 * count - 1] = 6;
    struct op *op = there_and_back_start(&couple.sides[0], bytes[0], count);
    engine_stats(couple.sides[0].engine, &stats);
    struct op *other = there_and_back_start(&couple.sides[1], bytes[1], count);
    while (engine_wait(op, 0) == HOOP_E_PENDING)
        (void)engine_wait(other, 0);
    assert_int_equal(engine_wait(other, patience()), HOOP_OK);
    assert_int_equal(bytes[1][count - 1], 5);
    assert_memory_equal(bytes[0], bytes[1], 2 * count);
    free(bytes[0]);
    free(bytes[1]);
    return stats.transport.bytes_sent;
}

static void
little_message_leaves_when_it_is_complete(void **state)
{
    (void)state;
    assert_int_equal(bytes_sent_ahead(4096), 0);
}

static void
large_message_leaves_as_far_as_it_is_ready(void **state)
{
    (void)state;
    assert_true(bytes_sent_ahead(100000) > 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(sums_of_every_size_are_right),
        COUPLE_TEST(average_out_of_place_divides_once_and_keeps_the_input),
        COUPLE_TEST(many_operations_on_one_context_run_at_once),
        COUPLE_TEST(operation_cut_off_in_the_middle_frees_everything),
        COUPLE_TEST(little_message_leaves_when_it_is_complete),
        COUPLE_TEST(large_message_leaves_as_far_as_it_is_ready),
        COUPLE_TEST(rank_alone_copies_or_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
