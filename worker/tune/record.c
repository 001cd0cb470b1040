/* tune/record.c - what was measured before is not estimated again */

#include "tune/record.h"

#include <assert.h>

static void
form_apply(const struct record_row *record,
           enum table_form form,
           struct table *table)
{
    const struct table_row model = table->rows[record->collective][form];
    struct table_row row = {.n_points = 0};
    uint64_t after_bytes = 0;

    for (size_t i = 0; after_bytes < UINT64_MAX; i++) {
        const struct record_point *point = &record->points[i];

        assert(i < TABLE_POINTS);
        const struct catalog_entry *entry = catalog_entry_of(point->algorithm);
        if (form == TABLE_UNEVEN && entry->is_even_only)
            table_row_copy(&row, &model, after_bytes, point->up_to_bytes);
        else
            table_row_put(&row, point->up_to_bytes, entry);
        after_bytes = point->up_to_bytes;
    }
    table->rows[record->collective][form] = row;
}

void
record_apply(enum record_kind kind,
             const struct estimate_place *place,
             struct table *table)
{
    const bool has_hall = place->n_slot > 0;

    if (kind == RECORD_NONE || has_hall != (kind == RECORD_SHM) ||
        place->nodes->n_nodes > 1)
        return;
    for (size_t i = 0; i < record_n_rows; i++) {
        const struct record_row *row = &record_rows[i];

        if (row->kind != kind || row->n_ranks != place->nodes->n_ranks ||
            row->n_processors != place->machine->n_processors)
            continue;
        form_apply(row, TABLE_EVEN, table);
        form_apply(row, TABLE_UNEVEN, table);
    }
}
