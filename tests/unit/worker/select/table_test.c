/* tests/unit/worker/select/table_test.c - select/table.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "select/link.h"
#include "select/table.h"
#include "wire/pack.h"

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

    tuning_table_init(&table);
    for (unsigned i = 0; i < COLLECTIVE_KINDS; i++) {
        assert_ptr_equal(
            tuning_table_find_algorithm(&table, i, TABLE_FORM_EVEN_BLOCKS, 0),
            first_of(i));
        assert_ptr_equal(tuning_table_find_algorithm(
                             &table, i, TABLE_FORM_EVEN_BLOCKS, UINT64_MAX),
                         first_of(i));
        assert_ptr_equal(tuning_table_find_algorithm(
                             &table, i, TABLE_FORM_UNEVEN_BLOCKS, 4096),
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

    tuning_table_init(&table);
    table.rows[COLLECTIVE_ALLREDUCE][TABLE_FORM_EVEN_BLOCKS] =
        (struct tuning_table_row){
            .n_points = 2,
            .points = {{1024, &small}, {UINT64_MAX, &large}},
        };
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLREDUCE,
                                                 TABLE_FORM_EVEN_BLOCKS, 0),
                     &small);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLREDUCE,
                                                 TABLE_FORM_EVEN_BLOCKS, 1024),
                     &small);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLREDUCE,
                                                 TABLE_FORM_EVEN_BLOCKS, 1025),
                     &large);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLREDUCE,
                                                 TABLE_FORM_EVEN_BLOCKS,
                                                 UINT64_MAX),
                     &large);
}

static void
rule_replaces_what_others_said_of_its_sizes(void **state)
{
    const struct registry_algorithm outer = {.collective = COLLECTIVE_REDUCE};
    const struct registry_algorithm inner = {.collective = COLLECTIVE_REDUCE};
    const struct tuning_table_row *row;
    struct table table;

    tuning_table_init(&table);
    row = &table.rows[COLLECTIVE_REDUCE][TABLE_FORM_UNEVEN_BLOCKS];
    tuning_table_apply_rule(&table, &(struct tuning_rule){0, 1000, &outer});
    tuning_table_apply_rule(&table, &(struct tuning_rule){100, 200, &inner});
    assert_int_equal(row->n_points, 4);
    assert_int_equal(row->points[0].up_to_bytes, 100);
    assert_ptr_equal(row->points[0].entry, &outer);
    assert_int_equal(row->points[1].up_to_bytes, 200);
    assert_ptr_equal(row->points[1].entry, &inner);
    assert_int_equal(row->points[2].up_to_bytes, 1000);
    assert_ptr_equal(row->points[3].entry, first_of(COLLECTIVE_REDUCE));
    tuning_table_apply_rule(&table,
                            &(struct tuning_rule){50, UINT64_MAX, &outer});
    assert_int_equal(row->n_points, 1);
}

static void
rule_beyond_a_full_row_extends_its_last_point(void **state)
{
    const struct registry_algorithm one = {.collective = COLLECTIVE_REDUCE};
    const struct tuning_table_row *row;
    struct table table;

    tuning_table_init(&table);
    row = &table.rows[COLLECTIVE_REDUCE][TABLE_FORM_EVEN_BLOCKS];
    for (uint64_t i = 0; i < TABLE_SWITCH_POINTS_MAX; i++)
        tuning_table_apply_rule(
            &table, &(struct tuning_rule){20 * i + 10, 20 * i + 20, &one});
    assert_int_equal(row->n_points, TABLE_SWITCH_POINTS_MAX);
    assert_true(row->points[TABLE_SWITCH_POINTS_MAX - 1].up_to_bytes ==
                UINT64_MAX);
}

static void
overrides_algorithm_does_all_sizes(void **state)
{
    const struct registry_algorithm wanted = {.collective = COLLECTIVE_REDUCE};
    const struct overrides overrides = {
        .entries = {[COLLECTIVE_REDUCE] = &wanted}};
    struct table table;

    tuning_table_init(&table);
    tuning_table_apply_overrides(&table, &overrides);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_REDUCE,
                                                 TABLE_FORM_EVEN_BLOCKS, 8),
                     &wanted);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_REDUCE,
                                                 TABLE_FORM_UNEVEN_BLOCKS,
                                                 1 << 30),
                     &wanted);
    assert_ptr_equal(table.overrides.entries[COLLECTIVE_REDUCE], &wanted);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_BROADCAST,
                                                 TABLE_FORM_EVEN_BLOCKS, 8),
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

    tuning_table_init(&table);
    tuning_table_apply_overrides(&table, &overrides);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLGATHER,
                                                 TABLE_FORM_EVEN_BLOCKS, 8),
                     &wanted);
    assert_ptr_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLGATHER,
                                                 TABLE_FORM_UNEVEN_BLOCKS, 8),
                     first_of(COLLECTIVE_ALLGATHER));
}

static void
collective_without_points_is_not_found(void **state)
{
    const struct table table = {.machine = {.n_processors = 1}};

    assert_null(tuning_table_find_algorithm(&table, COLLECTIVE_SCAN,
                                            TABLE_FORM_EVEN_BLOCKS, 8));
}

/* As many points and overridden algorithms as the registry has. */
static struct table
table_rich(void)
{
    struct table table;

    tuning_table_init(&table);
    table.machine = link_typical_machine();
    for (unsigned i = 0; i < COLLECTIVE_KINDS; i++) {
        struct tuning_table_row *row = &table.rows[i][TABLE_FORM_EVEN_BLOCKS];
        size_t n_entries;
        const struct registry_algorithm *entries =
            registry_collective_entries(i, &n_entries);

        if (n_entries == 0)
            continue;
        row->n_points = TABLE_SWITCH_POINTS_MAX;
        for (size_t j = 0; j < TABLE_SWITCH_POINTS_MAX; j++)
            row->points[j] = (struct tuning_table_switch_point){
                j + 1 < TABLE_SWITCH_POINTS_MAX ? (uint64_t)1 << (40 + j)
                                                : UINT64_MAX,
                &entries[j % n_entries],
            };
        table.n_sample_bytes = 77;
        table.loss = LOSS_FP16;
        table.defaults = DEFAULTS_TCP;
        table.overrides.entries[i] = i % 2 ? &entries[n_entries - 1] : NULL;
    }
    return table;
}

static void
assert_rows_equal(const struct table *one, const struct table *other)
{
    for (unsigned i = 0; i < COLLECTIVE_KINDS; i++) {
        assert_ptr_equal(one->overrides.entries[i],
                         other->overrides.entries[i]);
        for (unsigned form = 0; form < N_TABLE_FORMS; form++) {
            const struct tuning_table_row *left = &one->rows[i][form];
            const struct tuning_table_row *right = &other->rows[i][form];

            assert_int_equal(left->n_points, right->n_points);
            for (uint32_t j = 0; j < left->n_points; j++) {
                assert_ptr_equal(left->points[j].entry, right->points[j].entry);
                assert_true(left->points[j].up_to_bytes ==
                            right->points[j].up_to_bytes);
            }
        }
    }
}

static void
table_comes_back_as_it_went(void **state)
{
    const struct table table = table_rich();
    uint8_t bytes[LIMIT_TUNE_TABLE];
    uint8_t again[LIMIT_TUNE_TABLE];
    struct table back;

    assert_ok(tuning_table_encode(&table, bytes));
    assert_ok(tuning_table_decode(bytes, &back));
    assert_rows_equal(&table, &back);
    assert_int_equal(back.machine.n_processors, table.machine.n_processors);
    assert_int_equal(back.n_sample_bytes, 77);
    assert_int_equal(back.loss, LOSS_FP16);
    assert_int_equal(back.defaults, DEFAULTS_TCP);
    assert_true(back.machine.latency_inside_ns ==
                table.machine.latency_inside_ns);
    assert_ok(tuning_table_encode(&back, again));
    assert_memory_equal(bytes, again, sizeof(bytes));
}

static void
costs_are_rounded_once_and_bounded(void **state)
{
    uint8_t bytes[LIMIT_TUNE_TABLE];
    struct table table;
    struct table back;

    tuning_table_init(&table);
    table.machine.reduce_byte_ns = 1.0 / 3;
    table.machine.latency_between_ns = 1e30;
    assert_ok(tuning_table_encode(&table, bytes));
    assert_ok(tuning_table_decode(bytes, &back));
    assert_true(back.machine.reduce_byte_ns > 0.333332 &&
                back.machine.reduce_byte_ns < 0.333334);
    assert_true(back.machine.latency_between_ns == 1e9);
}

static void
uneven_row_of_its_own_travels(void **state)
{
    struct table table = table_rich();
    uint8_t bytes[LIMIT_TUNE_TABLE];
    struct table back;
    size_t n_entries;

    table.rows[COLLECTIVE_ALLGATHER][TABLE_FORM_UNEVEN_BLOCKS] =
        (struct tuning_table_row){
            .n_points = 2,
            .points = {{77, registry_collective_entries(COLLECTIVE_ALLGATHER,
                                                        &n_entries)},
                       {UINT64_MAX, registry_collective_entries(
                                        COLLECTIVE_ALLGATHER, &n_entries)}},
        };
    assert_ok(tuning_table_encode(&table, bytes));
    assert_ok(tuning_table_decode(bytes, &back));
    assert_rows_equal(&table, &back);
}

/* What a test may get wrong in an otherwise good table of one row. */
struct row {
    const char *collective;
    uint64_t form;
    const char *overrides;
    const char *algorithm;
    uint64_t sizes[TABLE_SWITCH_POINTS_MAX + 1];
    size_t n_sizes;
};

static void
machine_pack(struct pack *pack, uint64_t processors)
{
    pack_array(pack, 14);
    pack_uint(pack, processors);
    pack_uint(pack, 1 << 24);
    for (unsigned i = 0; i < 12; i++)
        pack_uint(pack, 1000000);
}

static void
row_pack(struct pack *pack, const struct row *row)
{
    pack_array(pack, 4);
    pack_str(pack, row->collective);
    pack_uint(pack, row->form);
    if (row->overrides)
        pack_str(pack, row->overrides);
    else
        pack_nil(pack);
    pack_array(pack, 2 * row->n_sizes);
    for (size_t i = 0; i < row->n_sizes; i++) {
        pack_uint(pack, row->sizes[i]);
        pack_str(pack, row->algorithm);
    }
}

static void
assert_refused(const struct row *row, const char *why)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *packed = NULL;
    uint8_t bytes[LIMIT_TUNE_TABLE] = {0};
    size_t n_packed;
    struct table table;

    pack_init(&pack, LIMIT_TUNE_TABLE);
    pack_array(&pack, 7);
    pack_uint(&pack, 6);
    machine_pack(&pack, 1);
    pack_array(&pack, 1);
    row_pack(&pack, row);
    for (unsigned i = 0; i < 4; i++)
        pack_uint(&pack, 0);
    assert_ok(pack_take(&pack, &packed, &n_packed));
    memcpy(bytes, packed, n_packed);
    assert_int_equal(tuning_table_decode(bytes, &table), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), why));
}

static void
bad_rows_are_refused(void **state)
{
    static const struct {
        struct row row;
        const char *why;
    } cases[] = {
        {{"gossip", 0, NULL, "ring", {UINT64_MAX}, 1}, "collective 'gossip'"},
        {{"allreduce", 2, NULL, "ring", {UINT64_MAX}, 1}, ""},
        {{"allreduce", 0, NULL, "rung", {UINT64_MAX}, 1},
         "allreduce by 'rung'"},
        {{"allreduce", 0, "rung", "ring", {UINT64_MAX}, 1}, "by 'rung'"},
        {{"allreduce", 0, NULL, "ring", {8}, 1}, "ends at 8 bytes"},
        {{"allreduce", 0, NULL, "ring", {8, 8, UINT64_MAX}, 3}, "ascend"},
        {{"allreduce", 0, NULL, "ring", {9, 8, UINT64_MAX}, 3}, "ascend"},
        {{"allreduce", 0, NULL, "ring", {0}, 0}, ""},
        {{"allreduce",
          0,
          NULL,
          "ring",
          {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13},
          13},
         "row of 26 values"},
        {{"allreduce", 0, NULL, "ring", {UINT64_MAX}, 1},
         "does not say reduce"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_refused(&cases[i].row, cases[i].why);
}

static void
other_bytes_are_refused(void **state)
{
    uint8_t bytes[LIMIT_TUNE_TABLE];
    struct table table = table_rich();

    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(tuning_table_decode(bytes, &table), HOOP_E_DATA_LOSS);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(tuning_table_decode(bytes, &table), HOOP_E_DATA_LOSS);
    memset(bytes, 0x96, sizeof(bytes));
    assert_int_equal(tuning_table_decode(bytes, &table), HOOP_E_DATA_LOSS);
    table = table_rich();
    assert_ok(tuning_table_encode(&table, bytes));
    bytes[1] = 1; /* the version */
    assert_int_equal(tuning_table_decode(bytes, &table), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "version 1, not 6"));
    table.n_sample_bytes = LIMIT_SAMPLE_FILE_BYTES + 1;
    assert_ok(tuning_table_encode(&table, bytes));
    assert_int_equal(tuning_table_decode(bytes, &table), HOOP_E_DATA_LOSS);
    table.n_sample_bytes = 0;
    table.loss = (enum codec_loss)LOSS_COUNT;
    assert_ok(tuning_table_encode(&table, bytes));
    assert_int_equal(tuning_table_decode(bytes, &table), HOOP_E_DATA_LOSS);
    table.loss = LOSS_NONE;
    table.defaults = (enum defaults_kind)(DEFAULTS_DIRECT + 1);
    assert_ok(tuning_table_encode(&table, bytes));
    assert_int_equal(tuning_table_decode(bytes, &table), HOOP_E_DATA_LOSS);
    table.defaults = DEFAULTS_NONE;
    table.machine.n_processors = 0;
    assert_ok(tuning_table_encode(&table, bytes));
    assert_int_equal(tuning_table_decode(bytes, &table), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "no processors"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_table_takes_the_first_of_each),
        cmocka_unit_test(size_on_the_point_belongs_below_it),
        cmocka_unit_test(rule_replaces_what_others_said_of_its_sizes),
        cmocka_unit_test(rule_beyond_a_full_row_extends_its_last_point),
        cmocka_unit_test(overrides_algorithm_does_all_sizes),
        cmocka_unit_test(
            overrides_algorithm_for_even_blocks_leaves_uneven_ones),
        cmocka_unit_test(collective_without_points_is_not_found),
        cmocka_unit_test(table_comes_back_as_it_went),
        cmocka_unit_test(costs_are_rounded_once_and_bounded),
        cmocka_unit_test(uneven_row_of_its_own_travels),
        cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(other_bytes_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
