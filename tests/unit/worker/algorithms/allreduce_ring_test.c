/* tests/unit/worker/algorithms/allreduce_ring_test.c - algorithms/allreduce_ring.c */

#include "algorithms/algorithms.h"
#include "check.h"
#include "whole_plan.h"

static const struct algorithm *const ring = &algorithm_allreduce_ring;

static void
allreduce_ring_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5, .granule = 1};
    struct plan plan = {0};

    (void)state;
    assert_int_equal(ring->n_rounds(&shape), 1);
    ring->plan_round(&plan, &shape, 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].to.count, 5);
    shape.is_in_place = true;
    assert_int_equal(ring->n_rounds(&shape), 0);
    plan_deinit(&plan);
}

/* Two ranks: rank 0 finishes block 0, then takes block 1. */
static void
allreduce_ring_two_ranks_combine_then_store(void **state)
{
    const struct plan_shape shape = {
        .rank = 0, .size = 2, .count = 8, .granule = 1};
    struct plan plan = {0};

    (void)state;
    assert_int_equal(ring->n_rounds(&shape), 2);
    ring->plan_round(&plan, &shape, 0);
    ring->plan_round(&plan, &shape, 1);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[0].from.first, 4);
    assert_int_equal(plan.steps[1].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[1].to.first, 0);
    assert_int_equal(plan.steps[1].side, PLAN_OWN_IS_LEFT_OPERAND);
    assert_true(plan.steps[1].is_final);
    assert_int_equal(plan.steps[2].kind, PLAN_SEND);
    assert_int_equal(plan.steps[2].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[3].kind, PLAN_STORE);
    assert_int_equal(plan.steps[3].to.first, 4);
    plan_deinit(&plan);
}

static void
allreduce_ring_each_block_is_final_once(void **state)
{
    struct plan_shape shape = {.size = 5, .count = 11, .granule = 1};
    size_t n_final = 0;
    size_t n_elements = 0;

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        struct plan plan = whole_plan_of(ring, &shape);

        for (size_t i = 0; i < plan.n_steps; i++) {
            n_final += plan.steps[i].is_final ? 1 : 0;
            n_elements += plan.steps[i].is_final ? plan.steps[i].to.count : 0;
        }
        plan_deinit(&plan);
    }
    assert_int_equal(n_final, 5);
    assert_int_equal(n_elements, 11);
}

static void
allreduce_ring_less_than_a_granule_is_one_block(void **state)
{
    struct plan_shape shape = {.size = 4, .count = 3, .granule = 16};
    size_t n_steps = 0;

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        struct plan plan = whole_plan_of(ring, &shape);

        n_steps += plan.n_steps;
        plan_deinit(&plan);
    }
    /* Six messages, each with two ends. */
    assert_int_equal(n_steps, 12);
}

static const struct algorithm *const pairwise = &algorithm_allreduce_pairwise;

static void
plan_all(struct plan *plan, const struct plan_shape *shape)
{
    plan_clear(plan);
    for (uint32_t i = 0; i < pairwise->n_rounds(shape); i++)
        pairwise->plan_round(plan, shape, i);
    assert_int_equal(plan_status(plan), HOOP_OK);
}

static void
allreduce_pairwise_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5, .granule = 1};
    struct plan plan = {0};

    (void)state;
    plan_all(&plan, &shape);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].to.count, 5);
    shape.is_in_place = true;
    assert_int_equal(pairwise->n_rounds(&shape), 0);
    plan_deinit(&plan);
}

/* Nobody passes on what another one made, or gave. */
static void
allreduce_pairwise_sends_what_it_was_given_and_made(void **state)
{
    struct plan_shape shape = {.size = 5, .count = 10, .granule = 1};
    struct plan plan = {0};

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        uint32_t given_to = 0;
        uint32_t made_to = 0;
        size_t n_final = 0;

        plan_all(&plan, &shape);
        assert_int_equal(plan.n_steps, 16);
        for (size_t i = 0; i < plan.n_steps; i++) {
            const struct plan_step *step = &plan.steps[i];
            const bool is_given = step->from.buffer == PLAN_INPUT;

            n_final += step->is_final;
            if (step->kind != PLAN_SEND)
                continue;
            assert_int_equal(step->from.first,
                             2 * (is_given ? step->peer : shape.rank));
            *(is_given ? &given_to : &made_to) |= 1U << step->peer;
        }
        assert_int_equal(n_final, 1);
        assert_int_equal(given_to, 0x1f & ~(1U << shape.rank));
        assert_int_equal(made_to, 0x1f & ~(1U << shape.rank));
    }
    plan_deinit(&plan);
}

/* Rank 2 of 5: 1 and 0 stand left, then come 4 and 3, right. */
static void
allreduce_pairwise_order_is_down_from_the_owner(void **state)
{
    static const uint32_t peers[] = {1, 0, 4, 3};
    const struct plan_shape shape = {
        .rank = 2, .size = 5, .count = 10, .granule = 1};
    struct plan plan = {0};

    (void)state;
    plan_all(&plan, &shape);
    for (size_t i = 0; i < 4; i++) {
        const struct plan_step *step = &plan.steps[2 * i + 1];

        assert_int_equal(step->kind, PLAN_REDUCE);
        assert_int_equal(step->peer, peers[i]);
        assert_int_equal(step->side, peers[i] < 2
                                         ? PLAN_RECEIVED_IS_LEFT_OPERAND
                                         : PLAN_OWN_IS_LEFT_OPERAND);
        assert_int_equal(step->from.buffer, i == 0 ? PLAN_INPUT : PLAN_OUTPUT);
        assert_int_equal(step->is_final, i == 3);
    }
    plan_deinit(&plan);
}

/*
 * That the sums are right is proved in tests/sim, of "hierarchical_tree".
 */

static const struct algorithm *const tree = &algorithm_allreduce_tree;

enum {
    SIZE_MAX_COUNTED = 33,
};

static void
tree_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5};
    struct plan plan = whole_plan_of(tree, &shape);

    (void)state;
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(tree->n_scratch(&shape), 0);
    shape.is_in_place = true;
    assert_int_equal(tree->n_rounds(&shape), 0);
    plan_deinit(&plan);
}

/* As few as there can be; the two at the top finish the sum. */
static void
tree_of_any_size_sends_two_messages_for_each_rank_but_one(void **state)
{
    struct plan_shape shape = {.count = 3};

    (void)state;
    for (shape.size = 2; shape.size <= SIZE_MAX_COUNTED; shape.size++) {
        size_t n_sent = 0;
        size_t n_final = 0;

        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            struct plan plan = whole_plan_of(tree, &shape);

            n_sent += whole_plan_count(&plan, PLAN_SEND);
            n_final += whole_plan_count_final(&plan);
            plan_deinit(&plan);
        }
        assert_int_equal(n_sent, 2 * (shape.size - 1));
        assert_int_equal(n_final, 2);
    }
}

/* Four: 1 and 3 hand on what they have, 0 and 2 exchange. */
static void
tree_of_four_goes_up_across_and_down(void **state)
{
    struct plan_shape shape = {.size = 4, .count = 2, .rank = 2};
    struct plan plan = whole_plan_of(tree, &shape);

    (void)state;
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].peer, 3);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 0);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[2].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[2].peer, 0);
    assert_int_equal(plan.steps[2].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    assert_int_equal(plan.steps[2].to.buffer, PLAN_OUTPUT);
    assert_true(plan.steps[2].is_final);
    assert_int_equal(plan.steps[3].kind, PLAN_SEND);
    assert_int_equal(plan.steps[3].peer, 3);
    plan_deinit(&plan);

    shape.rank = 3;
    plan = whole_plan_of(tree, &shape);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(tree->n_scratch(&shape), 0);
    plan_deinit(&plan);
}

/* Three in place: nobody is below rank 2, whose own elements leave while rank
 * 0's sum comes. */
static void
tree_in_place_keeps_what_comes_across(void **state)
{
    const struct plan_shape shape = {
        .rank = 2, .size = 3, .count = 4, .is_in_place = true};
    struct plan plan = whole_plan_of(tree, &shape);

    (void)state;
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[2].kind, PLAN_COMBINE);
    assert_int_equal(plan.steps[2].side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    assert_true(plan.steps[2].is_final);
    assert_int_equal(tree->n_scratch(&shape), 4);
    plan_deinit(&plan);
}

static const struct algorithm *const doubling =
    &algorithm_allreduce_recursive_doubling;

static void
doubling_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5};
    struct plan plan = whole_plan_of(doubling, &shape);

    (void)state;
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(doubling->n_scratch(&shape), 0);
    shape.is_in_place = true;
    assert_int_equal(doubling->n_rounds(&shape), 0);
    plan_deinit(&plan);
}

/* log2 n messages of all elements from each rank of a power of two. */
static void
doubling_power_of_two_sends_log2_messages(void **state)
{
    struct plan_shape shape = {.count = 7};
    size_t n_messages = 1;

    (void)state;
    for (shape.size = 2; shape.size <= 64; shape.size *= 2, n_messages++) {
        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            struct plan plan = whole_plan_of(doubling, &shape);

            assert_int_equal(whole_plan_count(&plan, PLAN_SEND), n_messages);
            assert_int_equal(whole_plan_count(&plan, PLAN_REDUCE), n_messages);
            assert_int_equal(plan.n_steps, 2 * n_messages);
            assert_int_equal(whole_plan_count_final(&plan), 1);
            plan_deinit(&plan);
        }
    }
}

/* Seven: 1, 3 and 5 rest. They send what they have and are sent the result,
 * finished; the others exchange twice. */
static void
doubling_folded_rank_sends_once_and_finishes_nothing(void **state)
{
    struct plan_shape shape = {.size = 7, .count = 3};

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        struct plan plan = whole_plan_of(doubling, &shape);
        const bool rests = shape.rank % 2 == 1;
        const bool stands_for_two = shape.rank % 2 == 0 && shape.rank < 6;

        assert_int_equal(whole_plan_count(&plan, PLAN_SEND),
                         rests ? 1 : 2 + (stands_for_two ? 1 : 0));
        assert_int_equal(whole_plan_count(&plan, PLAN_STORE), rests ? 1 : 0);
        assert_int_equal(whole_plan_count_final(&plan), rests ? 0 : 1);
        assert_int_equal(doubling->n_scratch(&shape), rests ? 0 : 3);
        plan_deinit(&plan);
    }
}

/* Eight ranks in place: the third sum would have to go where the second one
 * still leaves. */
static void
doubling_in_place_odd_exchanges_keep_the_last_arrival(void **state)
{
    const struct plan_shape shape = {
        .rank = 5, .size = 8, .count = 4, .is_in_place = true};
    struct plan plan = whole_plan_of(doubling, &shape);

    (void)state;
    assert_int_equal(whole_plan_count(&plan, PLAN_REDUCE), 2);
    assert_int_equal(whole_plan_count(&plan, PLAN_STORE), 1);
    const struct plan_step *last = &plan.steps[plan.n_steps - 1];
    assert_int_equal(last->kind, PLAN_COMBINE);
    assert_int_equal(last->to.buffer, PLAN_OUTPUT);
    assert_int_equal(last->side, PLAN_RECEIVED_IS_LEFT_OPERAND);
    assert_true(last->is_final);
    plan_deinit(&plan);
}

/* The sum that leaves is never the one that is written meanwhile. */
static void
doubling_sums_alternate_and_end_in_the_output(void **state)
{
    struct plan_shape shape = {.count = 4};

    (void)state;
    for (shape.size = 2; shape.size <= 32; shape.size *= 2) {
        struct plan plan = whole_plan_of(doubling, &shape);

        for (size_t i = 0; i < plan.n_steps; i++) {
            if (plan.steps[i].kind == PLAN_REDUCE)
                assert_int_not_equal(plan.steps[i].from.buffer,
                                     plan.steps[i].to.buffer);
        }
        assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
        assert_int_equal(plan.steps[plan.n_steps - 1].to.buffer, PLAN_OUTPUT);
        plan_deinit(&plan);
    }
}

static void
doubling_lower_partner_stands_left(void **state)
{
    struct plan_shape shape = {.size = 13, .count = 1};

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        struct plan plan = whole_plan_of(doubling, &shape);

        for (size_t i = 0; i < plan.n_steps; i++) {
            const struct plan_step *step = &plan.steps[i];

            if (step->kind == PLAN_REDUCE)
                assert_int_equal(step->side, step->peer < shape.rank
                                                 ? PLAN_RECEIVED_IS_LEFT_OPERAND
                                                 : PLAN_OWN_IS_LEFT_OPERAND);
        }
        plan_deinit(&plan);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_ring_alone_copies_or_rests),
        cmocka_unit_test(allreduce_ring_two_ranks_combine_then_store),
        cmocka_unit_test(allreduce_ring_each_block_is_final_once),
        cmocka_unit_test(allreduce_ring_less_than_a_granule_is_one_block),
        cmocka_unit_test(allreduce_pairwise_alone_copies_or_rests),
        cmocka_unit_test(allreduce_pairwise_sends_what_it_was_given_and_made),
        cmocka_unit_test(allreduce_pairwise_order_is_down_from_the_owner),
        cmocka_unit_test(tree_alone_copies_or_rests),
        cmocka_unit_test(
            tree_of_any_size_sends_two_messages_for_each_rank_but_one),
        cmocka_unit_test(tree_of_four_goes_up_across_and_down),
        cmocka_unit_test(tree_in_place_keeps_what_comes_across),
        cmocka_unit_test(doubling_alone_copies_or_rests),
        cmocka_unit_test(doubling_power_of_two_sends_log2_messages),
        cmocka_unit_test(doubling_folded_rank_sends_once_and_finishes_nothing),
        cmocka_unit_test(doubling_in_place_odd_exchanges_keep_the_last_arrival),
        cmocka_unit_test(doubling_sums_alternate_and_end_in_the_output),
        cmocka_unit_test(doubling_lower_partner_stands_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
