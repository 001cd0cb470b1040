/* tests/unit/worker/select/placement_test.c - select/tuning.c */

#include <stdio.h>

#include "check.h"
#include "default_config.h"
#include "select/tuning.h"

enum {
    N_RANKS = 6,
};

static struct roster *roster;
static struct engine *engine;
static struct config config;

static int
set_up(void **state)
{
    static const char *const hosts[N_RANKS] = {"b", "a", "b", "c", "a", "b"};

    assert_ok(roster_create(N_RANKS, &roster));
    for (uint32_t rank = 0; rank < N_RANKS; rank++) {
        roster->members[rank].rank = rank;
        snprintf(roster->members[rank].host_id, LIMIT_NAME, "%s", hosts[rank]);
    }
    default_config_init(&config);
    const struct engine_options options = {.roster = roster, .config = &config};
    assert_ok(engine_create(&options, &engine));
    return 0;
}

static int
tear_down(void **state)
{
    engine_destroy(engine);
    roster_destroy(roster);
    return 0;
}

static struct plan_nodes *
nodes_of(const uint32_t *ranks, uint32_t size)
{
    const struct context_options options = {
        .id = 1, .rank = 0, .size = size, .ranks = ranks, .timeout_ms = 1000};
    struct comm_context *context = NULL;
    struct plan_nodes *nodes = NULL;

    assert_ok(context_open(engine, &options, &context));
    assert_ok(placement_nodes_from_roster(context, roster, &nodes));
    context_close(context);
    return nodes;
}

static void
ranks_of_one_host_share_a_node(void **state)
{
    const uint32_t all[N_RANKS] = {0, 1, 2, 3, 4, 5};
    const uint32_t expected[N_RANKS] = {0, 1, 0, 2, 1, 0};
    struct plan_nodes *nodes = nodes_of(all, N_RANKS);

    assert_int_equal(nodes->n_nodes, 3);
    for (uint32_t rank = 0; rank < N_RANKS; rank++)
        assert_int_equal(nodes->node_of[rank], expected[rank]);
    plan_nodes_destroy(nodes);
}

static void
ranks_are_those_of_the_context(void **state)
{
    const uint32_t some[3] = {4, 3, 1};
    struct plan_nodes *nodes = nodes_of(some, 3);

    assert_int_equal(nodes->n_ranks, 3);
    assert_int_equal(nodes->n_nodes, 2);
    assert_int_equal(nodes->node_of[0], 0);
    assert_int_equal(nodes->node_of[1], 1);
    assert_int_equal(nodes->node_of[2], 0);
    plan_nodes_destroy(nodes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_one_host_share_a_node),
        cmocka_unit_test(ranks_are_those_of_the_context),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
