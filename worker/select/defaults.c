/* select/defaults.c - choices that were measured, used instead of estimates */

#include "select/defaults.h"

#include <assert.h>

enum {
    /* The size of the larger buffer. Below it, the two additional waits of a
     * direct algorithm cost as much as the copy that it saves. */
    CMA_DIRECT_MIN_BYTES = 128 << 10,
};

/* Returns false if nothing was measured for this place. */
static bool
defaults_apply_kind(enum defaults_kind kind,
                    const struct estimate_environment *place,
                    struct table *table)
{
    size_t n_rows;
    const struct defaults_row *rows = defaults_all_rows(&n_rows);
    struct tuning_rule rule = {.up_to_bytes = UINT64_MAX};
    bool is_known = false;

    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].kind != kind || rows[i].n_ranks != place->nodes->n_ranks ||
            rows[i].n_processors != place->machine->n_processors)
            continue;
        rule.after_bytes = rule.up_to_bytes < UINT64_MAX ? rule.up_to_bytes : 0;
        rule.up_to_bytes = rows[i].up_to_bytes;
        rule.entry =
            registry_find_algorithm(rows[i].collective, rows[i].algorithm);
        assert(rule.entry);
        tuning_table_apply_rule(table, &rule);
        is_known = true;
    }
    return is_known;
}

/* Use the direct algorithm of every collective that has one for large sizes. */
static void
defaults_prefer_direct(struct table *table)
{
    for (unsigned i = 0; i < COLLECTIVE_KINDS; i++) {
        const struct tuning_rule rule = {
            .after_bytes = CMA_DIRECT_MIN_BYTES,
            .up_to_bytes = UINT64_MAX,
            .entry = registry_find_algorithm((enum collective_kind)i, "direct"),
        };

        if (rule.entry)
            tuning_table_apply_rule(table, &rule);
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
