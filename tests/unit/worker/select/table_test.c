/* tests/unit/worker/select/table_test.c - select/table.c */

#include "check.h"
#include "select/table.h"

static const struct registry_algorithm *
first_of(enum collective_kind collective)
{
    size_t n_entries;
    const struct registry_algorithm *entries =
        registry_collective_entries(collective, &n_entries);

    return n_entries > 0 ? entries : NULL;
}

static void
new_table_takes_the_first_of_each(void **state)
{
    struct table table;

    (void)state;
    tuning_table_init(&table);
    for (unsigned i = 0; i < COLLECTIVE_KINDS; i++) {
        assert_ptr_equal(tuning_table_find_algorithm(&table, i, TABLE_EVEN, 0),
                         first_of(i));
        assert_ptr_equal(
            tuning_table_find_algorithm(&table, i, TABLE_EVEN, UINT64_MAX),
            first_of(i));
        assert_ptr_equal(
            tuning_table_find_algorithm(&table, i, TABLE_UNEVEN, 4096),
            first_of(i));
    }
}

static void
size_on_the_point_belongs_below_it(void **state)
{
    const struct registry_algorithm small = {.collective =
                                                 COLLECTIVE_ALLREDUCE};
    const struct registry_algorithm large = {.collective =
                                                 COLLECTIVE_ALLREDUCE};
    struct table table;

    (void)state;
    tuning_table_init(&table);
    table.rows[COLLECTIVE_ALLREDUCE][TABLE_EVEN] = (struct tuning_table_row){
        .n_points = 2,
        .points = {{1024, &small}, {UINT64_MAX, &large}},
    };
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLREDUCE,
                                                 TABLE_EVEN, 0),
                     &small);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLREDUCE,
                                                 TABLE_EVEN, 1024),
                     &small);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLREDUCE,
                                                 TABLE_EVEN, 1025),
                     &large);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLREDUCE,
                                                 TABLE_EVEN, UINT64_MAX),
                     &large);
}

static void
overrides_algorithm_does_all_sizes(void **state)
{
    const struct registry_algorithm wanted = {.collective = COLLECTIVE_REDUCE};
    const struct overrides overrides = {
        .entries = {[COLLECTIVE_REDUCE] = &wanted}};
    struct table table;

    (void)state;
    tuning_table_init(&table);
    tuning_table_apply_overrides(&table, &overrides);
    assert_ptr_equal(
        tuning_table_find_algorithm(&table, COLLECTIVE_REDUCE, TABLE_EVEN, 8),
        &wanted);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_REDUCE,
                                                 TABLE_UNEVEN, 1 << 30),
                     &wanted);
    assert_ptr_equal(table.overrides.entries[COLLECTIVE_REDUCE], &wanted);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_BROADCAST,
                                                 TABLE_EVEN, 8),
                     first_of(COLLECTIVE_BROADCAST));
}

static void
overrides_algorithm_for_even_blocks_leaves_uneven_ones(void **state)
{
    const struct registry_algorithm wanted = {
        .collective = COLLECTIVE_ALLGATHER, .is_even_only = true};
    const struct overrides overrides = {
        .entries = {[COLLECTIVE_ALLGATHER] = &wanted}};
    struct table table;

    (void)state;
    tuning_table_init(&table);
    tuning_table_apply_overrides(&table, &overrides);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLGATHER,
                                                 TABLE_EVEN, 8),
                     &wanted);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLGATHER,
                                                 TABLE_UNEVEN, 8),
                     first_of(COLLECTIVE_ALLGATHER));
}

static void
collective_without_points_is_not_found(void **state)
{
    const struct table table = {.machine = {.n_processors = 1}};

    (void)state;
    assert_null(
        tuning_table_find_algorithm(&table, COLLECTIVE_SCAN, TABLE_EVEN, 8));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_table_takes_the_first_of_each),
        cmocka_unit_test(size_on_the_point_belongs_below_it),
        cmocka_unit_test(overrides_algorithm_does_all_sizes),
        cmocka_unit_test(
            overrides_algorithm_for_even_blocks_leaves_uneven_ones),
        cmocka_unit_test(collective_without_points_is_not_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
