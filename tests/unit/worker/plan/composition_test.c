/* tests/unit/worker/plan/composition_test.c - plan/composition.c */

#include "algorithms/algorithms.h"
#include "check.h"
#include "plan/composition.h"
#include "plan/nodes.h"

/* Three nodes of two ranks: 0 4, 1 2, 3 5. */
static const uint32_t names[] = {0, 1, 1, 2, 0, 2};

static int
nodes_setup(void **state)
{
    struct plan_nodes *nodes = NULL;

    assert_ok(plan_nodes_create(names, 6, &nodes));
    *state = nodes;
    return 0;
}

static int
nodes_teardown(void **state)
{
    plan_nodes_destroy(*state);
    return 0;
}

static struct plan_shape
shape_of(void **state, uint32_t rank)
{
    return (struct plan_shape){
        .rank = rank, .size = 6, .count = 4, .granule = 1, .nodes = *state};
}

/* A chain of reductions among the leaders, from scratch to the output. */
static struct composition_part
reduce_of(const struct plan_shape *shape)
{
    return (struct composition_part){
        .algorithm = &algorithm_reduce_chain,
        .team = team_of_leaders(shape, 0),
        .shape = {.count = 4, .granule = 1},
        .input = {.buffer = PLAN_SCRATCH, .first = 2},
        .output = {.buffer = PLAN_OUTPUT, .first = 3},
        .end = COMPOSITION_FINAL,
        .round_end = UINT32_MAX,
    };
}

static void
composition_plan(const struct composition *composition, struct plan *plan)
{
    plan_clear(plan);
    for (uint32_t i = 0; i < composition_n_rounds(composition); i++)
        composition_plan_round(composition, plan, i);
}

/* Rank 3 is the last of the leaders 0 1 3: 1 -> 3 -> 0. */
static void
composition_part_is_fitted_into_the_whole(void **state)
{
    const struct plan_shape shape = shape_of(state, 3);
    struct composition composition = {.shape = &shape, .n_reserved_scratch = 6};
    const struct composition_part part = reduce_of(&shape);
    struct plan plan = {0};

    composition_add_part(&composition, &part);
    composition_add_part(&composition, &part);
    assert_int_equal(composition_n_rounds(&composition), 4);
    assert_int_equal(composition_n_scratch(&composition), 6 + 4);
    composition_plan(&composition, &plan);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_REDUCE);
    assert_int_equal(plan.steps[0].peer, 1);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[0].from.first, 2);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[0].to.first, 6);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 0);
    assert_int_not_equal(plan.steps[1].message, plan.steps[3].message);
    plan_deinit(&plan);
}

static void
composition_partial_part_is_not_final(void **state)
{
    const struct plan_shape shape = shape_of(state, 0);
    struct composition composition = {.shape = &shape};
    struct composition_part part = reduce_of(&shape);
    struct plan plan = {0};

    part.end = COMPOSITION_PARTIAL;
    composition_add_part(&composition, &part);
    part.end = COMPOSITION_FINAL;
    composition_add_part(&composition, &part);
    composition_plan(&composition, &plan);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].to.first, 3);
    assert_false(plan.steps[0].is_final);
    assert_true(plan.steps[1].is_final);
    plan_deinit(&plan);
}

static void
composition_part_of_others_has_no_rounds(void **state)
{
    const struct plan_shape shape = shape_of(state, 4);
    struct composition composition = {.shape = &shape};
    const struct composition_part part = reduce_of(&shape);

    composition_add_part(&composition, &part);
    assert_int_equal(composition_n_rounds(&composition), 0);
    assert_int_equal(composition_n_scratch(&composition), 0);
}

static void
composition_part_may_be_some_rounds(void **state)
{
    const struct plan_shape shape = shape_of(state, 3);
    struct composition composition = {.shape = &shape};
    struct composition_part part = reduce_of(&shape);
    struct plan plan = {0};

    part.round_begin = 1;
    composition_add_part(&composition, &part);
    assert_int_equal(composition_n_rounds(&composition), 1);
    composition_plan(&composition, &plan);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    plan_deinit(&plan);
}

/* Of the leaders of nodes, rank 1 gives its node's blocks, which stand side by
 * side, to rank 3 in one message, and takes those of rank 0's node in two. */
static void
composition_blocks_are_messages_where_they_stand(void **state)
{
    const struct plan_shape shape = shape_of(state, 1);
    struct composition composition = {.shape = &shape};
    const struct composition_part part = {
        .algorithm = &algorithm_allgather_ring,
        .team = team_of_leaders(&shape, 0),
        .shape = {.count = 1, .granule = 1, .is_in_place = true},
        .unit = COMPOSITION_UNIT_RANK_BLOCKS,
        .round_end = 1,
    };
    struct plan plan = {0};

    composition_add_part(&composition, &part);
    composition_plan(&composition, &plan);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 3);
    assert_int_equal(plan.steps[0].from.first, 4);
    assert_int_equal(plan.steps[0].from.count, 8);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].peer, 0);
    assert_int_equal(plan.steps[1].to.first, 0);
    assert_int_equal(plan.steps[1].to.count, 4);
    assert_int_equal(plan.steps[2].kind, PLAN_STORE);
    assert_int_equal(plan.steps[2].to.first, 16);
    assert_int_not_equal(plan.steps[1].message, plan.steps[2].message);
    plan_deinit(&plan);
}

/* Nodes 0: ranks 0 3, 1: ranks 1 2 5, 2: rank 4. */
static const uint32_t team_names[] = {7, 3, 3, 7, 9, 3};

static struct plan_nodes *
team_nodes_create(void)
{
    struct plan_nodes *nodes = NULL;

    assert_ok(plan_nodes_create(team_names, 6, &nodes));
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
    struct plan_nodes *nodes = team_nodes_create();
    const struct plan_shape shape = {.rank = 2, .size = 6, .nodes = nodes};
    const struct team team = team_of_node(&shape);

    team_check(&team, (const uint32_t[]){1, 2, 5}, 3);
    assert_int_equal(team_own_index(&team), 1);
    plan_nodes_destroy(nodes);
}

static void
team_of_leaders_has_the_root(void **state)
{
    struct plan_nodes *nodes = team_nodes_create();
    const struct plan_shape shape = {.rank = 1, .size = 6, .nodes = nodes};
    struct team team = team_of_leaders(&shape, 0);

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

    assert_ok(plan_nodes_create((const uint32_t[]){0, 1, 1, 0}, 4, &nodes));
    const struct plan_shape shape = {.rank = 2, .size = 4, .nodes = nodes};
    const struct team team = team_of_local_rank(&shape);
    team_check(&team, (const uint32_t[]){3, 2}, 2);
    assert_int_equal(team_own_index(&team), 1);
    plan_nodes_destroy(nodes);
}

static void
team_nodes_are_equal_tells_sizes(void **state)
{
    struct plan_nodes *nodes = team_nodes_create();
    struct plan_shape shape = {.size = 6, .nodes = nodes};

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
    struct plan_nodes *nodes = team_nodes_create();
    const struct plan_shape shape = {.rank = 1, .size = 6, .nodes = nodes};
    struct team team = team_of_leaders(&shape, 0);
    struct team_represented_ranks share = team_represented_ranks(&team, 1, 2);

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
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(composition_part_is_fitted_into_the_whole),
        cmocka_unit_test(composition_partial_part_is_not_final),
        cmocka_unit_test(composition_part_of_others_has_no_rounds),
        cmocka_unit_test(composition_part_may_be_some_rounds),
        cmocka_unit_test(composition_blocks_are_messages_where_they_stand),
        cmocka_unit_test(team_of_node_is_who_shares_it),
        cmocka_unit_test(team_of_leaders_has_the_root),
        cmocka_unit_test(team_of_local_rank_has_one_of_each_node),
        cmocka_unit_test(team_nodes_are_equal_tells_sizes),
        cmocka_unit_test(team_without_nodes_is_everybody),
        cmocka_unit_test(team_share_is_a_node_or_a_rank),
    };

    return cmocka_run_group_tests(tests, nodes_setup, nodes_teardown);
}
