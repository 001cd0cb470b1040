/*
 * select/defaults.h - choices that were measured, used instead of estimates
 *
 * If ranks outnumber processors, wake-ups decide which algorithm is fastest,
 * and no model predicts these. For hosts with as many processors as the one
 * that hoop was measured on, select/defaults_tcp.c, defaults_shm.c and
 * defaults_direct.c list what was fastest there in many jobs: a set of rules
 * for each number of ranks, with a row for each collective. Those rows replace
 * the model's choices, so that the first job chooses well and later jobs choose
 * the same, whatever they measure of their links. Everything else is left to
 * the model.
 */

#ifndef SELECT_DEFAULTS_H
#define SELECT_DEFAULTS_H

#include <stddef.h>
#include <stdint.h>

#include "algorithms/registry.h"
#include "model/estimate.h"
#include "plan/plan.h"
#include "select/table.h"

struct defaults_switch_point {
    uint64_t up_to_bytes; /* UINT64_MAX in the last point */
    const struct algorithm *algorithm;
};

/* For ranks on one node. A row without points means that nothing was
 * measured. */
struct defaults_ruleset {
    enum defaults_kind kind;
    uint32_t n_processors;
    uint32_t n_ranks;
    struct defaults_switch_point rows[COLLECTIVE_KINDS]
                                     [TABLE_SWITCH_POINTS_MAX];
};

/* All rule sets of one kind. */
struct defaults_collection {
    const struct defaults_ruleset *rulesets;
    size_t n_rulesets;
};

extern const struct defaults_collection defaults_tcp;
extern const struct defaults_collection defaults_shm;
extern const struct defaults_collection defaults_direct;

/* Returns NULL for DEFAULTS_NONE. */
const struct defaults_collection *
defaults_collection_of(enum defaults_kind kind);

/* Replace the rows of table by the measured ones, if there are any for place.
 * DEFAULTS_SHM applies to ranks that share a region, DEFAULTS_TCP to others.
 * DEFAULTS_DIRECT without measured rows acts like DEFAULTS_SHM, except that
 * large calls use direct algorithms. */
void
defaults_apply(enum defaults_kind kind,
               const struct estimate_environment *place,
               struct table *table);

#endif
