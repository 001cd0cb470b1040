/* tests/unit/worker/plan/simulation_graph_test.c - what waits for what */

#include "base/limits.h"
#include "check.h"
#include "plan/catalog.h"
#include "plan/simulation_graph.h"
#include "plan/tracker.h"

static const struct simulation_machine machine = {.n_processors = 1};

static struct simulation_scene
scene_of(const struct simulation_cast *cast, const struct algorithm *algorithm)
{
    return (struct simulation_scene){
        .cast = cast,
        .algorithm = algorithm,
        .machine = &machine,
        .element_size = 4,
        .rounds = {.end = UINT32_MAX},
    };
}

/* One after the other, the steps that actor may open now. */
static void
steps_compare(struct simulation_graph *graph,
              const struct tracker *tracker,
              uint32_t actor)
{
    const struct track *track = TAILQ_FIRST(&tracker->active);

    while (simulation_graph_has_room(graph, actor)) {
        uint32_t i = SIMULATION_END;

        assert_int_equal(simulation_graph_open(graph, actor, &i), HOOP_OK);
        for (; i != SIMULATION_END; i = graph->steps[i].next) {
            const struct simulation_step *step = &graph->steps[i];
            const bool waits = tracker_limit(tracker, track) < track->total;

            assert_non_null(track);
            assert_int_equal(step->round, track->round);
            assert_int_equal((uint64_t)step->flow.bytes, track->total);
            assert_int_equal(step->n_awaited > 0, waits);
            track = TAILQ_NEXT(track, link);
        }
    }
    assert_null(track);
}

static void
shape_compare(const struct algorithm *algorithm, const struct plan_shape *shape)
{
    const struct simulation_cast cast = simulation_cast_full(shape);
    const struct simulation_scene scene = scene_of(&cast, algorithm);
    struct simulation_graph graph;

    assert_int_equal(simulation_graph_init(&graph, &scene), HOOP_OK);
    for (uint32_t actor = 0; actor < shape->size; actor++) {
        struct plan_shape own = *shape;
        struct tracker tracker = {0};
        struct track *first = NULL;

        own.rank = actor;
        tracker_init(&tracker, algorithm, &own, scene.element_size);
        assert_int_equal(tracker_refill(&tracker, &first), HOOP_OK);
        steps_compare(&graph, &tracker, actor);
        tracker_deinit(&tracker);
    }
    simulation_graph_deinit(&graph);
}

static void
steps_wait_where_the_tracker_has_them_wait(void **state)
{
    size_t n = 0;
    const struct catalog_entry *entries = catalog_entries(&n);

    (void)state;
    for (size_t i = 0; i < n; i++)
        for (uint32_t size = 1; size <= 9; size++) {
            struct plan_shape shape = {
                .size = size, .root = size / 2, .count = 20, .granule = 1};

            shape_compare(entries[i].algorithm, &shape);
            shape.is_in_place = true;
            shape_compare(entries[i].algorithm, &shape);
        }
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
    plan_copy(plan, (struct plan_span){PLAN_OUTPUT, round, 1},
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
    const struct simulation_cast cast = simulation_cast_full(&shape);
    const struct simulation_scene scene = scene_of(&cast, &staircase);
    struct simulation_graph graph;
    uint32_t first = SIMULATION_END;
    uint32_t step = SIMULATION_END;

    (void)state;
    assert_int_equal(simulation_graph_init(&graph, &scene), HOOP_OK);
    for (int i = 0; i < LIMIT_TRACKER_ROUNDS; i++) {
        assert_true(simulation_graph_has_room(&graph, 0));
        assert_int_equal(simulation_graph_open(&graph, 0, &step), HOOP_OK);
        first = i == 0 ? step : first;
    }
    assert_false(simulation_graph_has_room(&graph, 0));

    graph.steps[first].flow.end_ns = 77;
    simulation_graph_settle(&graph, first);
    step = simulation_graph_next_follower(&graph, first);
    assert_int_equal(graph.steps[step].round, 1);
    assert_int_equal(graph.steps[step].n_awaited, 0);
    assert_true(graph.steps[step].flow.start_ns > 76);
    assert_int_equal(simulation_graph_next_follower(&graph, first),
                     SIMULATION_END);

    /* What is opened in its place does not begin before it has ended. */
    assert_true(simulation_graph_has_room(&graph, 0));
    assert_int_equal(simulation_graph_open(&graph, 0, &step), HOOP_OK);
    assert_true(graph.steps[step].flow.start_ns > 76);
    assert_false(simulation_graph_has_room(&graph, 0));
    simulation_graph_deinit(&graph);
}

static void
part_of_the_rounds_begins_without_a_past(void **state)
{
    const struct plan_shape shape = {.size = 1, .granule = 1};
    const struct simulation_cast cast = simulation_cast_full(&shape);
    struct simulation_scene scene = scene_of(&cast, &staircase);
    struct simulation_graph graph;
    uint32_t step = SIMULATION_END;

    (void)state;
    scene.rounds = (struct simulation_rounds){5, 7};
    assert_int_equal(simulation_graph_init(&graph, &scene), HOOP_OK);
    assert_int_equal(simulation_graph_open(&graph, 0, &step), HOOP_OK);
    assert_int_equal(graph.steps[step].round, 5);
    assert_int_equal(graph.steps[step].n_awaited, 0);
    assert_int_equal(simulation_graph_open(&graph, 0, &step), HOOP_OK);
    assert_int_equal(graph.steps[step].n_awaited, 1);
    assert_false(simulation_graph_has_room(&graph, 0));
    simulation_graph_deinit(&graph);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_wait_where_the_tracker_has_them_wait),
        cmocka_unit_test(rounds_are_opened_as_those_before_are_settled),
        cmocka_unit_test(part_of_the_rounds_begins_without_a_past),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
