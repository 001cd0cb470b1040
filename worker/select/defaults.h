/*
 * select/defaults.h - choices that were measured, used instead of estimates
 *
 * If ranks outnumber processors, wake-ups decide which algorithm is fastest,
 * and no model predicts these. For hosts with as many processors as the one
 * that hoop was measured on, select/defaults_rows.c lists what was fastest
 * there in many jobs. These rows replace the model's choices, so that the first
 * job chooses well and later jobs choose the same, whatever they measure of
 * their links. Everything else is left to the model.
 */

#ifndef SELECT_DEFAULTS_H
#define SELECT_DEFAULTS_H

#include <stddef.h>
#include <stdint.h>

#include "algorithms/registry.h"
#include "plan/plan.h"
#include "select/estimate.h"
#include "select/table.h"

/* For ranks on one node. The rows of one kind, number of processors, number of
 * ranks and collective are adjacent and ascend; the last one has UINT64_MAX. */
struct defaults_row {
    enum defaults_kind kind;
    uint32_t n_processors;
    uint32_t n_ranks;
    enum collective_kind collective;
    uint64_t up_to_bytes;
    const char *algorithm;
};

const struct defaults_row *
defaults_all_rows(size_t *out_n_rows);

/* Apply the rows that were measured for place, if there are any, to table.
 * DEFAULTS_SHM applies to ranks that share a region, DEFAULTS_TCP to others.
 * DEFAULTS_DIRECT without measured rows acts like DEFAULTS_SHM, except that
 * large calls use direct algorithms. */
void
defaults_apply(enum defaults_kind kind,
               const struct estimate_environment *place,
               struct table *table);

#endif
