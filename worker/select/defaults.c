/* select/defaults.c - choices that were measured, used instead of estimates */

#include "select/defaults.h"

#include <assert.h>

enum {
    /* The size of the larger buffer. Below it, the two additional waits of a
     * direct algorithm cost as much as the copy that it saves. */
    CMA_DIRECT_MIN_BYTES = 128 << 10,
};

static void
defaults_row_apply(const struct defaults_switch_point *points,
                   enum tuning_table_form form,
                   struct tuning_table_row *row)
{
    const struct tuning_table_row model = *row;
    uint64_t after_bytes = 0;

    row->n_points = 0;
    for (size_t i = 0; after_bytes < UINT64_MAX; i++) {
        assert(i < TABLE_SWITCH_POINTS_MAX);
        const struct registry_algorithm *entry =
            registry_entry_of_algorithm(points[i].algorithm);
        if (form == TABLE_FORM_UNEVEN_BLOCKS && entry->is_even_only)
            tuning_table_row_copy(row, &model, after_bytes,
                                  points[i].up_to_bytes);
        else
            tuning_table_row_append(row, points[i].up_to_bytes, entry);
        after_bytes = points[i].up_to_bytes;
    }
}

static void
defaults_ruleset_apply(const struct defaults_ruleset *ruleset,
                       struct table *table)
{
    for (size_t i = 0; i < COLLECTIVE_KINDS; i++)
        for (unsigned form = 0; form < N_TABLE_FORMS; form++)
            if (ruleset->rows[i][0].algorithm)
                defaults_row_apply(ruleset->rows[i], form,
                                   &table->rows[i][form]);
}

const struct defaults_collection *
defaults_collection_of(enum defaults_kind kind)
{
    switch (kind) {
    case DEFAULTS_TCP:
        return &defaults_tcp;
    case DEFAULTS_SHM:
        return &defaults_shm;
    case DEFAULTS_DIRECT:
        return &defaults_direct;
    case DEFAULTS_NONE:
        break;
    }
    return NULL;
}

/* Returns false if nothing was measured for this place. */
static bool
defaults_apply_kind(enum defaults_kind kind,
                    const struct estimate_environment *place,
                    struct table *table)
{
    const struct defaults_collection *collection = defaults_collection_of(kind);
    bool is_known = false;

    for (size_t i = 0; i < collection->n_rulesets; i++) {
        const struct defaults_ruleset *ruleset = &collection->rulesets[i];

        if (ruleset->n_ranks != place->nodes->n_ranks ||
            ruleset->n_processors != place->machine->n_processors)
            continue;
        defaults_ruleset_apply(ruleset, table);
        is_known = true;
    }
    return is_known;
}

/* Use the direct algorithm of every collective that has one for large sizes. */
static void
defaults_prefer_direct(struct table *table)
{
    for (unsigned i = 0; i < COLLECTIVE_KINDS * N_TABLE_FORMS; i++) {
        const unsigned form = i % N_TABLE_FORMS;
        struct tuning_table_row *row = &table->rows[i / N_TABLE_FORMS][form];
        const struct tuning_table_row before = *row;
        const struct registry_algorithm *direct = registry_find_algorithm(
            (enum collective_kind)(i / N_TABLE_FORMS), "direct");

        if (!direct ||
            (direct->is_even_only && form == TABLE_FORM_UNEVEN_BLOCKS))
            continue;
        row->n_points = 0;
        tuning_table_row_copy(row, &before, 0, CMA_DIRECT_MIN_BYTES);
        tuning_table_row_append(row, UINT64_MAX, direct);
    }
}

void
defaults_apply(enum defaults_kind kind,
               const struct estimate_environment *place,
               struct table *table)
{
    const bool has_shm_region = place->shm_region.slot_capacity > 0;
    const bool is_direct = kind == DEFAULTS_DIRECT && place->shm_region.has_cma;

    if (kind == DEFAULTS_NONE || has_shm_region != (kind != DEFAULTS_TCP) ||
        place->nodes->n_nodes > 1)
        return;
    if (is_direct && defaults_apply_kind(DEFAULTS_DIRECT, place, table))
        return;
    defaults_apply_kind(has_shm_region ? DEFAULTS_SHM : DEFAULTS_TCP, place,
                        table);
    if (is_direct)
        defaults_prefer_direct(table);
}
