/* select/table.c - which algorithm runs each collective, by size */

#include "select/table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "wire/pack.h"
#include "wire/unpack.h"

static bool
entry_supports_form(const struct registry_algorithm *entry,
                    enum tuning_table_form form)
{
    return form == TABLE_FORM_EVEN_BLOCKS || !entry->is_even_only;
}

void
tuning_table_row_set(struct tuning_table_row *row,
                     const struct registry_algorithm *entry)
{
    *row = (struct tuning_table_row){
        .n_points = 1,
        .points = {{.up_to_bytes = UINT64_MAX, .entry = entry}},
    };
}

/* Append a point: entry applies from the end of the row to up_to_bytes. If the
 * row is full, its last point is extended instead. */
static void
row_append(struct tuning_table_row *row,
           uint64_t up_to_bytes,
           const struct registry_algorithm *entry)
{
    const uint32_t n = row->n_points;

    if (n > 0 &&
        (n == TABLE_SWITCH_POINTS_MAX || row->points[n - 1].entry == entry))
        row->points[n - 1].up_to_bytes = up_to_bytes;
    else
        row->points[row->n_points++] =
            (struct tuning_table_switch_point){up_to_bytes, entry};
}

/* Append the points of other for sizes above after_bytes, up to up_to_bytes. */
static void
row_append_part(struct tuning_table_row *row,
                const struct tuning_table_row *other,
                uint64_t after_bytes,
                uint64_t up_to_bytes)
{
    for (uint32_t i = 0; i < other->n_points && after_bytes < up_to_bytes;
         i++) {
        const uint64_t end_bytes = other->points[i].up_to_bytes < up_to_bytes
                                       ? other->points[i].up_to_bytes
                                       : up_to_bytes;

        if (end_bytes <= after_bytes)
            continue;
        row_append(row, end_bytes, other->points[i].entry);
        after_bytes = end_bytes;
    }
}

void
tuning_table_row_apply_rule(struct tuning_table_row *row,
                            const struct tuning_rule *rule)
{
    const struct tuning_table_row before = *row;

    row->n_points = 0;
    row_append_part(row, &before, 0, rule->after_bytes);
    row_append(row, rule->up_to_bytes, rule->entry);
    row_append_part(row, &before, rule->up_to_bytes, UINT64_MAX);
}

void
tuning_table_apply_rule(struct table *table, const struct tuning_rule *rule)
{
    for (unsigned form = 0; form < N_TABLE_FORMS; form++)
        if (entry_supports_form(rule->entry, form))
            tuning_table_row_apply_rule(
                &table->rows[rule->entry->collective][form], rule);
}

void
tuning_table_init(struct table *table)
{
    *table = (struct table){.machine = {.n_processors = 1}};
    for (size_t i = 0; i < COLLECTIVE_KINDS; i++) {
        size_t n_entries;
        const struct registry_algorithm *first =
            registry_collective_entries((enum collective_kind)i, &n_entries);

        if (n_entries == 0)
            continue;
        assert(!first->is_even_only);
        tuning_table_row_set(&table->rows[i][TABLE_FORM_EVEN_BLOCKS], first);
        tuning_table_row_set(&table->rows[i][TABLE_FORM_UNEVEN_BLOCKS], first);
    }
}

void
tuning_table_apply_overrides(struct table *table,
                             const struct overrides *overrides)
{
    for (size_t i = 0; i < COLLECTIVE_KINDS; i++) {
        const struct registry_algorithm *entry = overrides->entries[i];

        if (!entry)
            continue;
        table->overrides.entries[i] = entry;
        tuning_table_apply_rule(
            table,
            &(struct tuning_rule){.up_to_bytes = UINT64_MAX, .entry = entry});
    }
}

const struct registry_algorithm *
tuning_table_find_algorithm(const struct table *table,
                            enum collective_kind collective,
                            enum tuning_table_form form,
                            uint64_t n_bytes)
{
    const struct tuning_table_row *row = &table->rows[collective][form];

    for (uint32_t i = 0; i < row->n_points; i++) {
        if (n_bytes <= row->points[i].up_to_bytes)
            return row->points[i].entry;
    }
    return NULL;
}

/*
 * A table of switch points as bytes, and back.
 *
 *   table     [version, machine, [row, ...], bytes of samples, loss,
 *             needs benchmark, defaults]
 *   machine   [processors, bytes of cache, cost, ...]; a cost is in millionths
 *             of a nanosecond
 *   row       [collective, form, override or nil, [up to, algorithm, ...]]
 *
 * Names are used rather than numbers, because two builds may list different
 * algorithms. A row for uneven blocks is left out if it equals the one for
 * even blocks.
 */

enum {
    TUNING_TABLE_VERSION = 6,
    NAME_MAX_BYTES = 32,
    TUNING_TABLE_N_FIELDS = 7,
    ROW_FIELDS = 4,
    MACHINE_FIELDS = 2, /* before the costs */
    N_MACHINE_COSTS = 12,
    /* More zero bytes than the last fields and the bytes of a number can end
     * with. */
    TABLE_PADDING_ZEROS_MIN = 32,
};

/* The cost of a message or a byte is at most a second. */
static const double COST_MAX_NS = 1e9;
static const double COST_UNIT_NS = 1e-6;

static void
machine_cost_fields(struct simulation_machine *machine,
                    double *out_costs[N_MACHINE_COSTS])
{
    double *const costs[N_MACHINE_COSTS] = {
        &machine->send_ns,           &machine->receive_ns,
        &machine->latency_inside_ns, &machine->latency_between_ns,
        &machine->link_inside_ns,    &machine->link_between_ns,
        &machine->send_byte_ns,      &machine->receive_byte_ns,
        &machine->copy_byte_ns,      &machine->reduce_byte_ns,
        &machine->wait_ns,           &machine->memory_byte_ns,
    };

    memcpy(out_costs, costs, sizeof(costs));
}

static void
machine_costs_pack(struct pack *pack, struct simulation_machine machine)
{
    double *costs[N_MACHINE_COSTS];

    machine_cost_fields(&machine, costs);
    pack_array(pack, MACHINE_FIELDS + N_MACHINE_COSTS);
    pack_uint(pack, machine.n_processors);
    pack_uint(pack, machine.cache_bytes);
    for (size_t i = 0; i < N_MACHINE_COSTS; i++) {
        const double cost = *costs[i] < COST_MAX_NS ? *costs[i] : COST_MAX_NS;

        assert(cost >= 0);
        pack_uint(pack, (uint64_t)(cost / COST_UNIT_NS + 0.5));
    }
}

static void
tuning_row_pack(struct pack *pack,
                const struct table *table,
                enum collective_kind collective,
                enum tuning_table_form form)
{
    const struct tuning_table_row *row = &table->rows[collective][form];
    const struct registry_algorithm *overrides =
        table->overrides.entries[collective];

    pack_array(pack, ROW_FIELDS);
    pack_str(pack, registry_collective_name(collective));
    pack_uint(pack, form);
    if (overrides)
        pack_str(pack, overrides->algorithm->name);
    else
        pack_nil(pack);
    pack_array(pack, 2 * (size_t)row->n_points);
    for (uint32_t i = 0; i < row->n_points; i++) {
        pack_uint(pack, row->points[i].up_to_bytes);
        pack_str(pack, row->points[i].entry->algorithm->name);
    }
}

static bool
tuning_rows_are_equal(const struct tuning_table_row *one,
                      const struct tuning_table_row *other)
{
    if (one->n_points != other->n_points)
        return false;
    for (uint32_t i = 0; i < one->n_points; i++) {
        if (one->points[i].up_to_bytes != other->points[i].up_to_bytes ||
            one->points[i].entry != other->points[i].entry)
            return false;
    }
    return true;
}

static bool
tuning_row_is_packed(const struct table *table,
                     enum collective_kind collective,
                     enum tuning_table_form form)
{
    const struct tuning_table_row *rows = table->rows[collective];

    if (rows[form].n_points == 0)
        return false;
    return form == TABLE_FORM_EVEN_BLOCKS ||
           !tuning_rows_are_equal(&rows[TABLE_FORM_EVEN_BLOCKS],
                                  &rows[TABLE_FORM_UNEVEN_BLOCKS]);
}

static void
tuning_rows_pack(struct pack *pack, const struct table *table)
{
    size_t n_rows = 0;

    for (unsigned i = 0; i < COLLECTIVE_KINDS * N_TABLE_FORMS; i++)
        n_rows +=
            tuning_row_is_packed(table, i / N_TABLE_FORMS, i % N_TABLE_FORMS);
    pack_array(pack, n_rows);
    for (unsigned i = 0; i < COLLECTIVE_KINDS * N_TABLE_FORMS; i++) {
        if (tuning_row_is_packed(table, i / N_TABLE_FORMS, i % N_TABLE_FORMS))
            tuning_row_pack(pack, table, i / N_TABLE_FORMS, i % N_TABLE_FORMS);
    }
}

enum hoop_status
tuning_table_encode(const struct table *table, uint8_t bytes[LIMIT_TUNE_TABLE])
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *packed = NULL;
    size_t n_packed = 0;

    pack_init(&pack, LIMIT_TUNE_TABLE);
    pack_array(&pack, TUNING_TABLE_N_FIELDS);
    pack_uint(&pack, TUNING_TABLE_VERSION);
    machine_costs_pack(&pack, table->machine);
    tuning_rows_pack(&pack, table);
    pack_uint(&pack, table->n_sample_bytes);
    pack_uint(&pack, table->loss);
    pack_uint(&pack, table->needs_benchmark);
    pack_uint(&pack, table->defaults);
    const enum hoop_status status = pack_take(&pack, &packed, &n_packed);
    if (status != HOOP_OK)
        return error_pass(status);
    memset(bytes, 0, LIMIT_TUNE_TABLE);
    memcpy(bytes, packed, n_packed);
    return HOOP_OK;
}

static void
machine_costs_unpack(struct unpack *unpack, struct simulation_machine *machine)
{
    const size_t n = unpack_array(unpack, MACHINE_FIELDS + N_MACHINE_COSTS);
    const uint64_t cost_max = (uint64_t)(COST_MAX_NS / COST_UNIT_NS);
    double *costs[N_MACHINE_COSTS];

    machine_cost_fields(machine, costs);
    machine->n_processors = (uint32_t)unpack_uint(unpack, UINT32_MAX);
    machine->cache_bytes = unpack_uint(unpack, UINT64_MAX);
    for (size_t i = 0; i < N_MACHINE_COSTS; i++)
        *costs[i] = (double)unpack_uint(unpack, cost_max) * COST_UNIT_NS;
    unpack_skip(unpack, n > MACHINE_FIELDS + N_MACHINE_COSTS
                            ? n - MACHINE_FIELDS - N_MACHINE_COSTS
                            : 0);
}

static enum hoop_status
algorithm_name_unpack(struct unpack *unpack,
                      enum collective_kind collective,
                      const struct registry_algorithm **out_entry)
{
    char name[NAME_MAX_BYTES] = "";

    unpack_text(unpack, name, sizeof(name));
    if (unpack_status(unpack) != HOOP_OK)
        return error_pass(unpack_status(unpack));
    *out_entry = registry_find_algorithm(collective, name);
    if (!*out_entry)
        return error_raise(HOOP_E_DATA_LOSS,
                           "rank 0 does %s by '%s', an algorithm that is not "
                           "known here: run one version of hoop on all ranks",
                           registry_collective_name(collective), name);
    return HOOP_OK;
}

/* The sizes must ascend, and the last one must be the largest there is. */
static enum hoop_status
tuning_points_unpack(struct unpack *unpack,
                     enum collective_kind collective,
                     struct tuning_table_row *row)
{
    const size_t n = unpack_array(unpack, 2);
    uint64_t before = 0;

    if (n % 2 != 0 || n > (size_t)2 * TABLE_SWITCH_POINTS_MAX)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a row of %zu values in rank 0's table", n);
    for (row->n_points = 0; row->n_points < n / 2; row->n_points++) {
        struct tuning_table_switch_point *point = &row->points[row->n_points];

        point->up_to_bytes = unpack_uint(unpack, UINT64_MAX);
        const enum hoop_status status =
            algorithm_name_unpack(unpack, collective, &point->entry);
        if (status != HOOP_OK)
            return error_pass(status);
        if (row->n_points > 0 && point->up_to_bytes <= before)
            return error_raise(HOOP_E_DATA_LOSS,
                               "sizes in rank 0's table do not ascend");
        before = point->up_to_bytes;
    }
    if (unpack_status(unpack) == HOOP_OK && before != UINT64_MAX)
        return error_raise(HOOP_E_DATA_LOSS,
                           "rank 0's table ends at %llu bytes",
                           (unsigned long long)before);
    return HOOP_OK;
}

static enum hoop_status
tuning_row_unpack(struct unpack *unpack, struct table *table)
{
    const size_t n = unpack_array(unpack, ROW_FIELDS);
    enum collective_kind collective = COLLECTIVE_ALLREDUCE;
    enum hoop_status status = HOOP_OK;
    char name[NAME_MAX_BYTES] = "";

    unpack_text(unpack, name, sizeof(name));
    if (unpack_status(unpack) != HOOP_OK)
        return error_pass(unpack_status(unpack));
    if (!registry_parse_collective(name, &collective))
        return error_raise(HOOP_E_DATA_LOSS,
                           "rank 0's table has a collective '%s', which is not "
                           "known here: run one version of hoop on all ranks",
                           name);
    const uint64_t form = unpack_uint(unpack, TABLE_FORM_UNEVEN_BLOCKS);
    if (!unpack_nil(unpack))
        status = algorithm_name_unpack(unpack, collective,
                                       &table->overrides.entries[collective]);
    if (status == HOOP_OK)
        status = tuning_points_unpack(unpack, collective,
                                      &table->rows[collective][form]);
    unpack_skip(unpack, n > ROW_FIELDS ? n - ROW_FIELDS : 0);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Copies the rows for even blocks where those for uneven ones were left out; no
 * other row may be missing. */
static enum hoop_status
tuning_rows_fill_missing(struct table *table, enum collective_kind collective)
{
    struct tuning_table_row *rows = table->rows[collective];
    size_t n_entries;

    registry_collective_entries(collective, &n_entries);
    if (rows[TABLE_FORM_UNEVEN_BLOCKS].n_points == 0)
        rows[TABLE_FORM_UNEVEN_BLOCKS] = rows[TABLE_FORM_EVEN_BLOCKS];
    if (n_entries > 0 && rows[TABLE_FORM_EVEN_BLOCKS].n_points == 0)
        return error_raise(HOOP_E_DATA_LOSS, "rank 0's table does not say %s",
                           registry_collective_name(collective));
    for (uint32_t i = 0; i < rows[TABLE_FORM_UNEVEN_BLOCKS].n_points; i++) {
        const struct registry_algorithm *entry =
            rows[TABLE_FORM_UNEVEN_BLOCKS].points[i].entry;

        if (entry->is_even_only)
            return error_raise(HOOP_E_DATA_LOSS,
                               "rank 0's table has %s for uneven blocks",
                               entry->algorithm->name);
    }
    return HOOP_OK;
}

static enum hoop_status
tuning_rows_unpack(struct unpack *unpack, struct table *table)
{
    const size_t n_rows = unpack_array(unpack, 0);

    for (size_t i = 0; i < n_rows && unpack_status(unpack) == HOOP_OK; i++) {
        const enum hoop_status status = tuning_row_unpack(unpack, table);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (unpack_status(unpack) != HOOP_OK)
        return error_pass(unpack_status(unpack));
    for (unsigned i = 0; i < COLLECTIVE_KINDS; i++) {
        const enum hoop_status status = tuning_rows_fill_missing(table, i);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* The size without most of the zeros that fill the buffer, each of which would
 * count as a value. */
static size_t
bytes_before_padding(const uint8_t bytes[LIMIT_TUNE_TABLE])
{
    size_t n = LIMIT_TUNE_TABLE - TABLE_PADDING_ZEROS_MIN;

    while (n > 0 && bytes[n - 1] == 0)
        n--;
    return n + TABLE_PADDING_ZEROS_MIN;
}

enum hoop_status
tuning_table_decode(const uint8_t bytes[LIMIT_TUNE_TABLE],
                    struct table *out_table)
{
    struct unpack unpack;
    struct table table = {.machine = {.n_processors = 1}};

    unpack_init(&unpack, bytes, bytes_before_padding(bytes), LIMIT_TUNE_TABLE);
    unpack_array(&unpack, TUNING_TABLE_N_FIELDS);
    const uint64_t version = unpack_uint(&unpack, UINT32_MAX);
    if (unpack_status(&unpack) == HOOP_OK && version != TUNING_TABLE_VERSION)
        return error_raise(HOOP_E_DATA_LOSS,
                           "rank 0's table is of version %llu, not %d: run one "
                           "version of hoop on all ranks",
                           (unsigned long long)version, TUNING_TABLE_VERSION);
    machine_costs_unpack(&unpack, &table.machine);
    if (unpack_status(&unpack) == HOOP_OK && table.machine.n_processors == 0)
        return error_raise(HOOP_E_DATA_LOSS,
                           "rank 0's table is for no processors");
    const enum hoop_status status = tuning_rows_unpack(&unpack, &table);
    if (status != HOOP_OK)
        return error_pass(status);
    table.n_sample_bytes =
        (uint32_t)unpack_uint(&unpack, LIMIT_SAMPLE_FILE_BYTES);
    table.loss = (enum codec_loss)unpack_uint(&unpack, LOSS_COUNT - 1);
    table.needs_benchmark = unpack_uint(&unpack, 1) == 1;
    table.defaults = (enum defaults_kind)unpack_uint(&unpack, DEFAULTS_DIRECT);
    if (unpack_status(&unpack) != HOOP_OK)
        return error_pass(unpack_status(&unpack));
    *out_table = table;
    return HOOP_OK;
}
