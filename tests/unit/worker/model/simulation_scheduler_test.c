/* tests/unit/worker/model/simulation_scheduler_test.c - runs, whole and in
 * part */

#include <string.h>

#include "algorithms/algorithms.h"
#include "base/error.h"
#include "check.h"
#include "model/simulation_scheduler.h"
#include "unit/worker/model/model_fixture.h"

static const struct simulation_machine machine = {
    .send_ns = 10,
    .receive_ns = 20,
    .latency_inside_ns = 100,
    .n_processors = 8,
};

static uint32_t
one_round(const struct plan_shape *shape)
{
    return 1;
}

/* Everybody takes, nobody sends. */
static void
deaf_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    plan_add_store(plan, (shape->rank + 1) % shape->size, 42 + round,
                   (struct plan_span){PLAN_OUTPUT, 0, 1});
}

static const struct algorithm deaf = {
    .name = "deaf",
    .n_rounds = one_round,
    .plan_round = deaf_round,
};

static void
ranks_that_wait_for_ever_are_named(void **state)
{
    const struct plan_shape shape = {.size = 2, .granule = 1};
    const struct simulation_mapping mapping =
        simulation_mapping_make_full(&shape);
    const struct simulation_setup setup = setup_of(&mapping, &deaf, &machine);
    struct simulation_scheduler_result result;

    assert_int_equal(simulation_scheduler_run(&setup, &result),
                     HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "deaf: in round 0 rank "));
    assert_non_null(strstr(error_text(), "message 42 from rank "));
}

static void
message_from_rounds_left_out_is_left_out(void **state)
{
    const struct plan_shape shape = {.size = 2, .granule = 1};
    const struct simulation_mapping mapping =
        simulation_mapping_make_full(&shape);
    struct simulation_setup setup = setup_of(&mapping, &deaf, &machine);
    struct simulation_scheduler_result result;

    setup.rounds.end = 1;
    assert_ok(simulation_scheduler_run(&setup, &result));
    assert_int_equal(result.n_unpaired_messages, 2);
    assert_near(result.end_ns, 0);
}

static void
half_of_the_rounds_has_its_own_end(void **state)
{
    const struct plan_shape shape = {.size = 5, .granule = 1, .count = 5};
    const struct simulation_mapping mapping =
        simulation_mapping_make_full(&shape);
    const struct simulation_setup setup =
        setup_of(&mapping, &algorithm_allreduce_ring, &machine);
    struct simulation_setup part = setup;
    struct simulation_scheduler_result result;

    part.rounds = (struct simulation_round_range){2, 6};
    assert_ok(simulation_scheduler_run(&part, &result));
    assert_near(result.half_ns, 2 * 130.0);
    assert_near(result.end_ns, 4 * 130.0);
    assert_near(result.messages, 4 * 5.0);
    assert_int_equal(result.n_unpaired_messages, 0);

    assert_ok(simulation_scheduler_run(&setup, &result));
    assert_near(result.end_ns, 8 * 130.0);
    assert_near(result.bytes, 8 * 5 * 4.0);
}

static void
entries_come_out_by_time(void **state)
{
    struct simulation_heap heap = {0};
    uint32_t last = 0;

    for (uint32_t i = 0; i < 1000; i++) {
        const uint32_t at = i * 7919 % 1000;

        assert_ok(simulation_heap_push(&heap, at, at));
    }
    for (uint32_t i = 0; i < 1000; i++) {
        last = simulation_heap_pop(&heap);
        assert_int_equal(last, i);
    }
    assert_int_equal(heap.n_entries, 0);
    simulation_heap_deinit(&heap);
}

static void
entries_of_one_time_come_out_as_they_went_in(void **state)
{
    struct simulation_heap heap = {0};

    for (uint32_t i = 0; i < 300; i++)
        assert_ok(simulation_heap_push(&heap, i % 3, i));
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(simulation_heap_pop(&heap), i % 100 * 3 + i / 100);
    simulation_heap_deinit(&heap);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_that_wait_for_ever_are_named),
        cmocka_unit_test(message_from_rounds_left_out_is_left_out),
        cmocka_unit_test(half_of_the_rounds_has_its_own_end),
        cmocka_unit_test(entries_come_out_by_time),
        cmocka_unit_test(entries_of_one_time_come_out_as_they_went_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
