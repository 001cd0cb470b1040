/* tests/unit/worker/model/simulation_dependency_test.c - what waits for what */

#include "algorithms/registry.h"
#include "check.h"
#include "model/simulation_graph.h"
#include "plan/tracker.h"
#include "pseudo_random.h"
#include "unit/worker/model/model_fixture.h"

static const struct simulation_machine machine = {.n_processors = 1};

/* One after the other, the steps that vrank may open now. */
static void
steps_compare(struct simulation_graph *graph,
              const struct tracker *tracker,
              uint32_t vrank)
{
    const struct tracked_step *tracked_step = TAILQ_FIRST(&tracker->active);

    while (simulation_graph_can_open_round(graph, vrank)) {
        uint32_t i = SIMULATION_LIST_END;

        assert_ok(simulation_graph_open_round(graph, vrank, &i));
        for (; i != SIMULATION_LIST_END; i = graph->steps[i].next) {
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
    const struct simulation_setup setup =
        setup_of(&mapping, algorithm, &machine);
    struct simulation_graph graph;

    assert_ok(simulation_graph_init(&graph, &setup));
    for (uint32_t vrank = 0; vrank < shape->size; vrank++) {
        struct plan_shape own = *shape;
        struct tracker tracker = {0};
        struct tracked_step *first = NULL;

        own.rank = vrank;
        tracker_init(&tracker, algorithm, &own, setup.element_size);
        assert_ok(tracker_activate_rounds(&tracker, &first));
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
    return 6;
}

static void
crowd_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
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

    shape_compare(&crowd, &shape);
    shape.is_in_place = true;
    shape_compare(&crowd, &shape);
}

enum {
    RANGES = 300,
    SPAN = 1000,
};

struct placed {
    enum plan_buffer buffer;
    struct simulation_range range;
};

static struct placed
placed_draw(uint64_t *seed)
{
    const size_t begin = random_below(seed, SPAN);

    return (struct placed){
        .buffer = (enum plan_buffer)random_below(seed, 3),
        .range = {begin, begin + random_below(
                                     seed, random_below(seed, 10) ? 20 : 400)},
    };
}

static size_t
found_count(const struct simulation_index *index,
            const struct placed *all,
            const struct placed *sought)
{
    size_t n_found = 0;

    for (size_t i =
             simulation_index_find_first(index, sought->buffer, &sought->range);
         simulation_index_entry_may_overlap(index, i, sought->buffer,
                                            &sought->range);
         i++) {
        const struct placed *one = &all[index->entries[i].step];

        assert_int_equal(one->buffer, sought->buffer);
        n_found += simulation_range_has_overlap(&one->range, &sought->range);
    }
    return n_found;
}

static void
index_finds_all_that_meet_a_range(void **state)
{
    struct simulation_index index = {0};
    struct placed all[RANGES];
    uint64_t seed = 7;

    for (uint32_t i = 0; i < RANGES; i++) {
        all[i] = placed_draw(&seed);
        assert_ok(simulation_index_add_range(&index, all[i].buffer,
                                             &all[i].range, i));
    }
    simulation_index_sort(&index);
    for (int i = 0; i < 1000; i++) {
        const struct placed sought = placed_draw(&seed);
        size_t n_expected = 0;

        for (uint32_t j = 0; j < RANGES; j++)
            n_expected +=
                all[j].buffer == sought.buffer &&
                all[j].range.begin < all[j].range.end &&
                sought.range.begin < sought.range.end &&
                simulation_range_has_overlap(&all[j].range, &sought.range);
        if (sought.range.begin < sought.range.end)
            assert_int_equal(found_count(&index, all, &sought), n_expected);
    }
    simulation_index_deinit(&index);
}

static void
empty_index_finds_nothing(void **state)
{
    const struct simulation_range range = {0, 10};
    const struct simulation_range empty = {5, 5};
    struct simulation_index index = {0};

    assert_ok(simulation_index_add_range(&index, PLAN_OUTPUT, &empty, 1));
    simulation_index_sort(&index);
    assert_int_equal(simulation_index_find_first(&index, PLAN_OUTPUT, &range),
                     0);
    assert_false(
        simulation_index_entry_may_overlap(&index, 0, PLAN_OUTPUT, &range));
    simulation_index_deinit(&index);
}

static const struct simulation_range none = {0, 0};
static const struct simulation_range low = {10, 20};
static const struct simulation_range high = {20, 30};
static const struct simulation_range across = {15, 25};
static const struct simulation_range all = {0, 100};

static void
ranges_meet_where_they_share_an_element(void **state)
{
    assert_true(simulation_range_has_overlap(&low, &across));
    assert_true(simulation_range_has_overlap(&across, &high));
    assert_true(simulation_range_has_overlap(&low, &low));
    assert_false(simulation_range_has_overlap(&low, &high));
    assert_false(simulation_range_has_overlap(&none, &all));
    assert_false(simulation_range_has_overlap(&all, &none));
}

static void
range_covers_what_is_inside_it(void **state)
{
    assert_true(simulation_range_covers(&all, &low));
    assert_true(simulation_range_covers(&low, &low));
    assert_false(simulation_range_covers(&low, &across));
    assert_false(simulation_range_covers(&low, &all));
}

static void
assert_part(float part, double expected)
{
    assert_true((double)part > expected - 1e-6);
    assert_true((double)part < expected + 1e-6);
}

static void
overlap_is_told_in_parts_of_each(void **state)
{
    const struct simulation_flow_overlap some =
        simulation_range_overlap(&low, &across);
    const struct simulation_flow_overlap whole =
        simulation_range_overlap(&all, &high);

    assert_part(some.earlier_begin, 0.5);
    assert_part(some.earlier_end, 1);
    assert_part(some.later_begin, 0);
    assert_part(some.later_end, 0.5);
    assert_part(whole.earlier_begin, 0.2);
    assert_part(whole.earlier_end, 0.3);
    assert_part(whole.later_begin, 0);
    assert_part(whole.later_end, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_wait_where_the_tracker_has_them_wait),
        cmocka_unit_test(steps_of_full_rounds_wait_as_those_of_others),
        cmocka_unit_test(index_finds_all_that_meet_a_range),
        cmocka_unit_test(empty_index_finds_nothing),
        cmocka_unit_test(ranges_meet_where_they_share_an_element),
        cmocka_unit_test(range_covers_what_is_inside_it),
        cmocka_unit_test(overlap_is_told_in_parts_of_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
