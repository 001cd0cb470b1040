/* tests/unit/worker/model/simulation_range_test.c - where ranges meet */

#include "check.h"
#include "model/simulation_graph.h"

static const struct simulation_range none = {0, 0};
static const struct simulation_range low = {10, 20};
static const struct simulation_range high = {20, 30};
static const struct simulation_range across = {15, 25};
static const struct simulation_range all = {0, 100};

static void
ranges_meet_where_they_share_an_element(void **state)
{
    (void)state;
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
    (void)state;
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

    (void)state;
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
        cmocka_unit_test(ranges_meet_where_they_share_an_element),
        cmocka_unit_test(range_covers_what_is_inside_it),
        cmocka_unit_test(overlap_is_told_in_parts_of_each),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
