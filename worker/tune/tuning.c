/*
 * tune/tuning.c - which algorithm does a collective: decided once, for all
 *
 * One each so far.
 *
 * No test of its own: there is nothing to decide yet.
 */

#include "tune/tuning.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "plan/catalog.h"
#include "tune/family.h"
#include "tune/placement.h"

struct tuning {
    struct plan_nodes *nodes;
};

enum hoop_status
tuning_agree(struct tuner *tuner,
             struct channel *channel,
             uint64_t deadline_ns,
             struct tuning **out_tuning)
{
    CLEANUP(tuning_destroy) struct tuning *tuning = calloc(1, sizeof(*tuning));

    (void)deadline_ns;
    if (!tuning)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a tuning");
    const enum hoop_status status =
        placement_find(channel, tuner_roster(tuner), &tuning->nodes);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_tuning = STEAL(tuning);
    return HOOP_OK;
}

void
tuning_destroy(struct tuning *tuning)
{
    if (!tuning)
        return;
    plan_nodes_destroy(tuning->nodes);
    free(tuning);
}

const struct algorithm *
tuning_find(const struct tuning *tuning, enum call_name name, size_t n_bytes)
{
    const enum catalog_collective collective = family_of(name);
    size_t n_entries;
    const struct catalog_entry *entries = catalog_of(collective, &n_entries);

    (void)tuning;
    (void)n_bytes;
    assert(n_entries > 0);
    return entries[0].algorithm;
}

const struct plan_nodes *
tuning_nodes(const struct tuning *tuning)
{
    return tuning ? tuning->nodes : NULL;
}
