/*
 * tune/defaults.h - what was measured before is not estimated again
 *
 * Where ranks outnumber processors, who is fastest is decided by wake-ups that
 * no model foretells. For hosts of as many processors as the one that hoop was
 * measured on, defaults_<kind>.c has what was fastest there, in many jobs: a set of rules
 * for each number of ranks, a row for each collective. It takes the place of what the model
 * says, so that the first job chooses well, and the next one alike, whatever
 * either measures of its links. For all else the model stays.
 */

#ifndef TUNE_DEFAULTS_H
#define TUNE_DEFAULTS_H

#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"
#include "plan/registry.h"
#include "tune/estimate.h"
#include "tune/table.h"

struct defaults_point {
    uint64_t up_to_bytes; /* UINT64_MAX in the last one */
    const struct algorithm *algorithm;
};

/* Of ranks on one node. A row without points: nothing is known. */
struct defaults_ruleset {
    enum defaults_kind kind;
    uint32_t n_processors;
    uint32_t n_ranks;
    struct defaults_point rows[COLLECTIVE_KINDS][TABLE_POINTS];
};

/* All of one kind. */
struct defaults_collection {
    const struct defaults_ruleset *rulesets;
    size_t n_rulesets;
};

extern const struct defaults_collection defaults_tcp;
extern const struct defaults_collection defaults_shm;
extern const struct defaults_collection defaults_direct;

/* NULL: DEFAULTS_NONE. */
const struct defaults_collection *
defaults_collection_of(enum defaults_kind kind);

/* Put what was recorded in the place of a table's rows. Of DEFAULTS_SHM for ranks
 * that share a shared region, of DEFAULTS_TCP for others. DEFAULTS_DIRECT: where nothing was
 * recorded of it, as DEFAULTS_SHM, and what is large is direct. */
void
defaults_apply(enum defaults_kind kind,
               const struct estimate_place *place,
               struct table *table);

#endif
