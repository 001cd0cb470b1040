/*
 * tests/sim/plan_order_test.c - the checker finds what only some schedule shows
 *
 * Plans whose every message fits, and that are wrong all the same; and the
 * trace V-24, which the seeds give for three ranks.
 */

#include <string.h>

#include "algorithms/algorithms.h"
#include "base/error.h"
#include "check.h"
#include "checker/checker.h"

/*
 * Two ranks swap their buffers in place, first sending, then receiving: right
 * if the sockets buffer what is sent, a deadlock if they do not.
 */
static uint32_t
swap_n_rounds(const struct plan_shape *shape)
{
    return 2;
}

static void
swap_plan_round(struct plan *plan,
                const struct plan_shape *shape,
                uint32_t round)
{
    const struct plan_span all = {PLAN_OUTPUT, 0, shape->count};
    const uint32_t peer = 1 - shape->rank;

    if (round == 0)
        plan_add_send(plan, peer, 0, all);
    else
        plan_add_step(plan, &(struct plan_step){.kind = PLAN_REDUCE,
                                                .peer = peer,
                                                .from = all,
                                                .to = all,
                                                .is_final = true});
}

static void
receive_behind_the_send_of_its_peer_is_a_deadlock(void **state)
{
    static const struct algorithm algorithm = {
        .name = "swap",
        .n_rounds = swap_n_rounds,
        .plan_round = swap_plan_round,
    };
    struct checker_case scenario = {
        .algorithm = &algorithm,
        .goal = CHECKER_ALLREDUCE,
        .shape = {.size = 2, .count = 5, .granule = 1, .is_in_place = true},
        .n_schedules = 1,
    };

    /* Seeds 0, 1, 2: nothing, a byte, all is buffered. */
    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "deadlock"));
    scenario.seed = 2;
    assert_ok(checker_verify_algorithm(&scenario));
}

/* The all-reduce, but the first all-gather round sends another block: each
 * message fits, only the sums are wrong. */
static void
early_plan_round(struct plan *plan,
                 const struct plan_shape *shape,
                 uint32_t round)
{
    const size_t before = plan->n_steps;

    algorithm_allreduce_ring.plan_round(plan, shape, round);
    if (round + 1 != shape->size)
        return;
    for (size_t i = before; i < plan->n_steps; i++) {
        if (plan->steps[i].kind == PLAN_SEND)
            plan->steps[i].from.first =
                (plan->steps[i].from.first + 1) % (shape->count);
    }
}

static void
right_messages_of_wrong_blocks_are_found(void **state)
{
    struct algorithm algorithm = algorithm_allreduce_ring;
    const struct checker_case scenario = {
        .algorithm = &algorithm,
        .goal = CHECKER_ALLREDUCE,
        .shape = {.size = 3, .count = 3, .granule = 1, .is_in_place = true},
        .n_schedules = 3,
    };

    assert_ok(checker_verify_algorithm(&scenario));
    algorithm.plan_round = early_plan_round;
    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "wrong at the end"));
}

/* An average that is divided in the wrong place, or not at all. */
static void
unfinal_plan_round(struct plan *plan,
                   const struct plan_shape *shape,
                   uint32_t round)
{
    algorithm_reduce_chain.plan_round(plan, shape, round);
    for (size_t i = 0; i < plan->n_steps; i++)
        plan->steps[i].is_final = !plan->steps[i].is_final;
}

static void
final_mark_on_the_wrong_steps_is_found(void **state)
{
    struct algorithm algorithm = algorithm_reduce_chain;
    struct checker_case scenario = {
        .algorithm = &algorithm,
        .goal = CHECKER_REDUCE,
        .shape = {.size = 3, .count = 2, .granule = 1},
        .n_schedules = 1,
    };

    algorithm.plan_round = unfinal_plan_round;
    assert_int_equal(checker_verify_algorithm(&scenario), HOOP_E_INTERNAL);
}

/* The block of three that a rank sends in a round. */
static size_t
block_sent(uint32_t rank, uint32_t round)
{
    const struct plan_shape shape = {
        .rank = rank, .size = 3, .count = 3, .granule = 1, .is_in_place = true};
    struct plan plan = {0};
    size_t block = SIZE_MAX;

    algorithm_allreduce_ring.plan_round(&plan, &shape, round);
    for (size_t i = 0; i < plan.n_steps; i++) {
        if (plan.steps[i].kind == PLAN_SEND)
            block = plan.steps[i].from.first;
    }
    plan_deinit(&plan);
    return block;
}

static void
allreduce_ring_three_ranks_follow_trace_v24(void **state)
{
    static const size_t trace[4][3] = {
        {2, 0, 1},
        {1, 2, 0}, /* reduce-scatter: r ends with block r */
        {0, 1, 2},
        {2, 0, 1}, /* all-gather */
    };

    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t rank = 0; rank < 3; rank++)
            assert_int_equal(block_sent(rank, round), trace[round][rank]);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(receive_behind_the_send_of_its_peer_is_a_deadlock),
        cmocka_unit_test(right_messages_of_wrong_blocks_are_found),
        cmocka_unit_test(final_mark_on_the_wrong_steps_is_found),
        cmocka_unit_test(allreduce_ring_three_ranks_follow_trace_v24),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
