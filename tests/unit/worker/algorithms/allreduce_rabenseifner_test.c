/* tests/unit/worker/algorithms/allreduce_rabenseifner_test.c - what it promises */

#include "algorithms/algorithms.h"
#include "algorithms/allreduce_rabenseifner.h"
#include "check.h"

static const struct algorithm *const halving =
    &algorithm_allreduce_rabenseifner;

/* What one rank does in all rounds. */
struct tally {
    size_t n_sends;
    size_t sent;
    size_t reduced;
    size_t stored;
    size_t finished;
};

static struct tally
tally_of(const struct plan_shape *shape)
{
    struct tally tally = {0};
    struct plan plan = {0};

    for (uint32_t i = 0; i < halving->n_rounds(shape); i++)
        halving->plan_round(&plan, shape, i);
    for (size_t i = 0; i < plan.n_steps; i++) {
        const struct plan_step *step = &plan.steps[i];

        tally.n_sends += step->kind == PLAN_SEND ? 1 : 0;
        tally.sent += step->kind == PLAN_SEND ? step->from.count : 0;
        tally.reduced += step->kind == PLAN_REDUCE ? step->to.count : 0;
        tally.stored += step->kind == PLAN_STORE ? step->to.count : 0;
        tally.finished += step->is_final ? step->to.count : 0;
    }
    plan_deinit(&plan);
    return tally;
}

static void
rabenseifner_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5, .granule = 1};
    struct plan plan = {0};

    (void)state;
    assert_int_equal(halving->n_rounds(&shape), 1);
    halving->plan_round(&plan, &shape, 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    shape.is_in_place = true;
    assert_int_equal(halving->n_rounds(&shape), 0);
    assert_null(halving->n_scratch);
    plan_deinit(&plan);
}

/* 2 log2 n messages and 2 (n-1)/n of the elements, each way. */
static void
rabenseifner_power_of_two_moves_what_the_ring_moves(void **state)
{
    struct plan_shape shape = {.granule = 1};
    size_t levels = 1;

    (void)state;
    for (shape.size = 2; shape.size <= 64; shape.size *= 2, levels++) {
        shape.count = (size_t)3 * shape.size;
        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            const struct tally tally = tally_of(&shape);

            assert_int_equal(tally.n_sends, 2 * levels);
            assert_int_equal(tally.sent, 6 * (shape.size - 1));
            assert_int_equal(tally.reduced, 3 * (shape.size - 1));
            assert_int_equal(tally.stored, 3 * (shape.size - 1));
            assert_int_equal(tally.finished, 3);
        }
    }
}

/* No rank sends or combines more than half as much again, and all together
 * no more than the ring's. */
static void
rabenseifner_any_size_moves_no_more_than_the_ring_together(void **state)
{
    struct plan_shape shape = {.granule = 1};

    (void)state;
    for (shape.size = 2; shape.size <= 70; shape.size++) {
        const size_t share = shape.size - 1;
        struct tally all = {0};

        shape.count = shape.size;
        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            const struct tally tally = tally_of(&shape);

            assert_int_equal(tally.finished, 1);
            assert_int_equal(tally.stored, share);
            assert_in_range(tally.reduced, 1, share + shape.size / 2);
            assert_in_range(tally.sent, share, 2 * share + shape.size / 2);
            all.sent += tally.sent;
            all.reduced += tally.reduced;
        }
        assert_int_equal(all.sent, 2 * share * shape.size);
        assert_int_equal(all.reduced, share * shape.size);
    }
}

/* The reductions of one rank, in order; returns how many. */
static size_t
reductions_of(const struct algorithm *algorithm,
              const struct plan_shape *shape,
              struct plan_step *out_steps)
{
    struct plan plan = {0};
    size_t n = 0;

    for (uint32_t i = 0; i < algorithm->n_rounds(shape); i++)
        algorithm->plan_round(&plan, shape, i);
    for (size_t i = 0; i < plan.n_steps; i++) {
        if (plan.steps[i].kind == PLAN_REDUCE)
            out_steps[n++] = plan.steps[i];
    }
    plan_deinit(&plan);
    return n;
}

/* The same partners on the same sides: the same expression, the same bits. */
static void
rabenseifner_power_of_two_combines_as_recursive_doubling(void **state)
{
    struct plan_shape shape = {.count = 32, .granule = 1};

    (void)state;
    for (shape.size = 2; shape.size <= 32; shape.size *= 2) {
        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            struct plan_step these[5];
            struct plan_step those[5];
            const size_t n = reductions_of(halving, &shape, these);

            assert_int_equal(
                n, reductions_of(&algorithm_allreduce_recursive_doubling,
                                 &shape, those));
            for (size_t i = 0; i < n; i++) {
                assert_int_equal(these[i].peer, those[i].peer);
                assert_int_equal(these[i].side, those[i].side);
                assert_int_equal(these[i].is_final, those[i].is_final);
            }
        }
    }
}

/* 0 and 1 exchange parts, 2 has no partner: 1 combines twice. */
static void
rabenseifner_three_ranks_last_place_goes_to_the_middle(void **state)
{
    const struct plan_shape shape = {
        .rank = 1, .size = 3, .count = 6, .granule = 1};
    struct plan plan = {0};

    (void)state;
    halving->plan_round(&plan, &shape, 0);
    halving->plan_round(&plan, &shape, 1);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 0);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[0].from.count, 4);
    assert_int_equal(plan.steps[1].peer, 0);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[1].to.first, 4);
    assert_int_equal(plan.steps[1].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    assert_false(plan.steps[1].is_final);
    assert_int_equal(plan.steps[2].peer, 2);
    assert_int_equal(plan.steps[2].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[2].side, PLAN_OWN_IS_LEFT_OPERAND);
    assert_true(plan.steps[2].is_final);
    plan_deinit(&plan);
}

/* Rank 4 of 5 is the last of an odd group twice: what it sends is its input,
 * until something has arrived. */
static void
rabenseifner_last_place_sends_its_input_until_it_combines(void **state)
{
    const struct plan_shape shape = {
        .rank = 4, .size = 5, .count = 5, .granule = 1};
    struct plan plan = {0};

    (void)state;
    for (uint32_t round = 0; round < 6; round++)
        halving->plan_round(&plan, &shape, round);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].peer, 3);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[1].peer, 2);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[2].peer, 0);
    assert_int_equal(plan.steps[2].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[3].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[3].peer, 0);
    assert_true(plan.steps[3].is_final);
    plan_deinit(&plan);
}

/* Each rank has another block then, whose last combination was before. */
static void
rabenseifner_each_block_is_finished_in_the_middle(void **state)
{
    (void)state;
    for (uint32_t size = 2; size <= 9; size++) {
        uint32_t finished = 0;

        for (uint32_t rank = 0; rank < size; rank++) {
            const struct plan_shape shape = {
                .rank = rank, .size = size, .count = size, .granule = 1};
            const struct plan_span block =
                allreduce_rabenseifner_own_block(&shape);
            struct plan plan = {0};

            for (uint32_t i = 0;
                 i < allreduce_rabenseifner_middle_round(&shape); i++)
                algorithm_allreduce_rabenseifner.plan_round(&plan, &shape, i);
            assert_int_equal(block.count, 1);
            finished |= UINT32_C(1) << block.first;
            for (size_t i = 0; i < plan.n_steps; i++) {
                if (plan.steps[i].is_final)
                    assert_int_equal(plan.steps[i].to.first, block.first);
            }
            plan_deinit(&plan);
        }
        assert_int_equal(finished, (UINT32_C(1) << size) - 1);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(rabenseifner_alone_copies_or_rests),
        cmocka_unit_test(rabenseifner_power_of_two_moves_what_the_ring_moves),
        cmocka_unit_test(
            rabenseifner_any_size_moves_no_more_than_the_ring_together),
        cmocka_unit_test(
            rabenseifner_power_of_two_combines_as_recursive_doubling),
        cmocka_unit_test(
            rabenseifner_three_ranks_last_place_goes_to_the_middle),
        cmocka_unit_test(
            rabenseifner_last_place_sends_its_input_until_it_combines),
        cmocka_unit_test(rabenseifner_each_block_is_finished_in_the_middle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
