/* tests/unit/worker/model/simulation_dependency_test.c - what waits for what */

#include "algorithms/registry.h"
#include "check.h"
#include "model/simulation_graph.h"
#include "plan/tracker.h"

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

/* One after the other, the steps that vrank may open now. */
static void
steps_compare(struct simulation_graph *graph,
              const struct tracker *tracker,
              uint32_t vrank)
{
    const struct tracked_step *tracked_step = TAILQ_FIRST(&tracker->active);

    while (simulation_graph_can_open_round(graph, vrank)) {
        uint32_t i = SIMULATION_END;

        assert_int_equal(simulation_graph_open_round(graph, vrank, &i),
                         HOOP_OK);
        for (; i != SIMULATION_END; i = graph->steps[i].next) {
            const struct simulation_step *step = &graph->steps[i];
            const bool waits = tracker_step_limit_bytes(tracker, tracked_step) <
                               tracked_step->total;

            assert_non_null(tracked_step);
            assert_int_equal(step->round, tracked_step->round);
            assert_int_equal((uint64_t)step->flow.bytes, tracked_step->total);
            assert_int_equal(step->n_awaited > 0, waits);
            tracked_step = TAILQ_NEXT(tracked_step, link);
        }
    }
    assert_null(tracked_step);
}

static void
shape_compare(const struct algorithm *algorithm, const struct plan_shape *shape)
{
    const struct simulation_mapping mapping =
        simulation_mapping_make_full(shape);
    const struct simulation_setup setup = setup_of(&mapping, algorithm);
    struct simulation_graph graph;

    assert_int_equal(simulation_graph_init(&graph, &setup), HOOP_OK);
    for (uint32_t vrank = 0; vrank < shape->size; vrank++) {
        struct plan_shape own = *shape;
        struct tracker tracker = {0};
        struct tracked_step *first = NULL;

        own.rank = vrank;
        tracker_init(&tracker, algorithm, &own, setup.element_size);
        assert_int_equal(tracker_activate_rounds(&tracker, &first), HOOP_OK);
        steps_compare(&graph, &tracker, vrank);
        tracker_deinit(&tracker);
    }
    simulation_graph_deinit(&graph);
}

static void
steps_wait_where_the_tracker_has_them_wait(void **state)
{
    size_t n = 0;
    const struct registry_algorithm *entries = registry_all_entries(&n);

    (void)state;
    for (size_t i = 0; i < n; i++)
        for (uint32_t size = 1; size <= 9 && !entries[i].algorithm->is_shm;
             size++) {
            struct plan_shape shape = {
                .size = size, .root = size / 2, .count = 20, .granule = 1};

            shape_compare(entries[i].algorithm, &shape);
            shape.is_in_place = true;
            shape_compare(entries[i].algorithm, &shape);
        }
}

/* Rounds so full that they are indexed: each step shifts a block by the round
 * number, forwards or backwards, so that some meet two of the round before. */
enum {
    CROWD = 200,
    CROWD_BLOCK = 5
};

static uint32_t
crowd_rounds(const struct plan_shape *shape)
{
    (void)shape;
    return 6;
}

static void
crowd_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    (void)shape;
    for (size_t i = 0; i < CROWD; i++) {
        const size_t place = round % 2 ? CROWD - 1 - i : i;

        plan_add_copy(plan,
                      (struct plan_span){(enum plan_buffer)(round % 3),
                                         place * CROWD_BLOCK + round,
                                         CROWD_BLOCK - 1},
                      (struct plan_span){round % 2 ? PLAN_OUTPUT : PLAN_SCRATCH,
                                         i * CROWD_BLOCK, CROWD_BLOCK - 1});
    }
}

static const struct algorithm crowd = {
    .name = "crowd",
    .n_rounds = crowd_rounds,
    .plan_round = crowd_round,
};

static void
steps_of_full_rounds_wait_as_those_of_others(void **state)
{
    struct plan_shape shape = {.size = 1, .granule = 1};

    (void)state;
    shape_compare(&crowd, &shape);
    shape.is_in_place = true;
    shape_compare(&crowd, &shape);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_wait_where_the_tracker_has_them_wait),
        cmocka_unit_test(steps_of_full_rounds_wait_as_those_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
