/*
 * tune/record.h - what was measured before is not estimated again
 *
 * Where ranks outnumber processors, who is fastest is decided by wake-ups that
 * no model foretells. For hosts of as many processors as the one that hoop was
 * measured on, record_<kind>.c has what was fastest there, in many jobs: a sheet
 * for each number of ranks, a row for each collective. It takes the place of what the model
 * says, so that the first job chooses well, and the next one alike, whatever
 * either measures of its links. For all else the model stays.
 */

#ifndef TUNE_RECORD_H
#define TUNE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "plan/catalog.h"
#include "plan/plan.h"
#include "tune/estimate.h"
#include "tune/table.h"

struct record_point {
    uint64_t up_to_bytes; /* UINT64_MAX in the last one */
    const struct algorithm *algorithm;
};

/* Of ranks on one node. A row without points: nothing is known. */
struct record_sheet {
    enum record_kind kind;
    uint32_t n_processors;
    uint32_t n_ranks;
    struct record_point rows[CATALOG_COLLECTIVES][TABLE_POINTS];
};

/* All of one kind. */
struct record_book {
    const struct record_sheet *sheets;
    size_t n_sheets;
};

extern const struct record_book record_tcp;
extern const struct record_book record_shm;
extern const struct record_book record_direct;

/* NULL: RECORD_NONE. */
const struct record_book *
record_book_of(enum record_kind kind);

/* Put what was recorded in the place of a table's rows. Of RECORD_SHM for ranks
 * that share a shared region, of RECORD_TCP for others. RECORD_DIRECT: where nothing was
 * recorded of it, as RECORD_SHM, and what is large is direct. */
void
record_apply(enum record_kind kind,
             const struct estimate_place *place,
             struct table *table);

#endif
