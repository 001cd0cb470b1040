/* select/table.c - which algorithm runs each collective, by size */

#include "select/table.h"

#include <assert.h>

static bool
entry_supports_form(const struct registry_algorithm *entry,
                    enum tuning_table_form form)
{
    return form == TABLE_EVEN || !entry->is_even_only;
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

void
tuning_table_row_append(struct tuning_table_row *row,
                        uint64_t up_to_bytes,
                        const struct registry_algorithm *entry)
{
    const uint32_t n = row->n_points;

    if (n > 0 && (n == TABLE_POINTS || row->points[n - 1].entry == entry))
        row->points[n - 1].up_to_bytes = up_to_bytes;
    else
        row->points[row->n_points++] =
            (struct tuning_table_switch_point){up_to_bytes, entry};
}

void
tuning_table_row_copy(struct tuning_table_row *row,
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
        tuning_table_row_append(row, end_bytes, other->points[i].entry);
        after_bytes = end_bytes;
    }
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
        tuning_table_row_set(&table->rows[i][TABLE_EVEN], first);
        tuning_table_row_set(&table->rows[i][TABLE_UNEVEN], first);
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
        tuning_table_row_set(&table->rows[i][TABLE_EVEN], entry);
        if (entry_supports_form(entry, TABLE_UNEVEN))
            tuning_table_row_set(&table->rows[i][TABLE_UNEVEN], entry);
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
