/* tests/unit/worker/select/defaults_test.c - select/defaults.c, tune/defaults_*.c */

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
    assert_int_equal(plan_nodes_create(names, n_ranks, &nodes), HOOP_OK);
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
table_of_sheet(const struct defaults_ruleset *ruleset)
{
    const struct plan_shm_region *regions[] = {
        [DEFAULTS_TCP] = &none,
        [DEFAULTS_SHM] = &closed,
        [DEFAULTS_DIRECT] = &open,
    };
    static const uint32_t names[64] = {0};

    assert_in_range(ruleset->n_ranks, 2, COUNT_OF(names));
    return table_recorded(ruleset->kind, ruleset->n_processors, names,
                          ruleset->n_ranks, regions[ruleset->kind]);
}

/* All, one after the other. NULL: there are no more. */
static const struct defaults_ruleset *
sheet_at(size_t number)
{
    for (enum defaults_kind kind = DEFAULTS_TCP; kind <= DEFAULTS_DIRECT;
         kind++) {
        const struct defaults_collection *collection =
            defaults_collection_of(kind);

        if (number < collection->n_rulesets)
            return &collection->rulesets[number];
        number -= collection->n_rulesets;
    }
    return NULL;
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
row_check(const struct defaults_ruleset *ruleset,
          enum collective_kind collective)
{
    const struct defaults_switch_point *points = ruleset->rows[collective];
    uint64_t before = 0;

    for (size_t i = 0; before < UINT64_MAX; i++) {
        assert_in_range(i, 0, TABLE_SWITCH_POINTS_MAX - 1);
        const struct registry_algorithm *entry =
            registry_entry_of_algorithm(points[i].algorithm);

        assert_non_null(entry);
        assert_int_equal(entry->collective, collective);
        assert_true(ruleset->kind != DEFAULTS_TCP || !entry->algorithm->is_shm);
        assert_true(ruleset->kind == DEFAULTS_DIRECT ||
                    !entry->algorithm->is_direct);
        assert_true(points[i].up_to_bytes > before);
        before = points[i].up_to_bytes;
    }
}

/* It is written by a program: nobody else looks. */
static void
rows_ascend_and_name_algorithms_of_their_collective(void **state)
{
    const struct defaults_ruleset *ruleset;
    size_t n_rows = 0;

    (void)state;
    for (size_t i = 0; (ruleset = sheet_at(i)); i++) {
        assert_int_not_equal(ruleset->kind, DEFAULTS_NONE);
        assert_true(ruleset->n_processors > 0);
        for (unsigned j = 0; j < COLLECTIVE_KINDS; j++) {
            if (!ruleset->rows[j][0].algorithm)
                continue;
            row_check(ruleset, j);
            n_rows++;
        }
    }
    assert_true(n_rows > 0);
}

static void
recorded_algorithm_is_taken_up_to_its_size(void **state)
{
    const struct defaults_ruleset *ruleset;

    (void)state;
    for (size_t i = 0; (ruleset = sheet_at(i)); i++) {
        const struct table table = table_of_sheet(ruleset);

        for (unsigned j = 0; j < COLLECTIVE_KINDS; j++)
            for (const struct defaults_switch_point *point = ruleset->rows[j];
                 point < ruleset->rows[j] + TABLE_SWITCH_POINTS_MAX &&
                 point->algorithm;
                 point++)
                assert_ptr_equal(
                    tuning_table_find_algorithm(
                        &table, j, TABLE_FORM_EVEN_BLOCKS, point->up_to_bytes)
                        ->algorithm,
                    point->algorithm);
    }
}

static void
uneven_blocks_keep_what_can_do_them(void **state)
{
    const struct defaults_ruleset *ruleset;

    (void)state;
    for (size_t i = 0; (ruleset = sheet_at(i)); i++) {
        const struct table table = table_of_sheet(ruleset);

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
    const uint32_t n_processors = sheet_at(0)->n_processors;

    (void)state;
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

    (void)state;
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
    const struct defaults_ruleset *ruleset =
        defaults_collection_of(DEFAULTS_SHM)->rulesets;
    const struct table read =
        table_recorded(DEFAULTS_DIRECT, ruleset->n_processors, names,
                       ruleset->n_ranks, &closed);
    const struct table shared = table_recorded(
        DEFAULTS_SHM, ruleset->n_processors, names, ruleset->n_ranks, &closed);

    (void)state;
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
