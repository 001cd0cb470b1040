/* tests/unit/worker/model/simulation_mapping_test.c - who may stand for all */

#include "algorithms/algorithms.h"
#include "check.h"
#include "model/simulation_mapping.h"
#include "plan/nodes.h"

enum {
    RANKS_MAX = 64
};

/* per_node ranks on each; the last may have fewer. */
static struct plan_nodes *
nodes_of(uint32_t n_ranks, uint32_t per_node)
{
    uint32_t names[RANKS_MAX];
    struct plan_nodes *nodes = NULL;

    for (uint32_t rank = 0; rank < n_ranks; rank++)
        names[rank] = rank / per_node;
    assert_ok(plan_nodes_create(names, n_ranks, &nodes));
    return nodes;
}

static bool
is_fair(const struct algorithm *algorithm,
        const struct plan_shape *shape,
        struct simulation_mapping *out_mapping)
{
    bool fair = false;

    assert_ok(
        simulation_mapping_make_reduced(shape, algorithm, out_mapping, &fair));
    return fair;
}

static void
full_mapping_has_everybody(void **state)
{
    struct plan_nodes *nodes = nodes_of(6, 2);
    const struct plan_shape shape = {.size = 6, .granule = 1, .nodes = nodes};
    const struct simulation_mapping mapping =
        simulation_mapping_make_full(&shape);

    assert_int_equal(mapping.n_vranks, 6);
    assert_int_equal(mapping.n_nodes, 3);
    for (uint32_t rank = 0; rank < 6; rank++) {
        assert_int_equal(simulation_mapping_rank_of(&mapping, rank), rank);
        assert_int_equal(simulation_mapping_vrank_of(&mapping, rank), rank);
        assert_int_equal(simulation_mapping_node_of(&mapping, rank), rank / 2);
    }
    assert_false(simulation_mapping_crosses_nodes(&mapping, 2, 3));
    assert_true(simulation_mapping_crosses_nodes(&mapping, 3, 4));
    plan_nodes_destroy(nodes);
}

static void
ring_on_one_node_needs_one_vrank(void **state)
{
    const struct plan_shape shape = {.size = 12, .granule = 1, .count = 120};
    struct simulation_mapping mapping;

    assert_true(is_fair(&algorithm_allreduce_ring, &shape, &mapping));
    assert_int_equal(mapping.n_vranks, 1);
    assert_int_equal(mapping.n_represented_ranks, 12);
    assert_false(simulation_mapping_crosses_nodes(&mapping, 0, 1));
    assert_int_equal(simulation_mapping_vrank_of(&mapping, 7), 0);
}

static void
ring_on_lonely_nodes_needs_one_vrank(void **state)
{
    struct plan_nodes *nodes = nodes_of(12, 1);
    const struct plan_shape shape = {
        .size = 12, .granule = 1, .count = 120, .nodes = nodes};
    struct simulation_mapping mapping;

    assert_true(is_fair(&algorithm_allreduce_ring, &shape, &mapping));
    assert_int_equal(mapping.n_vranks, 1);
    assert_int_equal(mapping.n_represented_ranks, 1);
    assert_true(simulation_mapping_crosses_nodes(&mapping, 0, 1));
    plan_nodes_destroy(nodes);
}

static void
ring_on_equal_nodes_needs_one_node(void **state)
{
    struct plan_nodes *nodes = nodes_of(12, 4);
    const struct plan_shape shape = {
        .size = 12, .granule = 1, .count = 120, .nodes = nodes};
    struct simulation_mapping mapping;

    assert_true(is_fair(&algorithm_allreduce_ring, &shape, &mapping));
    assert_int_equal(mapping.n_vranks, 4);
    assert_int_equal(mapping.n_nodes, 1);
    assert_int_equal(simulation_mapping_vrank_of(&mapping, 6), 2);
    assert_false(simulation_mapping_crosses_nodes(&mapping, 2, 3));
    assert_true(simulation_mapping_crosses_nodes(&mapping, 3, 4));
    plan_nodes_destroy(nodes);
}

/* What the last of a node sends to the next node, the first of it takes. */
static void
address_of_both_ends_is_the_same(void **state)
{
    struct plan_nodes *nodes = nodes_of(12, 4);
    const struct plan_shape shape = {
        .size = 12, .granule = 1, .count = 120, .nodes = nodes};
    const struct plan_step send = {.kind = PLAN_SEND, .peer = 4, .message = 9};
    const struct plan_step take = {
        .kind = PLAN_STORE, .peer = 11, .message = 9};
    struct simulation_mapping mapping;

    assert_true(is_fair(&algorithm_allreduce_ring, &shape, &mapping));

    const struct simulation_message_address from =
        simulation_mapping_address_of(&mapping, 3, &send);
    const struct simulation_message_address to =
        simulation_mapping_address_of(&mapping, 0, &take);

    assert_int_equal(from.from, 3);
    assert_int_equal(from.to, 0);
    assert_true(from.crosses);
    assert_int_equal(to.from, from.from);
    assert_int_equal(to.to, from.to);
    assert_int_equal(to.message, from.message);
    assert_int_equal(to.crosses, from.crosses);
    plan_nodes_destroy(nodes);
}

static void
unequal_nodes_have_no_small_mapping(void **state)
{
    struct plan_nodes *nodes = nodes_of(11, 4);
    const struct plan_shape shape = {
        .size = 11, .granule = 1, .count = 110, .nodes = nodes};
    struct simulation_mapping mapping;

    assert_false(is_fair(&algorithm_allreduce_ring, &shape, &mapping));
    plan_nodes_destroy(nodes);
}

static void
roots_and_leftovers_have_no_small_mapping(void **state)
{
    struct plan_shape shape = {.size = 12, .granule = 1, .count = 120};
    struct simulation_mapping mapping;

    for (shape.root = 0; shape.root < 12; shape.root++) {
        assert_false(is_fair(&algorithm_broadcast_chain, &shape, &mapping));
        assert_false(is_fair(&algorithm_broadcast_binomial, &shape, &mapping));
    }
    shape.root = 0;
    assert_false(
        is_fair(&algorithm_allreduce_recursive_doubling, &shape, &mapping));
    shape.size = 16;
    assert_true(
        is_fair(&algorithm_allreduce_recursive_doubling, &shape, &mapping));
}

static void
blocks_may_differ_by_a_granule_but_not_be_missing(void **state)
{
    struct plan_shape shape = {.size = 12, .granule = 4, .count = 150};
    struct simulation_mapping mapping;

    assert_true(is_fair(&algorithm_allreduce_ring, &shape, &mapping));
    shape.count = 20;
    assert_false(is_fair(&algorithm_allreduce_ring, &shape, &mapping));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_mapping_has_everybody),
        cmocka_unit_test(ring_on_one_node_needs_one_vrank),
        cmocka_unit_test(ring_on_lonely_nodes_needs_one_vrank),
        cmocka_unit_test(ring_on_equal_nodes_needs_one_node),
        cmocka_unit_test(address_of_both_ends_is_the_same),
        cmocka_unit_test(unequal_nodes_have_no_small_mapping),
        cmocka_unit_test(roots_and_leftovers_have_no_small_mapping),
        cmocka_unit_test(blocks_may_differ_by_a_granule_but_not_be_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
