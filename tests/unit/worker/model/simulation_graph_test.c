/* tests/unit/worker/model/simulation_graph_test.c - rounds come and go */

#include "base/limits.h"
#include "check.h"
#include "model/simulation_graph.h"

static const struct simulation_machine machine = {.n_processors = 1};

static struct simulation_setup
setup_of(const struct simulation_mapping *mapping,
         const struct algorithm *algorithm)
{
    return (struct simulation_setup){
        .mapping = mapping,
        .algorithm = algorithm,
        .machine = &machine,
        .element_size = 4,
        .rounds = {.end = UINT32_MAX},
    };
}

/* Round r copies element r to element r+1: each waits for the one before. */
static uint32_t
staircase_rounds(const struct plan_shape *shape)
{
    (void)shape;
    return 3 * LIMIT_TRACKER_ROUNDS;
}

static void
staircase_round(struct plan *plan,
                const struct plan_shape *shape,
                uint32_t round)
{
    (void)shape;
    plan_add_copy(plan, (struct plan_span){PLAN_OUTPUT, round, 1},
                  (struct plan_span){PLAN_OUTPUT, (size_t)round + 1, 1});
}

static const struct algorithm staircase = {
    .name = "staircase",
    .n_rounds = staircase_rounds,
    .plan_round = staircase_round,
};

static void
rounds_are_opened_as_those_before_are_settled(void **state)
{
    const struct plan_shape shape = {.size = 1, .granule = 1};
    const struct simulation_mapping mapping =
        simulation_mapping_make_full(&shape);
    const struct simulation_setup setup = setup_of(&mapping, &staircase);
    struct simulation_graph graph;
    uint32_t first = SIMULATION_END;
    uint32_t step = SIMULATION_END;

    (void)state;
    assert_int_equal(simulation_graph_init(&graph, &setup), HOOP_OK);
    for (int i = 0; i < LIMIT_TRACKER_ROUNDS; i++) {
        assert_true(simulation_graph_can_open_round(&graph, 0));
        assert_int_equal(simulation_graph_open_round(&graph, 0, &step),
                         HOOP_OK);
        first = i == 0 ? step : first;
    }
    assert_false(simulation_graph_can_open_round(&graph, 0));

    graph.steps[first].flow.end_ns = 77;
    simulation_graph_settle_step(&graph, first);
    step = simulation_graph_pop_follower(&graph, first);
    assert_int_equal(graph.steps[step].round, 1);
    assert_int_equal(graph.steps[step].n_awaited, 0);
    assert_true(graph.steps[step].flow.start_ns > 76);
    assert_int_equal(simulation_graph_pop_follower(&graph, first),
                     SIMULATION_END);

    /* What is opened in its place does not begin before it has ended. */
    assert_true(simulation_graph_can_open_round(&graph, 0));
    assert_int_equal(simulation_graph_open_round(&graph, 0, &step), HOOP_OK);
    assert_true(graph.steps[step].flow.start_ns > 76);
    assert_false(simulation_graph_can_open_round(&graph, 0));
    simulation_graph_deinit(&graph);
}

static void
part_of_the_rounds_begins_without_a_past(void **state)
{
    const struct plan_shape shape = {.size = 1, .granule = 1};
    const struct simulation_mapping mapping =
        simulation_mapping_make_full(&shape);
    struct simulation_setup setup = setup_of(&mapping, &staircase);
    struct simulation_graph graph;
    uint32_t step = SIMULATION_END;

    (void)state;
    setup.rounds = (struct simulation_round_range){5, 7};
    assert_int_equal(simulation_graph_init(&graph, &setup), HOOP_OK);
    assert_int_equal(simulation_graph_open_round(&graph, 0, &step), HOOP_OK);
    assert_int_equal(graph.steps[step].round, 5);
    assert_int_equal(graph.steps[step].n_awaited, 0);
    assert_int_equal(simulation_graph_open_round(&graph, 0, &step), HOOP_OK);
    assert_int_equal(graph.steps[step].n_awaited, 1);
    assert_false(simulation_graph_can_open_round(&graph, 0));
    simulation_graph_deinit(&graph);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_are_opened_as_those_before_are_settled),
        cmocka_unit_test(part_of_the_rounds_begins_without_a_past),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
