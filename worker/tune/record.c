/* tune/record.c - what was measured before is not estimated again */

#include "tune/record.h"

#include <assert.h>

enum {
    /* Of the larger buffer; below, two waits more cost what a copy less saves. */
    DIRECT_FROM_BYTES = 128 << 10,
};

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

const struct record_book *
record_book_of(enum record_kind kind)
{
    switch (kind) {
    case RECORD_TCP:
        return &record_tcp;
    case RECORD_SHM:
        return &record_shm;
    case RECORD_DIRECT:
        return &record_direct;
    case RECORD_NONE:
        break;
    }
    return NULL;
}

/* False: nothing was recorded there. */
static bool
kind_apply(enum record_kind kind,
           const struct estimate_place *place,
           struct table *table)
{
    const struct record_book *book = record_book_of(kind);
    bool is_known = false;

    for (size_t i = 0; i < book->n_sheets; i++) {
        const struct record_sheet *sheet = &book->sheets[i];

        if (sheet->n_ranks != place->nodes->n_ranks ||
            sheet->n_processors != place->machine->n_processors)
            continue;
        sheet_apply(sheet, table);
        is_known = true;
    }
    return is_known;
}

/* Every collective that can be done so, from some size on. */
static void
direct_apply(struct table *table)
{
    for (unsigned i = 0; i < CATALOG_COLLECTIVES * TABLE_FORMS; i++) {
        const unsigned form = i % TABLE_FORMS;
        struct table_row *row = &table->rows[i / TABLE_FORMS][form];
        const struct table_row before = *row;
        const struct catalog_entry *direct =
            catalog_find((enum catalog_collective)(i / TABLE_FORMS), "direct");

        if (!direct || (direct->is_even_only && form == TABLE_UNEVEN))
            continue;
        row->n_points = 0;
        table_row_copy(row, &before, 0, DIRECT_FROM_BYTES);
        table_row_put(row, UINT64_MAX, direct);
    }
}

void
record_apply(enum record_kind kind,
             const struct estimate_place *place,
             struct table *table)
{
    const bool has_hall = place->shm_region.n_slot > 0;
    const bool is_direct = kind == RECORD_DIRECT && place->shm_region.is_open;

    if (kind == RECORD_NONE || has_hall != (kind != RECORD_TCP) ||
        place->nodes->n_nodes > 1)
        return;
    if (is_direct && kind_apply(RECORD_DIRECT, place, table))
        return;
    kind_apply(has_hall ? RECORD_SHM : RECORD_TCP, place, table);
    if (is_direct)
        direct_apply(table);
}
