/*
 * tests/unit/worker/algorithms/allreduce_hierarchical_test.c - what nodes exchange
 */

#include "algorithms/algorithms.h"
#include "check.h"
#include "plan/nodes.h"

static const struct algorithm *const hierarchical =
    &algorithm_allreduce_hierarchical;

/* Elements that a rank sends to another node; two nodes side by side. */
static size_t
sent_between(uint32_t rank, uint32_t n_each, size_t count)
{
    uint32_t names[8] = {0};
    struct plan_nodes *nodes = NULL;
    struct plan plan = {0};
    size_t n_elements = 0;

    for (uint32_t i = n_each; i < 2 * n_each; i++)
        names[i] = 1;
    assert_int_equal(plan_nodes_create(names, 2 * n_each, &nodes), HOOP_OK);
    const struct plan_shape shape = {.rank = rank,
                                     .size = 2 * n_each,
                                     .count = count,
                                     .granule = 1,
                                     .nodes = nodes};
    for (uint32_t i = 0; i < hierarchical->n_rounds(&shape); i++)
        hierarchical->plan_round(&plan, &shape, i);
    for (size_t i = 0; i < plan.n_steps; i++) {
        const struct plan_step *step = &plan.steps[i];

        if (step->kind == PLAN_SEND && names[step->peer] != names[rank])
            n_elements += step->from.count;
    }
    plan_deinit(&plan);
    plan_nodes_destroy(nodes);
    return n_elements;
}

static void
allreduce_hierarchical_each_rank_sends_its_share(void **state)
{
    (void)state;
    for (uint32_t rank = 0; rank < 8; rank++)
        assert_int_equal(sent_between(rank, 4, 80), 20);
    assert_int_equal(sent_between(0, 1, 80), 80);
}

/* Each block is divided once for AVG, in the part between the nodes. */
static void
allreduce_hierarchical_is_final_between_nodes_only(void **state)
{
    static const uint32_t names[] = {0, 1, 0, 1};
    struct plan_nodes *nodes = NULL;
    size_t n_final = 0;

    (void)state;
    assert_int_equal(plan_nodes_create(names, 4, &nodes), HOOP_OK);
    for (uint32_t rank = 0; rank < 4; rank++) {
        const struct plan_shape shape = {
            .rank = rank, .size = 4, .count = 16, .granule = 1, .nodes = nodes};
        struct plan plan = {0};

        for (uint32_t i = 0; i < hierarchical->n_rounds(&shape); i++)
            hierarchical->plan_round(&plan, &shape, i);
        for (size_t i = 0; i < plan.n_steps; i++) {
            if (!plan.steps[i].is_final)
                continue;
            assert_int_not_equal(names[plan.steps[i].peer], names[rank]);
            n_final += plan.steps[i].to.count;
        }
        plan_deinit(&plan);
    }
    assert_int_equal(n_final, 16);
    plan_nodes_destroy(nodes);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_hierarchical_each_rank_sends_its_share),
        cmocka_unit_test(allreduce_hierarchical_is_final_between_nodes_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
