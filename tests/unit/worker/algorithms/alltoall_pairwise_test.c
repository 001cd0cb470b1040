/* tests/unit/worker/algorithms/alltoall_pairwise_test.c - algorithms/alltoall_pairwise.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const pairwise = &algorithm_alltoall_pairwise;

static void
pairwise_plan(struct plan *plan, const struct plan_shape *shape)
{
    plan_clear(plan);
    for (uint32_t round = 0; round < pairwise->n_rounds(shape); round++)
        pairwise->plan_round(plan, shape, round);
}

/* Whom a rank sends to in a round; itself when it does not. */
static uint32_t
partner(uint32_t rank, uint32_t size, uint32_t round)
{
    const struct plan_shape shape = {.rank = rank, .size = size, .count = 1};
    struct plan plan = {0};
    uint32_t peer = rank;

    pairwise->plan_round(&plan, &shape, round);
    if (plan.steps[0].kind == PLAN_SEND)
        peer = plan.steps[0].peer;
    plan_deinit(&plan);
    return peer;
}

static void
pairwise_partners_are_mutual_and_all_met(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= 9; size++) {
        for (uint32_t rank = 0; rank < size; rank++) {
            uint32_t met = 0;

            for (uint32_t round = 0; round < size; round++) {
                const uint32_t peer = partner(rank, size, round);

                assert_int_equal(partner(peer, size, round), rank);
                met |= UINT32_C(1) << peer;
            }
            assert_int_equal(met, (UINT32_C(1) << size) - 1);
        }
    }
}

static void
pairwise_in_place_keeps_two_blocks(void **state)
{
    struct plan_shape shape = {.size = 7, .count = 10, .is_in_place = true};

    (void)state;
    assert_int_equal(pairwise->n_scratch(&shape), 20);
    shape.size = 2;
    assert_int_equal(pairwise->n_scratch(&shape), 10);
    shape.size = 1;
    assert_int_equal(pairwise->n_scratch(&shape), 0);
    shape.size = 7;
    shape.is_in_place = false;
    assert_int_equal(pairwise->n_scratch(&shape), 0);
}

/* Two elements come, seven go: only the blocks that begin before element two
 * need saving, and the last goes from where it stands. */
static void
pairwise_in_place_saves_what_is_written_over(void **state)
{
    const size_t counts[] = {1, 4, 2};
    const size_t recv_counts[] = {1, 0, 1};
    const struct plan_shape shape = {
        .size = 3,
        .counts = counts,
        .recv_counts = recv_counts,
        .is_in_place = true,
    };
    struct plan plan = {0};

    (void)state;
    assert_int_equal(pairwise->n_scratch(&shape), 5);
    pairwise_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].from.count, 5);
    assert_int_equal(plan.steps[1].peer, 1);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[1].from.first, 1);
    assert_int_equal(plan.steps[2].peer, 2);
    assert_int_equal(plan.steps[2].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[2].from.first, 5);
    assert_int_equal(plan.steps[3].kind, PLAN_STORE);
    assert_int_equal(plan.steps[3].to.first, 1);
    plan_deinit(&plan);
}

/* One element goes to both others, and what comes leaves a gap. */
static void
pairwise_blocks_begin_where_it_is_said(void **state)
{
    const size_t counts[] = {0, 1, 1};
    const size_t recv_counts[] = {0, 2, 3};
    const size_t firsts[] = {0, 7, 7};
    const size_t recv_displacements[] = {0, 10, 4};
    const struct plan_shape shape = {
        .size = 3,
        .counts = counts,
        .recv_counts = recv_counts,
        .firsts = firsts,
        .recv_displacements = recv_displacements,
    };
    struct plan plan = {0};

    (void)state;
    pairwise_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 4);
    for (size_t i = 0; i < plan.n_steps; i += 2) {
        assert_int_equal(plan.steps[i].kind, PLAN_SEND);
        assert_int_equal(plan.steps[i].from.first, 7);
        assert_int_equal(plan.steps[i + 1].kind, PLAN_STORE);
        assert_int_equal(plan.steps[i + 1].to.first,
                         recv_displacements[plan.steps[i + 1].peer]);
        assert_int_equal(plan.steps[i + 1].to.count,
                         recv_counts[plan.steps[i + 1].peer]);
    }
    plan_deinit(&plan);
}

static void
pairwise_alone_copies_or_rests(void **state)
{
    struct plan_shape shape = {.size = 1, .count = 3};
    struct plan plan = {0};

    (void)state;
    pairwise_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    shape.is_in_place = true;
    pairwise_plan(&plan, &shape);
    assert_int_equal(plan.n_steps, 0);
    plan_deinit(&plan);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairwise_partners_are_mutual_and_all_met),
        cmocka_unit_test(pairwise_in_place_keeps_two_blocks),
        cmocka_unit_test(pairwise_in_place_saves_what_is_written_over),
        cmocka_unit_test(pairwise_blocks_begin_where_it_is_said),
        cmocka_unit_test(pairwise_alone_copies_or_rests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
