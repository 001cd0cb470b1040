/*
 * tests/unit/worker/algorithms/tree_test.c - what collectives up and down a tree promise
 *
 * That they are right is proved in tests/sim.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "whole_plan.h"

enum {
    SIZE_MAX_COUNTED = 33,
};

/* What all ranks do together. */
struct sums {
    size_t n_sent;
    size_t n_peers; /* that send to each other, or only one to the other */
};

static struct sums
sums_of(const struct algorithm *algorithm, uint32_t size)
{
    static bool are_joined[SIZE_MAX_COUNTED][SIZE_MAX_COUNTED];
    struct plan_shape shape = {.size = size, .count = 3, .granule = 1};
    struct sums sums = {0};

    memset(are_joined, 0, sizeof(are_joined));
    for (shape.rank = 0; shape.rank < size; shape.rank++) {
        struct plan plan = whole_plan_of(algorithm, &shape);

        for (size_t i = 0; i < plan.n_steps; i++) {
            const uint32_t peer = plan.steps[i].peer;

            if (plan.steps[i].kind != PLAN_SEND)
                continue;
            sums.n_sent++;
            sums.n_peers += !are_joined[shape.rank][peer];
            are_joined[shape.rank][peer] = true;
            are_joined[peer][shape.rank] = true;
        }
        plan_deinit(&plan);
    }
    return sums;
}

/* As few as there can be, over as few connections. */
static void
tree_of_any_size_sends_two_messages_for_each_rank_but_one(void **state)
{
    static const struct algorithm *const trees[] = {&algorithm_barrier_tree,
                                                    &algorithm_allgather_tree};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(trees); i++) {
        for (uint32_t size = 2; size <= SIZE_MAX_COUNTED; size++) {
            const struct sums sums = sums_of(trees[i], size);

            assert_int_equal(sums.n_sent, 2 * (size - 1));
            assert_int_equal(sums.n_peers, size - 1);
        }
    }
}

static void
tree_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 5, .granule = 1};
    struct plan plan = whole_plan_of(&algorithm_allgather_tree, &shape);

    (void)state;
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    plan_deinit(&plan);
    shape.is_in_place = true;
    assert_int_equal(algorithm_allgather_tree.n_rounds(&shape), 0);
    assert_int_equal(algorithm_barrier_tree.n_rounds(&shape), 0);
    assert_int_equal(algorithm_barrier_tree.n_scratch(&shape), 0);
}

/* Four, rank 2: 3 hands up, 2 hands on, and the same way back. */
static void
barrier_tree_goes_up_and_down(void **state)
{
    const struct plan_shape shape = {.size = 4, .rank = 2};
    struct plan plan = whole_plan_of(&algorithm_barrier_tree, &shape);

    (void)state;
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].peer, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 0);
    assert_int_equal(plan.steps[1].from.first, plan.steps[0].to.first);
    assert_int_equal(plan.steps[2].kind, PLAN_STORE);
    assert_int_equal(plan.steps[2].peer, 0);
    assert_int_equal(plan.steps[3].kind, PLAN_SEND);
    assert_int_equal(plan.steps[3].peer, 3);
    assert_int_equal(plan.steps[3].from.first, plan.steps[2].to.first);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            tree_of_any_size_sends_two_messages_for_each_rank_but_one),
        cmocka_unit_test(tree_alone_copies_or_rests),
        cmocka_unit_test(barrier_tree_goes_up_and_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
