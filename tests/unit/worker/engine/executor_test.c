/* tests/unit/worker/engine/executor_test.c - engine/executor.c */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "check.h"
#include "couple.h"
#include "plan/algorithms.h"

static struct couple couple;

static int
couple_set_up(void **state)
{
    (void)state;
    couple_open(&couple);
    couple_connect(&couple);
    return 0;
}

static int
couple_tear_down(void **state)
{
    (void)state;
    couple_close(&couple);
    return 0;
}

static int
sum_of(struct side *side, size_t count)
{
    int32_t *values = malloc((count + 1) * sizeof(*values));
    int wrong = 0;

    for (size_t i = 0; i < count; i++)
        values[i] = (int32_t)i * (int32_t)(side->rank + 1);
    values[count] = -1;
    SIDE_CHECK(sum_run(side->comms[0].channel, values, count) == HOOP_OK);
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
    struct channel *channel = side->comms[1].channel;
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
    SIDE_CHECK(engine_start(channel, &average, &op) == HOOP_OK);
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
        SIDE_CHECK(sum_start(side->comms[0].channel, values[side->rank][k],
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
many_operations_on_one_channel_run_at_once(void **state)
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
        sum_start(couple.sides[0].comms[0].channel, values, COUNT, &op),
        HOOP_OK);
    assert_int_equal(
        sum_start(couple.sides[1].comms[0].channel, other, COUNT, &other_op),
        HOOP_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(engine_wait(op, 0), HOOP_E_PENDING);
        assert_int_equal(engine_wait(other_op, 0), HOOP_E_PENDING);
    }
    engine_condemn(couple.sides[0].engine, 1, "shot");
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    free(values);
    /* Rank 1 hears of it from rank 0, or sees its stream end. */
    engine_leave(couple.sides[0].engine, 0);
    engine_condemn(couple.sides[1].engine, 0, "it has gone");
    assert_int_equal(engine_wait(other_op, patience()), HOOP_E_PEER_LOST);
    free(other);
}

static void
rank_alone_copies_or_does_nothing(void **state)
{
    struct channel *alone = couple.sides[1].alone.channel;
    int32_t values[] = {4, 5, 6};

    (void)state;
    assert_int_equal(sum_run(alone, values, 3), HOOP_OK);
    assert_int_equal(values[0], 4);
    assert_int_equal(values[2], 6);
    assert_int_equal(sum_run(alone, NULL, 0), HOOP_OK);
}

#define COUPLE_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, couple_set_up, couple_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(sums_of_every_size_are_right),
        COUPLE_TEST(average_out_of_place_divides_once_and_keeps_the_input),
        COUPLE_TEST(many_operations_on_one_channel_run_at_once),
        COUPLE_TEST(operation_cut_off_in_the_middle_frees_everything),
        COUPLE_TEST(rank_alone_copies_or_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
