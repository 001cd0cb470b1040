/*
 * algorithms/registry.h - the algorithms of each collective, and where they can
 * run
 *
 * This is the only list of algorithms. Selection and benchmarks iterate over
 * it, so an algorithm that is not listed is never used.
 */

#ifndef ALGORITHMS_REGISTRY_H
#define ALGORITHMS_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/plan.h"

/* The v-variants count as the even variant with counts. */
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

struct registry_algorithm {
    enum collective_kind collective;
    const struct algorithm *algorithm;
    bool is_even_only; /* shape->counts and recv_counts must be NULL */
    /* Of no use unless there are several nodes and a node with several ranks;
     * correct everywhere. */
    bool needs_nodes;
    /* With needs_nodes: also of use on a single node, where it is a plan that
     * has no other name. */
    bool suits_one_node;
    /* Never chosen by the model, only by an override, a benchmark or tuning
     * data. */
    bool is_opt_in;
};

/* All entries, grouped by collective. The first of each group runs on any
 * shape. */
const struct registry_algorithm *
registry_all_entries(size_t *out_n_entries);

/* The entries of one collective, in the same order; *out_n_entries may be 0. */
const struct registry_algorithm *
registry_collective_entries(enum collective_kind collective,
                            size_t *out_n_entries);

/* Returns NULL if the collective has no algorithm of this name. */
const struct registry_algorithm *
registry_find_algorithm(enum collective_kind collective, const char *algorithm);

/* The first entry of algorithm; NULL if it has none. */
const struct registry_algorithm *
registry_entry_of_algorithm(const struct algorithm *algorithm);

/* Can the entry run on this shape, and is it of use there? */
bool
registry_algorithm_suits_shape(const struct registry_algorithm *entry,
                               const struct plan_shape *shape);

/* registry_collective_name() returns, for example, "allreduce";
 * registry_parse_collective() returns false if no collective has this name. */
const char *
registry_collective_name(enum collective_kind collective);
bool
registry_parse_collective(const char *name,
                          enum collective_kind *out_collective);

/* Is shape->count the size of one rank's block, so that the larger buffer of
 * the call has shape->size blocks? */
bool
registry_is_blockwise(enum collective_kind collective);

#endif
