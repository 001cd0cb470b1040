/* tune/record.c - what was measured before is not estimated again */

#include "tune/record.h"

#include <assert.h>

static void
form_apply(const struct record_point *points,
           enum table_form form,
           struct table_row *row)
{
    const struct table_row model = *row;
    uint64_t after_bytes = 0;

    row->n_points = 0;
    for (size_t i = 0; after_bytes < UINT64_MAX; i++) {
        assert(i < TABLE_POINTS);
        const struct catalog_entry *entry =
            catalog_entry_of(points[i].algorithm);
        if (form == TABLE_UNEVEN && entry->is_even_only)
            table_row_copy(row, &model, after_bytes, points[i].up_to_bytes);
        else
            table_row_put(row, points[i].up_to_bytes, entry);
        after_bytes = points[i].up_to_bytes;
    }
}

static void
sheet_apply(const struct record_sheet *sheet, struct table *table)
{
    for (size_t i = 0; i < CATALOG_COLLECTIVES; i++)
        for (unsigned form = 0; form < TABLE_FORMS; form++)
            if (sheet->rows[i][0].algorithm)
                form_apply(sheet->rows[i], form, &table->rows[i][form]);
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
    for (size_t i = 0; i < record_n_sheets; i++) {
        const struct record_sheet *sheet = &record_sheets[i];

        if (sheet->kind == kind && sheet->n_ranks == place->nodes->n_ranks &&
            sheet->n_processors == place->machine->n_processors)
            sheet_apply(sheet, table);
    }
}
