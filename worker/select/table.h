/*
 * select/table.h - which algorithm runs each collective, by size
 *
 * The table has a row for each collective of the registry, and another one for
 * its variants with uneven blocks, which not every algorithm supports. A
 * communicator's rank 0 sends the table to the others, together with what it
 * was made from: the costs of the machine and the algorithms that the user
 * chose.
 */

#ifndef SELECT_TABLE_H
#define SELECT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "algorithms/registry.h"
#include "base/limits.h"
#include "codec/loss.h"
#include "model/machine.h"
#include "select/overrides.h"

enum {
    TABLE_SWITCH_POINTS_MAX = 12
};

enum tuning_table_form {
    TABLE_FORM_EVEN_BLOCKS,
    TABLE_FORM_UNEVEN_BLOCKS
};

enum {
    N_TABLE_FORMS = TABLE_FORM_UNEVEN_BLOCKS + 1
};

/* Which measured defaults (select/defaults.h) apply on one node, according to
 * the rank that made the table. Groups use the same. */
enum defaults_kind {
    DEFAULTS_NONE,
    DEFAULTS_TCP,
    DEFAULTS_SHM, /* if the ranks share a region */
    /* If in addition reading each other's buffers was measured to be faster. */
    DEFAULTS_DIRECT,
};

struct tuning_table_switch_point {
    uint64_t up_to_bytes; /* UINT64_MAX in the last point */
    const struct registry_algorithm *entry;
};

/* A row without points means that the registry has no algorithm for this
 * collective. */
struct tuning_table_row {
    uint32_t n_points;
    struct tuning_table_switch_point points[TABLE_SWITCH_POINTS_MAX];
};

struct table {
    struct simulation_machine machine;
    struct overrides overrides;
    /* Only in the world's table: the size of the HOOP_TUNING text that follows
     * the table; 0 if none does. */
    uint32_t n_sample_bytes;
    enum codec_loss loss; /* of floats that are reduced or gathered */
    /* Only in the world's table: all ranks run the benchmark, and then rank 0
     * sends another table. */
    bool needs_benchmark;
    enum defaults_kind defaults;
    struct tuning_table_row rows[COLLECTIVE_KINDS][N_TABLE_FORMS];
};

/* Use the registry's first algorithm for everything, with an empty machine. */
void
tuning_table_init(struct table *table);

/* Use one algorithm for all sizes. */
void
tuning_table_row_set(struct tuning_table_row *row,
                     const struct registry_algorithm *entry);

/* What a source of choices says: calls of more than after_bytes, up to
 * up_to_bytes, use this algorithm of its collective. */
struct tuning_rule {
    uint64_t after_bytes; /* 0: also calls of no bytes */
    uint64_t up_to_bytes; /* UINT64_MAX: no bound */
    const struct registry_algorithm *entry;
};

/* A later rule replaces what earlier ones said of the same sizes. If a row
 * becomes full, its last point is extended. */
void
tuning_table_row_apply_rule(struct tuning_table_row *row,
                            const struct tuning_rule *rule);
/* Apply to both rows of the collective. An algorithm for even blocks only
 * leaves the row for uneven blocks as it is. */
void
tuning_table_apply_rule(struct table *table, const struct tuning_rule *rule);
void
tuning_table_apply_overrides(struct table *table,
                             const struct overrides *overrides);

/* Returns NULL if the registry has no algorithm. */
const struct registry_algorithm *
tuning_table_find_algorithm(const struct table *table,
                            enum collective_kind collective,
                            enum tuning_table_form form,
                            uint64_t n_bytes);

/* Encode as docs/wire-format.md describes. The rest of bytes is zeroed. Handle:
 * none (HOOP_E_EXHAUSTED). */
enum hoop_status
tuning_table_encode(const struct table *table, uint8_t bytes[LIMIT_TUNE_TABLE]);

/*
 * The bytes come from a peer, so everything is checked.
 * Handle: HOOP_E_DATA_LOSS (not a table, or one with algorithms that this build
 * does not have).
 */
enum hoop_status
tuning_table_decode(const uint8_t bytes[LIMIT_TUNE_TABLE],
                    struct table *out_table);

#endif
