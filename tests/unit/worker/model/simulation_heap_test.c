/* tests/unit/worker/model/simulation_heap_test.c - earliest first, then oldest
 */

#include "check.h"
#include "model/simulation_scheduler.h"

static void
entries_come_out_by_time(void **state)
{
    struct simulation_heap heap = {0};
    uint32_t last = 0;

    (void)state;
    for (uint32_t i = 0; i < 1000; i++) {
        const uint32_t at = i * 7919 % 1000;

        assert_int_equal(simulation_heap_push(&heap, at, at), HOOP_OK);
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

    (void)state;
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(simulation_heap_push(&heap, i % 3, i), HOOP_OK);
    for (uint32_t i = 0; i < 300; i++)
        assert_int_equal(simulation_heap_pop(&heap), i % 100 * 3 + i / 100);
    simulation_heap_deinit(&heap);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_come_out_by_time),
        cmocka_unit_test(entries_of_one_time_come_out_as_they_went_in),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
