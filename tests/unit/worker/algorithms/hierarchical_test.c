/*
 * tests/unit/worker/algorithms/hierarchical_test.c - algorithms/hierarchical.c
 *
 * What the algorithms by nodes are for: little crosses the network. That they
 * are right is proved in tests/sim.
 */

#include "algorithms/algorithms.h"
#include "base/cleanup.h"
#include "check.h"
#include "plan/nodes.h"

/* Dealt to three nodes, and then one more to the first. */
static const uint32_t mixed_names[] = {0, 1, 2, 0, 1, 2, 0};

enum {
    SIZE = COUNT_OF(mixed_names),
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
    if (step->kind != PLAN_SEND ||
        mixed_names[step->peer] == mixed_names[shape->rank])
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

    assert_ok(plan_nodes_create(mixed_names, SIZE, &nodes));
    for (uint32_t rank = 0; rank < SIZE; rank++) {
        const struct plan_shape shape = {.rank = rank,
                                         .size = SIZE,
                                         .root = 4,
                                         .count = COUNT,
                                         .granule = 1,
                                         .nodes = nodes};

        plan_clear(&plan);
        for (uint32_t i = 0; i < algorithm_n_rounds(algorithm, &shape); i++)
            algorithm_plan_round(algorithm, &plan, &shape, i);
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
    assert_int_equal(traffic_of(&algorithm_broadcast_hierarchical).n_messages,
                     2);
    assert_int_equal(
        traffic_of(&algorithm_broadcast_hierarchical_tree).n_messages, 2);
    assert_int_equal(traffic_of(&algorithm_broadcast_chain).n_messages, 5);
}

static void
hierarchy_reduce_leaves_each_node_once(void **state)
{
    assert_int_equal(traffic_of(&algorithm_reduce_hierarchical).n_messages, 2);
    assert_int_equal(traffic_of(&algorithm_reduce_hierarchical_tree).n_messages,
                     2);
}

/* Of each block: once to each of the two other nodes. */
static void
hierarchy_allgather_brings_each_block_once(void **state)
{
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
    assert_int_equal(traffic_of(&algorithm_allreduce_hierarchical).n_elements,
                     2 * 2 * COUNT);
    assert_int_equal(
        traffic_of(&algorithm_allreduce_hierarchical_tree).n_elements,
        4 * COUNT);
}

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
    assert_ok(plan_nodes_create(names, 2 * n_each, &nodes));
    const struct plan_shape shape = {.rank = rank,
                                     .size = 2 * n_each,
                                     .count = count,
                                     .granule = 1,
                                     .nodes = nodes};
    for (uint32_t i = 0; i < algorithm_n_rounds(hierarchical, &shape); i++)
        algorithm_plan_round(hierarchical, &plan, &shape, i);
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

    assert_ok(plan_nodes_create(names, 4, &nodes));
    for (uint32_t rank = 0; rank < 4; rank++) {
        const struct plan_shape shape = {
            .rank = rank, .size = 4, .count = 16, .granule = 1, .nodes = nodes};
        struct plan plan = {0};

        for (uint32_t i = 0; i < algorithm_n_rounds(hierarchical, &shape); i++)
            algorithm_plan_round(hierarchical, &plan, &shape, i);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hierarchy_broadcast_reaches_each_node_once),
        cmocka_unit_test(hierarchy_reduce_leaves_each_node_once),
        cmocka_unit_test(hierarchy_allgather_brings_each_block_once),
        cmocka_unit_test(hierarchy_allreduce_is_that_of_the_nodes),
        cmocka_unit_test(allreduce_hierarchical_each_rank_sends_its_share),
        cmocka_unit_test(allreduce_hierarchical_is_final_between_nodes_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
