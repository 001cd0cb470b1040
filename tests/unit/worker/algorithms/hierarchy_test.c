/* tests/unit/worker/algorithms/hierarchy_test.c - algorithms/hierarchy.c */

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

/* Nodes 0: ranks 0 3, 1: ranks 1 2 5, 2: rank 4. */
static const uint32_t team_names[] = {7, 3, 3, 7, 9, 3};

static struct plan_nodes *
nodes_create(void)
{
    struct plan_nodes *nodes = NULL;

    assert_int_equal(plan_nodes_create(team_names, 6, &nodes), HOOP_OK);
    return nodes;
}

static void
team_check(const struct team *team, const uint32_t *ranks, uint32_t size)
{
    assert_int_equal(team_size(team), size);
    for (uint32_t place = 0; place < size; place++)
        assert_int_equal(team_rank_at(team, place), ranks[place]);
}

static void
team_of_node_is_who_shares_it(void **state)
{
    struct plan_nodes *nodes = nodes_create();
    const struct plan_shape shape = {.rank = 2, .size = 6, .nodes = nodes};
    const struct team team = team_of_node(&shape);

    (void)state;
    team_check(&team, (const uint32_t[]){1, 2, 5}, 3);
    assert_int_equal(team_own_index(&team), 1);
    plan_nodes_destroy(nodes);
}

static void
team_of_leaders_has_the_root(void **state)
{
    struct plan_nodes *nodes = nodes_create();
    const struct plan_shape shape = {.rank = 1, .size = 6, .nodes = nodes};
    struct team team = team_of_leaders(&shape, 0);

    (void)state;
    team_check(&team, (const uint32_t[]){0, 1, 4}, 3);
    assert_int_equal(team_own_index(&team), 1);
    assert_int_equal(team_leader_local_index(&shape, 0), 0);
    team = team_of_leaders(&shape, 5);
    team_check(&team, (const uint32_t[]){0, 5, 4}, 3);
    assert_int_equal(team_own_index(&team), 3);
    assert_int_equal(team_leader_local_index(&shape, 5), 2);
    plan_nodes_destroy(nodes);
}

static void
team_of_local_rank_has_one_of_each_node(void **state)
{
    struct plan_nodes *nodes = NULL;

    (void)state;
    assert_int_equal(
        plan_nodes_create((const uint32_t[]){0, 1, 1, 0}, 4, &nodes), HOOP_OK);
    const struct plan_shape shape = {.rank = 2, .size = 4, .nodes = nodes};
    const struct team team = team_of_local_rank(&shape);
    team_check(&team, (const uint32_t[]){3, 2}, 2);
    assert_int_equal(team_own_index(&team), 1);
    plan_nodes_destroy(nodes);
}

static void
team_nodes_are_equal_tells_sizes(void **state)
{
    struct plan_nodes *nodes = nodes_create();
    struct plan_shape shape = {.size = 6, .nodes = nodes};

    (void)state;
    assert_false(team_nodes_have_equal_size(&shape));
    shape.nodes = NULL;
    assert_true(team_nodes_have_equal_size(&shape));
    plan_nodes_destroy(nodes);
}

static void
team_without_nodes_is_everybody(void **state)
{
    const struct plan_shape shape = {.rank = 2, .size = 3};
    struct team team = team_of_node(&shape);

    (void)state;
    assert_int_equal(team_n_nodes(&shape), 1);
    team_check(&team, (const uint32_t[]){0, 1, 2}, 3);
    assert_int_equal(team_own_index(&team), 2);
    team = team_of_leaders(&shape, 1);
    team_check(&team, (const uint32_t[]){1}, 1);
    assert_int_equal(team_own_index(&team), 1);
    team = team_of_local_rank(&shape);
    team_check(&team, (const uint32_t[]){2}, 1);
}

static void
team_share_is_a_node_or_a_rank(void **state)
{
    struct plan_nodes *nodes = nodes_create();
    const struct plan_shape shape = {.rank = 1, .size = 6, .nodes = nodes};
    struct team team = team_of_leaders(&shape, 0);
    struct team_represented_ranks share = team_represented_ranks(&team, 1, 2);

    (void)state;
    assert_int_equal(share.first, 2);
    assert_int_equal(share.end, 6);
    assert_int_equal(team_rank_in_node_order(&shape, 4), 5);
    team = team_of_node(&shape);
    share = team_represented_ranks(&team, 2, 1);
    assert_int_equal(share.first, 4);
    assert_int_equal(share.end, 5);
    plan_nodes_destroy(nodes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hierarchy_shape_inside_is_the_node),
        cmocka_unit_test(team_of_node_is_who_shares_it),
        cmocka_unit_test(team_of_leaders_has_the_root),
        cmocka_unit_test(team_of_local_rank_has_one_of_each_node),
        cmocka_unit_test(team_nodes_are_equal_tells_sizes),
        cmocka_unit_test(team_without_nodes_is_everybody),
        cmocka_unit_test(team_share_is_a_node_or_a_rank),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
