/* tests/unit/worker/algorithms/reduce_scatter_halving_test.c - what it promises */

#include "algorithms/algorithms.h"
#include "check.h"
#include "plan/topology.h"
#include "whole_plan.h"

static const struct algorithm *const halving =
    &algorithm_reduce_scatter_halving;

/* What one rank does in all rounds. */
struct tally {
    size_t n_sends;
    size_t sent;
    size_t reduced;
    size_t finished;
};

static struct tally
tally_of(const struct plan_shape *shape)
{
    struct plan plan = whole_plan_of(halving, shape);
    struct tally tally = {0};

    for (size_t i = 0; i < plan.n_steps; i++) {
        const struct plan_step *step = &plan.steps[i];

        tally.n_sends += step->kind == PLAN_SEND ? 1 : 0;
        tally.sent += step->kind == PLAN_SEND ? step->from.count : 0;
        tally.reduced += step->kind == PLAN_REDUCE ? step->to.count : 0;
        tally.finished += step->is_final ? step->to.count : 0;
    }
    plan_deinit(&plan);
    return tally;
}

static void
halving_power_of_two_sends_log2_messages(void **state)
{
    struct plan_shape shape = {.count = 3};
    size_t levels = 1;

    (void)state;
    for (shape.size = 2; shape.size <= 64; shape.size *= 2, levels++) {
        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            const struct tally tally = tally_of(&shape);

            assert_int_equal(tally.n_sends, levels);
            assert_int_equal(tally.sent, 3 * (shape.size - 1));
            assert_int_equal(tally.reduced, 3 * (shape.size - 1));
            assert_int_equal(tally.finished, 3);
        }
    }
}

/* Every rank sends each block but its own once; who combines twice is sent
 * half as much again, and one more where a half is the larger one. */
static void
halving_any_size_sends_each_block_once(void **state)
{
    struct plan_shape shape = {.count = 2};

    (void)state;
    for (shape.size = 2; shape.size <= 70; shape.size++) {
        const size_t share = 2 * (shape.size - 1);
        size_t reduced = 0;

        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            const struct tally tally = tally_of(&shape);

            assert_int_equal(tally.sent, share);
            assert_in_range(tally.reduced, 2,
                            share + shape.size +
                                2 * doubling_round_count(&shape));
            assert_int_equal(tally.finished, 2);
            reduced += tally.reduced;
        }
        assert_int_equal(reduced, share * shape.size);
    }
}

static void
halving_scratch_is_half_of_the_blocks_at_most(void **state)
{
    struct plan_shape shape = {.count = 10};

    (void)state;
    for (shape.size = 1; shape.size <= 2; shape.size++)
        assert_int_equal(halving->n_scratch(&shape), 0);
    for (shape.size = 3; shape.size <= 40; shape.size++) {
        for (shape.rank = 0; shape.rank < shape.size; shape.rank++)
            assert_in_range(halving->n_scratch(&shape), 10,
                            10 * (size_t)((shape.size + 1) / 2));
    }
}

/* Five: 2 has no partner among 3 and 4; 3 combines twice. */
static void
halving_odd_one_sends_to_the_first_of_the_upper_half(void **state)
{
    static const size_t counts[] = {1, 2, 3, 4, 5};
    struct plan_shape shape = {.rank = 2, .size = 5, .counts = counts};
    struct plan plan = {0};

    (void)state;
    halving->plan_round(&plan, &shape, 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 3);
    assert_int_equal(plan.steps[0].from.first, 6);
    assert_int_equal(plan.steps[0].from.count, 9);

    plan_clear(&plan);
    shape.rank = 3;
    halving->plan_round(&plan, &shape, 0);
    halving->plan_round(&plan, &shape, 1);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].peer, 0);
    assert_int_equal(plan.steps[0].from.count, 6);
    assert_int_equal(plan.steps[1].peer, 0);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[1].from.first, 6);
    assert_int_equal(plan.steps[2].peer, 2);
    assert_int_equal(plan.steps[2].from.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[2].from.first, 0);
    assert_int_equal(plan.steps[2].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    plan_deinit(&plan);
}

/* Where the first arrival is the last one, in place. */
static void
halving_rank_one_of_few_in_place_takes_the_slot(void **state)
{
    struct plan_shape shape = {.rank = 1, .count = 10, .is_in_place = true};

    (void)state;
    for (shape.size = 2; shape.size <= 3; shape.size++) {
        struct plan plan = whole_plan_of(halving, &shape);
        const struct plan_step *last = &plan.steps[plan.n_steps - 1];

        assert_int_equal(halving->n_scratch(&shape), 10);
        assert_int_equal(last->kind, PLAN_COPY);
        assert_int_equal(last->from.buffer, PLAN_SCRATCH);
        assert_int_equal(last->to.first, 0);
        plan_deinit(&plan);
    }
}

static void
halving_in_place_writes_the_result_alone(void **state)
{
    struct plan_shape shape = {.count = 4, .is_in_place = true};

    (void)state;
    for (shape.size = 2; shape.size <= 33; shape.size++) {
        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            struct plan plan = whole_plan_of(halving, &shape);

            for (size_t i = 0; i < plan.n_steps; i++) {
                const struct plan_step *step = &plan.steps[i];

                if (step->kind == PLAN_SEND || step->to.buffer == PLAN_SCRATCH)
                    continue;
                assert_int_equal(step->to.first, 0);
                assert_int_equal(step->to.count, 4);
            }
            plan_deinit(&plan);
        }
    }
}

static const struct algorithm *const pairwise =
    &algorithm_reduce_scatter_pairwise;

static void
pairwise_rounds_are_one_less_than_ranks(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 1};

    (void)state;
    assert_int_equal(pairwise->n_rounds(&shape), 1);
    shape.size = 7;
    assert_int_equal(pairwise->n_rounds(&shape), 6);
    /* One more for the copy. */
    shape.is_in_place = true;
    assert_int_equal(pairwise->n_rounds(&shape), 7);
    shape.size = 1;
    assert_int_equal(pairwise->n_rounds(&shape), 0);
}

static void
pairwise_scratch_is_the_own_block_in_place_alone(void **state)
{
    static const size_t counts[] = {3, 0, 9};
    struct plan_shape shape = {.size = 3, .counts = counts};

    (void)state;
    for (shape.rank = 0; shape.rank < 3; shape.rank++) {
        shape.is_in_place = false;
        assert_int_equal(pairwise->n_scratch(&shape), 0);
        shape.is_in_place = true;
        assert_int_equal(pairwise->n_scratch(&shape), counts[shape.rank]);
    }
    shape = (struct plan_shape){.size = 1, .count = 5, .is_in_place = true};
    assert_int_equal(pairwise->n_scratch(&shape), 0);
}

/* A message to and from every other rank, each of one block. */
static void
pairwise_sends_each_block_to_its_owner(void **state)
{
    struct plan_shape shape = {.size = 9, .count = 2};

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        uint32_t sent_to = 0;
        uint32_t reduced_from = 0;
        struct plan plan = {0};

        for (uint32_t i = 0; i < pairwise->n_rounds(&shape); i++)
            pairwise->plan_round(&plan, &shape, i);
        assert_int_equal(plan.n_steps, 16);
        for (size_t i = 0; i < plan.n_steps; i++) {
            const struct plan_step *step = &plan.steps[i];
            const bool sends = step->kind == PLAN_SEND;

            sent_to |= sends ? UINT32_C(1) << step->peer : 0;
            reduced_from |= sends ? 0 : UINT32_C(1) << step->peer;
            if (sends)
                assert_int_equal(step->from.first, 2 * step->peer);
            assert_int_equal(sends ? step->from.count : step->to.count, 2);
            assert_int_equal(step->is_final, i + 1 == plan.n_steps);
        }
        assert_int_equal(sent_to, 0x1ff & ~(1U << shape.rank));
        assert_int_equal(reduced_from, 0x1ff & ~(1U << shape.rank));
        plan_deinit(&plan);
    }
}

/* Rank 2 of 5: 1 and 0 stand left, then come 4 and 3, right. */
static void
pairwise_order_is_down_from_the_owner(void **state)
{
    static const uint32_t peers[] = {1, 0, 4, 3};
    const struct plan_shape shape = {.rank = 2, .size = 5, .count = 2};

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        struct plan plan = {0};

        pairwise->plan_round(&plan, &shape, i);
        const struct plan_step *step = &plan.steps[plan.n_steps - 1];
        assert_int_equal(step->kind, PLAN_REDUCE);
        assert_int_equal(step->peer, peers[i]);
        assert_int_equal(step->side, peers[i] < 2
                                         ? PLAN_RECEIVED_IS_LEFT_OPERAND
                                         : PLAN_OWN_IS_LEFT_OPERAND);
        assert_int_equal(step->from.buffer, i == 0 ? PLAN_INPUT : PLAN_OUTPUT);
        plan_deinit(&plan);
    }
}

static const struct algorithm *const ring = &algorithm_reduce_scatter_ring;

static void
reduce_scatter_ring_scratch_is_two_blocks_at_most(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 10};

    (void)state;
    assert_int_equal(ring->n_scratch(&shape), 0);
    shape.size = 2;
    assert_int_equal(ring->n_scratch(&shape), 0);
    shape.size = 3;
    assert_int_equal(ring->n_scratch(&shape), 10);
    shape.size = 100;
    assert_int_equal(ring->n_scratch(&shape), 20);
}

static void
reduce_scatter_ring_two_ranks_in_place_take_the_slot(void **state)
{
    struct plan_shape shape = {
        .rank = 0, .size = 2, .count = 10, .is_in_place = true};
    struct plan plan = {0};

    (void)state;
    assert_int_equal(ring->n_rounds(&shape), 1);
    shape.rank = 1;
    assert_int_equal(ring->n_rounds(&shape), 2);
    assert_int_equal(ring->n_scratch(&shape), 10);
    ring->plan_round(&plan, &shape, 0);
    ring->plan_round(&plan, &shape, 1);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_SCRATCH);
    assert_true(plan.steps[1].is_final);
    assert_int_equal(plan.steps[2].kind, PLAN_COPY);
    assert_int_equal(plan.steps[2].to.first, 0);
    plan_deinit(&plan);
}

static void
reduce_scatter_ring_half_overlap_takes_the_slot(void **state)
{
    static const size_t counts[] = {2, 9, 9};
    const struct plan_shape shape = {
        .rank = 1, .size = 3, .counts = counts, .is_in_place = true};
    struct plan_shape outside = shape;

    (void)state;
    assert_int_equal(ring->n_rounds(&shape), 3);
    assert_int_equal(ring->n_scratch(&shape), 18);
    outside.is_in_place = false;
    assert_int_equal(ring->n_rounds(&outside), 2);
    assert_int_equal(ring->n_scratch(&outside), 9);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halving_power_of_two_sends_log2_messages),
        cmocka_unit_test(halving_any_size_sends_each_block_once),
        cmocka_unit_test(halving_scratch_is_half_of_the_blocks_at_most),
        cmocka_unit_test(halving_odd_one_sends_to_the_first_of_the_upper_half),
        cmocka_unit_test(halving_rank_one_of_few_in_place_takes_the_slot),
        cmocka_unit_test(halving_in_place_writes_the_result_alone),
        cmocka_unit_test(pairwise_rounds_are_one_less_than_ranks),
        cmocka_unit_test(pairwise_scratch_is_the_own_block_in_place_alone),
        cmocka_unit_test(pairwise_sends_each_block_to_its_owner),
        cmocka_unit_test(pairwise_order_is_down_from_the_owner),
        cmocka_unit_test(reduce_scatter_ring_scratch_is_two_blocks_at_most),
        cmocka_unit_test(reduce_scatter_ring_two_ranks_in_place_take_the_slot),
        cmocka_unit_test(reduce_scatter_ring_half_overlap_takes_the_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
