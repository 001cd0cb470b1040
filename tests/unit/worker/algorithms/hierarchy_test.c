/*
 * tests/unit/worker/algorithms/hierarchy_test.c - algorithms/hierarchy.c
 *
 * What the algorithms by nodes are for: little crosses the network. That they
 * are right is proved in tests/sim.
 */

#include "algorithms/algorithms.h"
#include "algorithms/hierarchy.h"
#include "base/cleanup.h"
#include "check.h"
#include "plan/nodes.h"

/* Dealt to three nodes, and then one more to the first. */
static const uint32_t names[] = {0, 1, 2, 0, 1, 2, 0};

enum {
    SIZE = COUNT_OF(names),
    COUNT = 10,
};

struct traffic {
    size_t n_messages; /* between nodes, of all ranks */
    size_t n_elements;
};

static void
traffic_add(struct traffic *traffic,
            const struct plan_shape *shape,
            const struct plan_step *step)
{
    if (step->kind != PLAN_SEND || names[step->peer] == names[shape->rank])
        return;
    traffic->n_messages++;
    traffic->n_elements += step->from.count;
}

static struct traffic
traffic_of(const struct algorithm *algorithm)
{
    struct traffic traffic = {0};
    struct plan_nodes *nodes = NULL;
    struct plan plan = {0};

    assert_int_equal(plan_nodes_create(names, SIZE, &nodes), HOOP_OK);
    for (uint32_t rank = 0; rank < SIZE; rank++) {
        const struct plan_shape shape = {.rank = rank,
                                         .size = SIZE,
                                         .root = 4,
                                         .count = COUNT,
                                         .granule = 1,
                                         .nodes = nodes};

        plan_clear(&plan);
        for (uint32_t i = 0; i < algorithm->n_rounds(&shape); i++)
            algorithm->plan_round(&plan, &shape, i);
        for (size_t i = 0; i < plan.n_steps; i++)
            traffic_add(&traffic, &shape, &plan.steps[i]);
    }
    plan_deinit(&plan);
    plan_nodes_destroy(nodes);
    return traffic;
}

static void
hierarchy_broadcast_reaches_each_node_once(void **state)
{
    (void)state;
    assert_int_equal(traffic_of(&algorithm_broadcast_hierarchical).n_messages,
                     2);
    assert_int_equal(
        traffic_of(&algorithm_broadcast_hierarchical_tree).n_messages, 2);
    assert_int_equal(traffic_of(&algorithm_broadcast_chain).n_messages, 5);
}

static void
hierarchy_reduce_leaves_each_node_once(void **state)
{
    (void)state;
    assert_int_equal(traffic_of(&algorithm_reduce_hierarchical).n_messages, 2);
    assert_int_equal(traffic_of(&algorithm_reduce_hierarchical_tree).n_messages,
                     2);
}

/* Of each block: once to each of the two other nodes. */
static void
hierarchy_allgather_brings_each_block_once(void **state)
{
    (void)state;
    assert_int_equal(traffic_of(&algorithm_allgather_hierarchical).n_elements,
                     2 * SIZE * COUNT);
    assert_int_equal(
        traffic_of(&algorithm_allgather_hierarchical_tree).n_elements,
        2 * SIZE * COUNT);
    assert_true(traffic_of(&algorithm_allgather_ring).n_elements >
                2 * SIZE * COUNT);
}

/* A ring of three, or doubling of three: one is folded. */
static void
hierarchy_allreduce_is_that_of_the_nodes(void **state)
{
    (void)state;
    assert_int_equal(traffic_of(&algorithm_allreduce_hierarchical).n_elements,
                     2 * 2 * COUNT);
    assert_int_equal(
        traffic_of(&algorithm_allreduce_hierarchical_tree).n_elements,
        4 * COUNT);
}

static void
hierarchy_shape_inside_is_the_node(void **state)
{
    struct plan_nodes *nodes = NULL;
    struct plan_shape inside;

    (void)state;
    assert_int_equal(plan_nodes_create(names, SIZE, &nodes), HOOP_OK);
    inside = hierarchy_node_shape(&(struct plan_shape){
        .rank = 6, .size = SIZE, .count = COUNT, .granule = 4, .nodes = nodes});
    assert_int_equal(inside.size, 3);
    assert_int_equal(inside.rank, 2);
    assert_int_equal(inside.count, COUNT);
    assert_int_equal(inside.granule, 4);
    assert_null(inside.nodes);
    plan_nodes_destroy(nodes);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(hierarchy_broadcast_reaches_each_node_once),
        cmocka_unit_test(hierarchy_reduce_leaves_each_node_once),
        cmocka_unit_test(hierarchy_allgather_brings_each_block_once),
        cmocka_unit_test(hierarchy_allreduce_is_that_of_the_nodes),
        cmocka_unit_test(hierarchy_shape_inside_is_the_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
