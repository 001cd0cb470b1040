/* tests/unit/worker/select/defaults_test.c - select/defaults.c */

#include "base/cleanup.h"
#include "check.h"
#include "select/defaults.h"
#include "select/link.h"

/* Rows as the registry has them first, and what a defaults makes of them. */
static struct table
table_recorded(enum defaults_kind kind,
               uint32_t n_processors,
               const uint32_t *names,
               uint32_t n_ranks,
               const struct plan_shm_region *shm_region)
{
    struct simulation_machine machine = link_typical_machine();
    struct plan_nodes *nodes = NULL;
    struct table table;

    machine.n_processors = n_processors;
    tuning_table_init(&table);
    assert_ok(plan_nodes_create(names, n_ranks, &nodes));
    defaults_apply(kind,
                   &(struct estimate_environment){.nodes = nodes,
                                                  .machine = &machine,
                                                  .shm_region = *shm_region},
                   &table);
    plan_nodes_destroy(nodes);
    return table;
}

static const struct plan_shm_region none = {0};
static const struct plan_shm_region closed = {.slot_capacity = 1 << 16};
static const struct plan_shm_region open = {.slot_capacity = 1 << 16,
                                            .has_cma = true};

static struct table
table_of_row(const struct defaults_row *row)
{
    const struct plan_shm_region *regions[] = {
        [DEFAULTS_TCP] = &none,
        [DEFAULTS_SHM] = &closed,
        [DEFAULTS_DIRECT] = &open,
    };
    static const uint32_t names[64] = {0};

    assert_in_range(row->n_ranks, 2, COUNT_OF(names));
    return table_recorded(row->kind, row->n_processors, names, row->n_ranks,
                          regions[row->kind]);
}

static bool
rows_have_same_key(const struct defaults_row *one,
                   const struct defaults_row *other)
{
    return one->kind == other->kind &&
           one->n_processors == other->n_processors &&
           one->n_ranks == other->n_ranks &&
           one->collective == other->collective;
}

static bool
is_untouched(const struct table *table)
{
    for (unsigned i = 0; i < COLLECTIVE_KINDS; i++) {
        size_t n_entries;
        const struct registry_algorithm *first =
            registry_collective_entries(i, &n_entries);
        const struct tuning_table_row *row =
            &table->rows[i][TABLE_FORM_EVEN_BLOCKS];

        if (row->n_points != 1 || row->points[0].entry != first)
            return false;
    }
    return true;
}

static void
row_check(const struct defaults_row *row)
{
    const struct registry_algorithm *entry =
        registry_find_algorithm(row->collective, row->algorithm);

    assert_non_null(entry);
    assert_int_not_equal(row->kind, DEFAULTS_NONE);
    assert_true(row->n_processors > 0);
    assert_true(row->kind != DEFAULTS_TCP || !entry->algorithm->is_shm);
    assert_true(row->kind == DEFAULTS_DIRECT || !entry->algorithm->is_direct);
}

/* It is written by a program: nobody else looks. */
static void
rows_ascend_and_name_algorithms_of_their_collective(void **state)
{
    size_t n_rows;
    const struct defaults_row *rows = defaults_all_rows(&n_rows);
    size_t n_of_key = 0;

    assert_true(n_rows > 0);
    for (size_t i = 0; i < n_rows; i++) {
        row_check(&rows[i]);
        n_of_key++;
        assert_in_range(n_of_key, 1, TABLE_SWITCH_POINTS_MAX);
        if (rows[i].up_to_bytes < UINT64_MAX) {
            assert_true(i + 1 < n_rows &&
                        rows_have_same_key(&rows[i], &rows[i + 1]));
            assert_true(rows[i + 1].up_to_bytes > rows[i].up_to_bytes);
            continue;
        }
        n_of_key = 0;
        for (size_t j = i + 1; j < n_rows; j++)
            assert_false(rows_have_same_key(&rows[i], &rows[j]));
    }
}

static void
recorded_algorithm_is_taken_up_to_its_size(void **state)
{
    size_t n_rows;
    const struct defaults_row *rows = defaults_all_rows(&n_rows);

    for (size_t i = 0; i < n_rows; i++) {
        const struct table table = table_of_row(&rows[i]);

        assert_ptr_equal(
            tuning_table_find_algorithm(&table, rows[i].collective,
                                        TABLE_FORM_EVEN_BLOCKS,
                                        rows[i].up_to_bytes),
            registry_find_algorithm(rows[i].collective, rows[i].algorithm));
    }
}

static void
uneven_blocks_keep_what_can_do_them(void **state)
{
    size_t n_rows;
    const struct defaults_row *rows = defaults_all_rows(&n_rows);

    for (size_t i = 0; i < n_rows; i++) {
        const struct table table = table_of_row(&rows[i]);

        for (unsigned j = 0; j < COLLECTIVE_KINDS; j++) {
            const struct tuning_table_row *row =
                &table.rows[j][TABLE_FORM_UNEVEN_BLOCKS];

            for (uint32_t k = 0; k < row->n_points; k++)
                assert_false(row->points[k].entry->is_even_only);
            assert_true(row->points[row->n_points - 1].up_to_bytes ==
                        UINT64_MAX);
        }
    }
}

static void
other_places_are_left_to_the_model(void **state)
{
    static const uint32_t near[9] = {0};
    static const uint32_t apart[4] = {0, 1, 0, 1};
    size_t n_rows;
    const uint32_t n_processors = defaults_all_rows(&n_rows)->n_processors;

    const struct table tables[] = {
        table_recorded(DEFAULTS_NONE, n_processors, near, 4, &none),
        table_recorded(DEFAULTS_NONE, n_processors, near, 4, &closed),
        table_recorded(DEFAULTS_TCP, n_processors, near, 4, &closed),
        table_recorded(DEFAULTS_SHM, n_processors, near, 4, &none),
        table_recorded(DEFAULTS_DIRECT, n_processors, near, 4, &none),
        table_recorded(DEFAULTS_TCP, n_processors + 1, near, 4, &none),
        table_recorded(DEFAULTS_TCP, n_processors, apart, 4, &none),
        table_recorded(DEFAULTS_TCP, n_processors, near, 9, &none),
    };
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        assert_true(is_untouched(&tables[i]));
}

static const struct algorithm *
allgather_of(const struct table *table, uint64_t n_bytes)
{
    return tuning_table_find_algorithm(table, COLLECTIVE_ALLGATHER,
                                       TABLE_FORM_EVEN_BLOCKS, n_bytes)
        ->algorithm;
}

static void
large_ones_are_direct_where_nothing_was_recorded(void **state)
{
    static const uint32_t names[60] = {0};
    const struct table table =
        table_recorded(DEFAULTS_DIRECT, 1000, names, 60, &open);

    assert_false(allgather_of(&table, 1024)->is_direct);
    assert_true(allgather_of(&table, 1 << 20)->is_direct);
    assert_false(tuning_table_find_algorithm(&table, COLLECTIVE_ALLTOALL,
                                             TABLE_FORM_UNEVEN_BLOCKS,
                                             UINT64_MAX)
                     ->algorithm->is_direct);
}

/* A communicator of them may not. */
static void
ranks_that_do_not_read_have_the_other_record(void **state)
{
    static const uint32_t names[2] = {0};
    size_t n_rows;
    const struct defaults_row *row = defaults_all_rows(&n_rows);

    while (row->kind != DEFAULTS_SHM)
        row++;
    const struct table read = table_recorded(DEFAULTS_DIRECT, row->n_processors,
                                             names, row->n_ranks, &closed);
    const struct table shared = table_recorded(DEFAULTS_SHM, row->n_processors,
                                               names, row->n_ranks, &closed);

    for (uint64_t n_bytes = 8; n_bytes < 1 << 30; n_bytes *= 2)
        assert_ptr_equal(allgather_of(&read, n_bytes),
                         allgather_of(&shared, n_bytes));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_ascend_and_name_algorithms_of_their_collective),
        cmocka_unit_test(recorded_algorithm_is_taken_up_to_its_size),
        cmocka_unit_test(uneven_blocks_keep_what_can_do_them),
        cmocka_unit_test(other_places_are_left_to_the_model),
        cmocka_unit_test(large_ones_are_direct_where_nothing_was_recorded),
        cmocka_unit_test(ranks_that_do_not_read_have_the_other_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
