/* tests/unit/worker/plan/nodes_test.c - ranks are sorted to their nodes */

#include "check.h"
#include "plan/nodes.h"

static void
nodes_are_numbered_by_their_lowest_rank(void **state)
{
    const uint32_t names[] = {70, 5, 70, 9, 5};
    const uint32_t node_of[] = {0, 1, 0, 2, 1};
    const uint32_t local_of[] = {0, 0, 1, 0, 1};
    struct plan_nodes *nodes = NULL;

    (void)state;
    assert_int_equal(plan_nodes_create(names, 5, &nodes), HOOP_OK);
    assert_int_equal(nodes->n_nodes, 3);
    for (uint32_t rank = 0; rank < 5; rank++) {
        assert_int_equal(nodes->node_of[rank], node_of[rank]);
        assert_int_equal(nodes->local_of[rank], local_of[rank]);
        assert_int_equal(
            plan_nodes_member_rank(nodes, node_of[rank], local_of[rank]), rank);
    }
    assert_int_equal(plan_nodes_node_size(nodes, 0), 2);
    assert_int_equal(plan_nodes_node_size(nodes, 1), 2);
    assert_int_equal(plan_nodes_node_size(nodes, 2), 1);
    assert_false(nodes->is_even);
    plan_nodes_destroy(nodes);
}

static void
nodes_with_as_many_ranks_each_are_even(void **state)
{
    const uint32_t names[] = {7, 5, 7, 9, 5, 9};
    struct plan_nodes *nodes = NULL;

    (void)state;
    assert_int_equal(plan_nodes_create(names, 6, &nodes), HOOP_OK);
    assert_true(nodes->is_even);
    plan_nodes_destroy(nodes);
    assert_int_equal(plan_nodes_create(names, 4, &nodes), HOOP_OK);
    assert_false(nodes->is_even);
    plan_nodes_destroy(nodes);
}

static void
nodes_of_one_rank_are_one(void **state)
{
    const uint32_t name = UINT32_MAX;
    struct plan_nodes *nodes = NULL;

    (void)state;
    assert_int_equal(plan_nodes_create(&name, 1, &nodes), HOOP_OK);
    assert_int_equal(nodes->n_nodes, 1);
    assert_int_equal(plan_nodes_member_rank(nodes, 0, 0), 0);
    plan_nodes_destroy(nodes);
    plan_nodes_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_numbered_by_their_lowest_rank),
        cmocka_unit_test(nodes_with_as_many_ranks_each_are_even),
        cmocka_unit_test(nodes_of_one_rank_are_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
