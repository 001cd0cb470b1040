/* tests/unit/worker/engine/chain_test.c - engine/op_run.c, chains */

#include <stdlib.h>
#include <string.h>

#include "hoop/hoop.h"

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine_pair_fixture.h"

/* Sums a count first, then that many ones, then nothing. */
struct growing {
    struct comm_context *context;
    int32_t count;
    int32_t *values;
    uint32_t refused_at; /* a stage; 0: none */
    enum hoop_status finished_with;
    unsigned n_finished;
    unsigned n_destroyed;
};

static struct engine_collective
sum_of(const struct growing *growing, int32_t *values, size_t count)
{
    return (struct engine_collective){
        .call = {.name = CALL_ALLREDUCE,
                 .dtype = HOOP_INT32,
                 .reduce_op = HOOP_SUM,
                 .count = count},
        .algorithm = &algorithm_allreduce_ring,
        .shape = {.rank = context_rank(growing->context),
                  .size = context_size(growing->context),
                  .is_in_place = true,
                  .count = count,
                  .granule = 16},
        .input = values,
        .output = values,
    };
}

static enum hoop_status
growing_next(void *owner, uint32_t stage, struct engine_collective *out_next)
{
    struct growing *growing = owner;

    if (stage == growing->refused_at)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the second stage");
    if (stage > 1)
        return HOOP_OK;
    growing->values = calloc((size_t)growing->count + 1, sizeof(int32_t));
    for (int32_t i = 0; growing->values && i < growing->count; i++)
        growing->values[i] = 1;
    *out_next = sum_of(growing, growing->values, (size_t)growing->count);
    return HOOP_OK;
}

/* The values are there still: destroy comes later. */
static enum hoop_status
growing_finish(void *owner)
{
    struct growing *growing = owner;
    const int32_t size = (int32_t)context_size(growing->context);

    growing->n_finished++;
    for (int32_t i = 0; i < growing->count; i++) {
        if (growing->values[i] != size)
            return error_raise(HOOP_E_INTERNAL, "not the sum of ones");
    }
    return growing->finished_with;
}

static void
growing_destroy(void *owner)
{
    struct growing *growing = owner;

    free(growing->values);
    growing->n_destroyed++;
}

static enum hoop_status
growing_start(struct growing *growing,
              enum engine_start_mode mode,
              struct op **op)
{
    struct engine_collective sum = sum_of(growing, &growing->count, 1);

    sum.mode = mode;
    sum.chain = (struct chain){
        .next = growing_next,
        .finish = growing_finish,
        .destroy = growing_destroy,
        .owner = growing,
    };
    return engine_start_collective(growing->context, &sum, op);
}

static enum hoop_status
growing_run(struct growing *growing)
{
    struct op *op = NULL;
    const enum hoop_status status =
        growing_start(growing, ENGINE_START_AND_WAIT, &op);

    return status == HOOP_OK ? engine_wait(op, patience()) : status;
}

static int
second_stage_follows_from_the_first(struct side *side)
{
    for (int32_t count = 0; count < 100000; count = 10 * count + 1) {
        struct growing growing = {.context = side->comms[0].context,
                                  .count = count};
        struct op *op = NULL;

        SIDE_CHECK(growing_start(&growing, ENGINE_START, &op) == HOOP_OK);
        SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
        SIDE_CHECK(growing.count == 2 * count);
        SIDE_CHECK(growing.n_finished == 1 && growing.n_destroyed == 1);
    }
    return 0;
}

static int
stages_do_not_mix_with_what_is_called_in_between(struct side *side)
{
    struct growing growing[8];
    struct op *ops[8];
    int32_t values[8];
    struct op *sums[8];
    struct comm_context *context = side->comms[0].context;

    for (int32_t i = 0; i < 8; i++) {
        growing[i] = (struct growing){.context = context, .count = 1000 * i};
        values[i] = i;
        SIDE_CHECK(growing_start(&growing[i], ENGINE_START, &ops[i]) ==
                   HOOP_OK);
        SIDE_CHECK(sum_start(context, &values[i], 1, &sums[i]) == HOOP_OK);
    }
    /* Each rank in an order of its own. */
    for (int32_t i = 0; i < 8; i++) {
        const int32_t k = side->rank == 0 ? i : 7 - i;

        SIDE_CHECK(engine_wait(sums[k], patience()) == HOOP_OK);
        SIDE_CHECK(engine_wait(ops[k], patience()) == HOOP_OK);
        SIDE_CHECK(values[k] == 2 * k && growing[k].count == 2000 * k);
    }
    return 0;
}

static int
stage_that_cannot_begin_ends_it_on_all_ranks(struct side *side)
{
    struct growing growing = {.context = side->comms[0].context,
                              .count = 1000,
                              .refused_at = side->rank == 1 ? 1 : 0};

    SIDE_CHECK(growing_run(&growing) == HOOP_E_EXHAUSTED);
    SIDE_CHECK(strstr(error_text(), "no memory for the second stage"));
    SIDE_CHECK(strstr(error_text(), "allreduce #1"));
    SIDE_CHECK(growing.n_finished == 0 && growing.n_destroyed == 1);

    int32_t value = 1;
    SIDE_CHECK(sum_run(side->comms[0].context, &value, 1) == HOOP_OK);
    SIDE_CHECK(value == 2);
    return 0;
}

static void
failing_finish_is_the_status(void **state)
{
    struct growing growing = {.context = engine_pair.sides[0].alone.context,
                              .count = 4,
                              .finished_with = HOOP_E_EXHAUSTED};

    assert_int_equal(growing_run(&growing), HOOP_E_EXHAUSTED);
    assert_int_equal(growing.n_finished, 1);
    assert_int_equal(growing.n_destroyed, 1);
}

static void
start_that_fails_takes_the_owner_too(void **state)
{
    struct growing growing = {.context = engine_pair.sides[0].alone.context};
    struct op *op = NULL;

    engine_mark_forked_child(engine_pair.sides[0].engine);
    assert_int_equal(growing_start(&growing, ENGINE_START, &op), HOOP_E_CLOSED);
    assert_int_equal(growing.n_destroyed, 1);
}

/* As many chain as there may be: both ranks, the other way round, alone. */
struct turning {
    struct comm_context *context;
    uint32_t members[2];
    int32_t value;
};

static struct engine_collective
turning_sum(struct turning *turning, uint32_t stage)
{
    const uint32_t rank = context_rank(turning->context);
    const bool is_turned = stage % 3 == 1;
    struct engine_collective sum = {
        .call = {.name = CALL_ALLREDUCE,
                 .dtype = HOOP_INT32,
                 .reduce_op = HOOP_SUM,
                 .count = 1},
        .algorithm = &algorithm_allreduce_ring,
        .shape = {.rank = is_turned ? 1 - rank : rank,
                  .size = 2,
                  .is_in_place = true,
                  .count = 1,
                  .granule = 16},
        .members = turning->members,
        .input = &turning->value,
        .output = &turning->value,
    };

    turning->members[0] = is_turned ? 1 : 0;
    turning->members[1] = is_turned ? 0 : 1;
    if (stage % 3 == 2) {
        sum.shape.rank = 0;
        sum.shape.size = 1;
        turning->members[0] = rank;
    }
    return sum;
}

static enum hoop_status
turning_next(void *owner, uint32_t stage, struct engine_collective *out_next)
{
    if (stage < STAGES_MAX)
        *out_next = turning_sum(owner, stage);
    return HOOP_OK;
}

static int
side_turning(struct side *side)
{
    struct turning turning = {.context = side->comms[0].context,
                              .value = 1 + (int32_t)side->rank};
    struct engine_collective sum = turning_sum(&turning, 0);
    struct op *op = NULL;

    sum.chain = (struct chain){.next = turning_next, .owner = &turning};
    SIDE_CHECK(engine_start_collective(turning.context, &sum, &op) == HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
    /* Once 1 + 2, then doubled 7 times. */
    SIDE_CHECK(turning.value == 3 << 7);
    return 0;
}

static void
members_change_from_stage_to_stage(void **state)
{
    assert_int_equal(STAGES_MAX, 12);
    engine_pair_run(&engine_pair, side_turning);
}

/* Rank 1 calls something else: rank 0 is told in its first stage. */
static int
mismatch_leaves_the_numbers_in_step(struct side *side)
{
    struct growing growing = {.context = side->comms[0].context, .count = 3};
    int32_t values[2] = {0, 0};

    if (side->rank == 0)
        SIDE_CHECK(growing_run(&growing) == HOOP_E_MISMATCH);
    else
        SIDE_CHECK(sum_run(growing.context, values, 2) == HOOP_E_MISMATCH);
    SIDE_CHECK(sum_run(growing.context, values, 1) == HOOP_OK);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_TEST(second_stage_follows_from_the_first),
        SIDES_TEST(stages_do_not_mix_with_what_is_called_in_between),
        SIDES_TEST(stage_that_cannot_begin_ends_it_on_all_ranks),
        ENGINE_PAIR_TEST(failing_finish_is_the_status),
        ENGINE_PAIR_TEST(start_that_fails_takes_the_owner_too),
        ENGINE_PAIR_TEST(members_change_from_stage_to_stage),
        SIDES_TEST(mismatch_leaves_the_numbers_in_step),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
