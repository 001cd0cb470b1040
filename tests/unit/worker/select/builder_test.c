/* tests/unit/worker/select/builder_test.c - select/builder.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "select/builder.h"
#include "select/estimate.h"
#include "select/link.h"

static struct plan_nodes *
nodes_of(uint32_t n_ranks, uint32_t n_each)
{
    CLEANUP(free) uint32_t *names = calloc(n_ranks, sizeof(*names));
    struct plan_nodes *nodes = NULL;

    assert_non_null(names);
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        names[rank] = rank / n_each;
    assert_ok(plan_nodes_create(names, n_ranks, &nodes));
    return nodes;
}

static struct simulation_machine
machine_of(const char *link)
{
    struct simulation_machine machine = link_typical_machine();

    machine.n_processors = 8;
    assert_ok(link_parse_settings("here", link, &machine));
    return machine;
}

static struct table
coded_table_of(const struct plan_nodes *nodes, const char *link, bool is_coded)
{
    const struct simulation_machine machine = machine_of(link);
    const struct estimate_environment place = {
        .nodes = nodes, .machine = &machine, .is_coded = is_coded};
    struct table table;

    assert_ok(builder_build_table(&place, &table));
    return table;
}

static struct table
table_of(const struct plan_nodes *nodes, const char *link)
{
    return coded_table_of(nodes, link, false);
}

static const char *
name_of(const struct table *table,
        enum collective_kind collective,
        uint64_t n_bytes)
{
    return tuning_table_find_algorithm(table, collective,
                                       TABLE_FORM_EVEN_BLOCKS, n_bytes)
        ->algorithm->name;
}

static void
small_ones_save_messages_and_large_ones_bytes(void **state)
{
    struct plan_nodes *nodes = nodes_of(8, 1);
    const struct table table = table_of(nodes, "");

    assert_string_equal(name_of(&table, COLLECTIVE_ALLREDUCE, 8),
                        "recursive_doubling");
    assert_string_not_equal(name_of(&table, COLLECTIVE_ALLREDUCE, 64 << 20),
                            "recursive_doubling");
    assert_string_equal(name_of(&table, COLLECTIVE_BROADCAST, 8), "binomial");
    assert_string_equal(name_of(&table, COLLECTIVE_BROADCAST, 256 << 20),
                        "chain");
    assert_string_equal(name_of(&table, COLLECTIVE_ALLTOALL, 64 << 20),
                        "pairwise");
    plan_nodes_destroy(nodes);
}

/* As measured on two processors, where earlier tables chose what took half as
 * long again: docs/selection.md. */
static void
ranks_that_share_processors_avoid_waiting(void **state)
{
    static const char crowded[] =
        "overhead=3us,latency=14us,wait=4us,socket=5GB/s,processors=2";
    struct plan_nodes *six = nodes_of(6, 6);
    struct plan_nodes *eight = nodes_of(8, 8);
    const struct table of_six = table_of(six, crowded);
    const struct table of_eight = table_of(eight, crowded);

    assert_string_equal(name_of(&of_six, COLLECTIVE_REDUCE_SCATTER, 2097144),
                        "halving");
    assert_string_equal(name_of(&of_eight, COLLECTIVE_ALLREDUCE, 4096),
                        "hierarchical_tree");
    assert_string_equal(name_of(&of_eight, COLLECTIVE_ALLREDUCE, 262144),
                        "hierarchical_tree");
    plan_nodes_destroy(six);
    plan_nodes_destroy(eight);
}

/* Two hosts send as many bytes either way: the vector at once, which both
 * combine, or each half to the one who combines it. */
static void
what_takes_as_long_combines_less_unless_compressed(void **state)
{
    static const char wire[] = "bandwidth=10Gbit/s,latency=20us";
    struct plan_nodes *two = nodes_of(2, 1);
    const struct table plain = table_of(two, wire);
    const struct table coded = coded_table_of(two, wire, true);

    assert_string_equal(name_of(&plain, COLLECTIVE_ALLREDUCE, 8),
                        "recursive_doubling");
    assert_string_not_equal(name_of(&plain, COLLECTIVE_ALLREDUCE, 4 << 20),
                            "recursive_doubling");
    assert_string_not_equal(name_of(&plain, COLLECTIVE_ALLREDUCE, 256 << 20),
                            "recursive_doubling");
    assert_string_equal(name_of(&coded, COLLECTIVE_ALLREDUCE, 256 << 20),
                        "recursive_doubling");
    plan_nodes_destroy(two);
}

static void
slower_messages_move_the_switch_up(void **state)
{
    struct plan_nodes *nodes = nodes_of(8, 1);
    const struct table near = table_of(nodes, "latency=5us");
    const struct table far = table_of(nodes, "latency=1ms");
    const struct tuning_table_row *rows[2] = {
        near.rows[COLLECTIVE_ALLREDUCE],
        far.rows[COLLECTIVE_ALLREDUCE],
    };

    assert_true(rows[0]->n_points > 1);
    assert_true(rows[1]->n_points > 1);
    assert_true(rows[1]->points[0].up_to_bytes >
                4 * rows[0]->points[0].up_to_bytes);
    plan_nodes_destroy(nodes);
}

/* What the table says is nowhere much worse than the best by simulation. */
static void
choice_is_about_the_best(void **state)
{
    struct plan_nodes *nodes = nodes_of(6, 2);
    const struct simulation_machine machine = machine_of("");
    const struct estimate_environment place = {.nodes = nodes,
                                               .machine = &machine};
    const struct table table = table_of(nodes, "");
    size_t n_entries;
    const struct registry_algorithm *entries = registry_all_entries(&n_entries);

    for (uint64_t n_bytes = 96; n_bytes <= 96 << 20; n_bytes *= 4) {
        for (size_t i = 0; i < n_entries; i++) {
            const struct registry_algorithm *chosen =
                tuning_table_find_algorithm(&table, entries[i].collective,
                                            TABLE_FORM_EVEN_BLOCKS, n_bytes);
            double chosen_ns;
            double ns;

            if (!estimate_can_choose(&place, &entries[i]))
                continue;
            assert_ok(estimate_cost(&place, chosen, n_bytes, &chosen_ns));
            assert_ok(estimate_cost(&place, &entries[i], n_bytes, &ns));
            if (chosen_ns > 1.15 * ns)
                fail_msg("%s of %llu: %s takes %f, %s %f",
                         registry_collective_name(entries[i].collective),
                         (unsigned long long)n_bytes, chosen->algorithm->name,
                         chosen_ns, entries[i].algorithm->name, ns);
        }
    }
    plan_nodes_destroy(nodes);
}

static void
uneven_rows_have_nothing_for_even_blocks_only(void **state)
{
    struct plan_nodes *nodes = nodes_of(8, 1);
    const struct table table = table_of(nodes, "");

    for (uint64_t n_bytes = 1; n_bytes < 1 << 30; n_bytes *= 2)
        assert_string_equal(
            tuning_table_find_algorithm(&table, COLLECTIVE_ALLTOALL,
                                        TABLE_FORM_UNEVEN_BLOCKS, n_bytes)
                ->algorithm->name,
            "pairwise");
    plan_nodes_destroy(nodes);
}

static void
rows_ascend_to_the_largest_size(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 5, 16, 64, 100};

    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct plan_nodes *nodes = nodes_of(sizes[i], 4);
        const struct table table = table_of(nodes, "");

        for (size_t j = 0; j < COLLECTIVE_KINDS; j++) {
            const struct tuning_table_row *row =
                &table.rows[j][TABLE_FORM_EVEN_BLOCKS];

            assert_in_range(row->n_points, 1, TABLE_SWITCH_POINTS_MAX);
            for (uint32_t k = 1; k < row->n_points; k++)
                assert_true(row->points[k - 1].up_to_bytes <
                            row->points[k].up_to_bytes);
            assert_true(row->points[row->n_points - 1].up_to_bytes ==
                        UINT64_MAX);
        }
        plan_nodes_destroy(nodes);
    }
}

static void
one_sample_is_the_same_everywhere(void **state)
{
    struct curve curve = {.n_samples = 0};

    curve_add_sample(&curve, 64, 10);
    assert_true(curve_cost_at(&curve, 0) == 10);
    assert_true(curve_cost_at(&curve, 1e9) == 10);
}

static void
lines_go_through_the_samples_and_on(void **state)
{
    struct curve curve = {.n_samples = 0};

    curve_add_sample(&curve, 300, 50); /* in any order */
    curve_add_sample(&curve, 100, 10);
    curve_add_sample(&curve, 200, 20);
    assert_int_equal(curve.n_samples, 3);
    assert_true(curve_cost_at(&curve, 100) == 10);
    assert_true(curve_cost_at(&curve, 150) == 15);
    assert_true(curve_cost_at(&curve, 200) == 20);
    assert_true(curve_cost_at(&curve, 250) == 35);
    assert_true(curve_cost_at(&curve, 400) == 80);
    assert_true(curve_cost_at(&curve, 0) == 0);
}

static void
same_size_is_sampled_once(void **state)
{
    struct curve curve = {.n_samples = 0};

    curve_add_sample(&curve, 8, 1);
    curve_add_sample(&curve, 8, 2);
    assert_int_equal(curve.n_samples, 1);
    assert_true(curve_cost_at(&curve, 8) == 1);
}

static void
full_curve_takes_no_more(void **state)
{
    struct curve curve = {.n_samples = 0};

    for (unsigned i = 0; i < 2 * CURVE_SAMPLES; i++)
        curve_add_sample(&curve, i, i);
    assert_int_equal(curve.n_samples, CURVE_SAMPLES);
    assert_true(curve_cost_at(&curve, 1.5) == 1.5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_save_messages_and_large_ones_bytes),
        cmocka_unit_test(ranks_that_share_processors_avoid_waiting),
        cmocka_unit_test(what_takes_as_long_combines_less_unless_compressed),
        cmocka_unit_test(slower_messages_move_the_switch_up),
        cmocka_unit_test(choice_is_about_the_best),
        cmocka_unit_test(uneven_rows_have_nothing_for_even_blocks_only),
        cmocka_unit_test(rows_ascend_to_the_largest_size),
        cmocka_unit_test(one_sample_is_the_same_everywhere),
        cmocka_unit_test(lines_go_through_the_samples_and_on),
        cmocka_unit_test(same_size_is_sampled_once),
        cmocka_unit_test(full_curve_takes_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
