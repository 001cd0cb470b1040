/*
 * plan/registry.h - which algorithms do which collective, and where they may
 *
 * The one list: who chooses an algorithm, who proves them all and who compares
 * them go through it. An algorithm that is not here is never used.
 */

#ifndef PLAN_REGISTRY_H
#define PLAN_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"

/* The v-forms are their even form with counts. */
enum collective_kind {
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_REDUCE,
    COLLECTIVE_BROADCAST,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_GATHER,
    COLLECTIVE_SCATTER,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_SCAN,
    COLLECTIVE_EXSCAN,
    COLLECTIVE_BARRIER,
};

enum {
    COLLECTIVE_KINDS = COLLECTIVE_BARRIER + 1
};

struct registry_entry {
    enum collective_kind collective;
    const struct algorithm *algorithm;
    bool is_even_only;   /* shape->counts and recv_counts must be NULL */
    bool needs_nodes;    /* pointless unless a node has several ranks, and there
                          are several nodes; correct everywhere */
    bool suits_one_node; /* though it needs_nodes: there it is a plan of which
                            there is no other name */
    bool is_opt_in;      /* right, but only for who overrides, measures or tunes
                             it: no estimate knows when it is fast */
};

/* All of them, those of one collective side by side, the one that may always
 * be taken first. */
const struct registry_entry *
registry_entries(size_t *out_n_entries);

/* Those of one collective, in the same order; maybe none. */
const struct registry_entry *
registry_of(enum collective_kind collective, size_t *out_n_entries);

/* NULL: the collective has no algorithm of this name. */
const struct registry_entry *
registry_find(enum collective_kind collective, const char *algorithm);

/* The first entry that has it; NULL: none. */
const struct registry_entry *
registry_entry_of(const struct algorithm *algorithm);

/* May it be run on this shape, and has it a point there? */
bool
registry_entry_suits(const struct registry_entry *entry,
                     const struct plan_shape *shape);

/* "allreduce"; false: no collective has this name. */
const char *
registry_name(enum collective_kind collective);
bool
registry_parse(const char *name, enum collective_kind *out_collective);

/* shape->count is one rank's block, and a large buffer has size of them. */
bool
registry_is_blockwise(enum collective_kind collective);

#endif
