/*
 * plan/catalog.h - which algorithms do which collective, and where they may
 *
 * The one list: who chooses an algorithm, who proves them all and who compares
 * them go through it. An algorithm that is not here is never used.
 */

#ifndef PLAN_CATALOG_H
#define PLAN_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"

/* The v-forms are their even form with counts. */
enum catalog_collective {
    CATALOG_ALLREDUCE,
    CATALOG_REDUCE,
    CATALOG_BROADCAST,
    CATALOG_ALLGATHER,
    CATALOG_REDUCE_SCATTER,
    CATALOG_GATHER,
    CATALOG_SCATTER,
    CATALOG_ALLTOALL,
    CATALOG_SCAN,
    CATALOG_EXSCAN,
    CATALOG_BARRIER,
};

enum {
    CATALOG_COLLECTIVES = CATALOG_BARRIER + 1
};

struct catalog_entry {
    enum catalog_collective collective;
    const struct algorithm *algorithm;
    bool is_even_only;   /* shape->counts and recv_counts must be NULL */
    bool needs_nodes;    /* pointless unless a node has several ranks, and there
                          are several nodes; correct everywhere */
    bool suits_one_node; /* though it needs_nodes: there it is a plan of which
                            there is no other name */
    bool is_for_who_asks; /* right, but only for who forces, records or races
                             it: no estimate knows when it is fast */
};

/* All of them, those of one collective side by side, the one that may always
 * be taken first. */
const struct catalog_entry *
catalog_entries(size_t *out_n_entries);

/* Those of one collective, in the same order; maybe none. */
const struct catalog_entry *
catalog_of(enum catalog_collective collective, size_t *out_n_entries);

/* NULL: the collective has no algorithm of this name. */
const struct catalog_entry *
catalog_find(enum catalog_collective collective, const char *algorithm);

/* The first entry that has it; NULL: none. */
const struct catalog_entry *
catalog_entry_of(const struct algorithm *algorithm);

/* May it be run on this shape, and has it a point there? */
bool
catalog_entry_suits(const struct catalog_entry *entry,
                    const struct plan_shape *shape);

/* "allreduce"; false: no collective has this name. */
const char *
catalog_name(enum catalog_collective collective);
bool
catalog_parse(const char *name, enum catalog_collective *out_collective);

/* shape->count is one rank's block, and a large buffer has size of them. */
bool
catalog_is_blockwise(enum catalog_collective collective);

#endif
