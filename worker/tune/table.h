/*
 * tune/table.h - up to which size each algorithm does each collective
 *
 * A row for each collective of the registry, and one for its forms with
 * uneven blocks, which not every algorithm does. The table travels from a
 * communicator's rank 0 to the others with what it was made from: the costs of
 * the machine and the algorithms that somebody chose.
 */

#ifndef TUNE_TABLE_H
#define TUNE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "codec/loss.h"
#include "plan/registry.h"
#include "plan/simulation.h"
#include "tune/overrides.h"

enum {
    TABLE_POINTS = 12
};

enum table_form {
    TABLE_EVEN,
    TABLE_UNEVEN
};

enum {
    TABLE_FORMS = TABLE_UNEVEN + 1
};

/* Which of the defaults (tune/defaults.h) counts on one node; says who made the
 * table, for groups. */
enum defaults_kind {
    DEFAULTS_NONE,
    DEFAULTS_TCP,
    DEFAULTS_SHM,    /* where ranks share a shared region */
    DEFAULTS_DIRECT, /* and to read each other's buffers was found to be faster */
};

struct table_point {
    uint64_t up_to_bytes; /* UINT64_MAX in the last one */
    const struct registry_entry *entry;
};

/* No points: the registry has no algorithm for this collective. */
struct table_row {
    uint32_t n_points;
    struct table_point points[TABLE_POINTS];
};

struct table {
    struct simulation_machine machine;
    struct overrides overrides;
    /* The world's alone: what of HOOP_TUNING follows the table; 0: nothing. */
    uint32_t n_sample_bytes;
    enum codec_loss loss; /* of floats that are reduced or gathered */
    bool
        needs_benchmark; /* the world's: all measure, then comes another table */
    enum defaults_kind defaults;
    struct table_row rows[COLLECTIVE_KINDS][TABLE_FORMS];
};

/* Everything by the algorithm that may always be taken, on no machine. */
void
table_init(struct table *table);

/* One algorithm for all sizes. */
void
table_row_set(struct table_row *row, const struct registry_entry *entry);

/* What is above up_to_bytes of the points before it is entry's. Of more points
 * than there is room for, the last one stands for the rest. */
void
table_row_put(struct table_row *row,
              uint64_t up_to_bytes,
              const struct registry_entry *entry);

/* As other has it, from above after_bytes to up_to_bytes. */
void
table_row_copy(struct table_row *row,
               const struct table_row *other,
               uint64_t after_bytes,
               uint64_t up_to_bytes);

/* Where algorithms are overridden, they replace what the rows say; an algorithm
 * for even blocks only leaves the row of uneven ones as it is. */
void
table_force(struct table *table, const struct overrides *overrides);

/* NULL: the registry has none. */
const struct registry_entry *
table_find(const struct table *table,
           enum collective_kind collective,
           enum table_form form,
           uint64_t n_bytes);

/* docs/wire-format.md; what is left of bytes is zero.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
table_encode(const struct table *table, uint8_t bytes[LIMIT_TUNE_TABLE]);

/*
 * From a peer: nothing is believed.
 * Handle: HOOP_E_DATA_LOSS (not a table, or one that names algorithms which
 * this build has not got).
 */
enum hoop_status
table_decode(const uint8_t bytes[LIMIT_TUNE_TABLE], struct table *out_table);

#endif
