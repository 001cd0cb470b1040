/* tests/unit/worker/algorithms/allgather_ring_test.c - algorithms/allgather_ring.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const ring = &algorithm_allgather_ring;

static void
allgather_ring_out_of_place_sends_and_copies_the_input(void **state)
{
    static const size_t counts[] = {2, 3, 4};
    struct plan_shape shape = {.rank = 1, .size = 3, .counts = counts};
    struct plan plan = {0};

    (void)state;
    ring->plan_round(&plan, &shape, 0);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].to.first, 2);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[1].from.first, 0);
    assert_int_equal(plan.steps[2].kind, PLAN_STORE);
    assert_int_equal(plan.steps[2].to.first, 0);
    assert_int_equal(plan.steps[2].to.count, 2);

    plan_clear(&plan);
    shape.is_in_place = true;
    ring->plan_round(&plan, &shape, 0);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].from.first, 2);
    plan_deinit(&plan);
}

static void
allgather_ring_rounds_are_one_less_than_ranks(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 1};

    (void)state;
    assert_int_equal(ring->n_rounds(&shape), 1);
    shape.is_in_place = true;
    assert_int_equal(ring->n_rounds(&shape), 0);
    shape.size = 7;
    assert_int_equal(ring->n_rounds(&shape), 6);
    assert_null(ring->n_scratch);
}

static const struct algorithm *const bruck = &algorithm_allgather_bruck;

static void
allgather_bruck_rounds_are_log2_of_ranks(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 8, 9, 16, 17, 33, 1024};
    static const uint32_t rounds[] = {0, 1, 2, 2, 3, 3, 4, 4, 5, 6, 10};
    struct plan_shape shape = {.count = 1, .is_in_place = true};

    (void)state;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        shape.size = sizes[i];
        assert_int_equal(bruck->n_rounds(&shape), rounds[i]);
    }
    shape = (struct plan_shape){.size = 1, .count = 1};
    assert_int_equal(bruck->n_rounds(&shape), 1);
    assert_null(bruck->n_scratch);
}

/* Each block that is not the own one arrives once, in one or two messages to
 * a round, and as much is sent. */
static void
allgather_bruck_moves_each_block_once(void **state)
{
    struct plan_shape shape = {.count = 3};

    (void)state;
    for (shape.size = 2; shape.size <= 40; shape.size++) {
        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            size_t sent = 0;
            size_t stored = 0;

            for (uint32_t i = 0; i < bruck->n_rounds(&shape); i++) {
                struct plan plan = {0};
                size_t n_sends = 0;

                bruck->plan_round(&plan, &shape, i);
                for (size_t j = 0; j < plan.n_steps; j++) {
                    const struct plan_step *step = &plan.steps[j];

                    n_sends += step->kind == PLAN_SEND ? 1 : 0;
                    sent += step->kind == PLAN_SEND ? step->from.count : 0;
                    stored += step->kind == PLAN_STORE ? step->to.count : 0;
                }
                assert_in_range(n_sends, 1, 2);
                plan_deinit(&plan);
            }
            assert_int_equal(sent, 3 * (shape.size - 1));
            assert_int_equal(stored, 3 * (shape.size - 1));
        }
    }
}

/* Rank 4 of 5 holds 4 and 0 after the first round. */
static void
allgather_bruck_across_the_end_sends_two_messages(void **state)
{
    static const size_t counts[] = {1, 2, 3, 4, 5};
    const struct plan_shape shape = {
        .rank = 4, .size = 5, .counts = counts, .is_in_place = true};
    struct plan plan = {0};

    (void)state;
    bruck->plan_round(&plan, &shape, 1);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 2);
    assert_int_equal(plan.steps[0].from.first, 10);
    assert_int_equal(plan.steps[0].from.count, 5);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].peer, 1);
    assert_int_equal(plan.steps[1].to.first, 1);
    assert_int_equal(plan.steps[1].to.count, 5);
    assert_int_equal(plan.steps[2].kind, PLAN_SEND);
    assert_int_equal(plan.steps[2].from.first, 0);
    assert_int_equal(plan.steps[2].from.count, 1);

    plan_clear(&plan);
    bruck->plan_round(&plan, &shape, 2);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].peer, 0);
    assert_int_equal(plan.steps[0].from.count, 5);
    assert_int_equal(plan.steps[1].to.first, 6);
    assert_int_equal(plan.steps[1].to.count, 4);
    plan_deinit(&plan);
}

static void
allgather_bruck_out_of_place_sends_and_copies_the_input(void **state)
{
    const struct plan_shape shape = {.rank = 1, .size = 3, .count = 4};
    struct plan plan = {0};

    (void)state;
    bruck->plan_round(&plan, &shape, 0);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].to.first, 4);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[1].from.first, 0);
    assert_int_equal(plan.steps[2].kind, PLAN_STORE);
    assert_int_equal(plan.steps[2].to.first, 8);
    plan_deinit(&plan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            allgather_ring_out_of_place_sends_and_copies_the_input),
        cmocka_unit_test(allgather_ring_rounds_are_one_less_than_ranks),
        cmocka_unit_test(allgather_bruck_rounds_are_log2_of_ranks),
        cmocka_unit_test(allgather_bruck_moves_each_block_once),
        cmocka_unit_test(allgather_bruck_across_the_end_sends_two_messages),
        cmocka_unit_test(
            allgather_bruck_out_of_place_sends_and_copies_the_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
