/*
 * algorithms/registry.c - the algorithms of each collective, and where they can
 * run
 */

#include "algorithms/registry.h"

#include <assert.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "base/cleanup.h"
#include "plan/nodes.h"

static const struct registry_algorithm entries[] = {
    {.collective = COLLECTIVE_ALLREDUCE,
     .algorithm = &algorithm_allreduce_ring},
    {.collective = COLLECTIVE_ALLREDUCE,
     .algorithm = &algorithm_allreduce_recursive_doubling},
    {.collective = COLLECTIVE_ALLREDUCE,
     .algorithm = &algorithm_allreduce_rabenseifner},
    {.collective = COLLECTIVE_ALLREDUCE,
     .algorithm = &algorithm_allreduce_hierarchical,
     .needs_nodes = true},
    {.collective = COLLECTIVE_ALLREDUCE,
     .algorithm = &algorithm_allreduce_hierarchical_halving,
     .needs_nodes = true},
    {.collective = COLLECTIVE_ALLREDUCE,
     .algorithm = &algorithm_allreduce_hierarchical_tree,
     .needs_nodes = true,
     .suits_one_node = true},
    {.collective = COLLECTIVE_ALLREDUCE,
     .algorithm = &algorithm_allreduce_flat},
    {.collective = COLLECTIVE_ALLREDUCE,
     .algorithm = &algorithm_allreduce_flat_blocks},
    {.collective = COLLECTIVE_ALLREDUCE,
     .algorithm = &algorithm_allreduce_pairwise,
     .is_opt_in = true},
    {.collective = COLLECTIVE_ALLREDUCE,
     .algorithm = &algorithm_allreduce_direct,
     .is_opt_in = true},
    {.collective = COLLECTIVE_REDUCE, .algorithm = &algorithm_reduce_chain},
    {.collective = COLLECTIVE_REDUCE, .algorithm = &algorithm_reduce_binomial},
    {.collective = COLLECTIVE_REDUCE,
     .algorithm = &algorithm_reduce_hierarchical,
     .needs_nodes = true},
    {.collective = COLLECTIVE_REDUCE,
     .algorithm = &algorithm_reduce_hierarchical_tree,
     .needs_nodes = true},
    {.collective = COLLECTIVE_REDUCE, .algorithm = &algorithm_reduce_flat},
    {.collective = COLLECTIVE_REDUCE,
     .algorithm = &algorithm_reduce_direct,
     .is_opt_in = true},
    {.collective = COLLECTIVE_BROADCAST,
     .algorithm = &algorithm_broadcast_chain},
    {.collective = COLLECTIVE_BROADCAST,
     .algorithm = &algorithm_broadcast_binomial},
    {.collective = COLLECTIVE_BROADCAST,
     .algorithm = &algorithm_broadcast_hierarchical,
     .needs_nodes = true},
    {.collective = COLLECTIVE_BROADCAST,
     .algorithm = &algorithm_broadcast_hierarchical_tree,
     .needs_nodes = true},
    {.collective = COLLECTIVE_BROADCAST,
     .algorithm = &algorithm_broadcast_flat},
    {.collective = COLLECTIVE_BROADCAST,
     .algorithm = &algorithm_broadcast_direct,
     .is_opt_in = true},
    {.collective = COLLECTIVE_ALLGATHER,
     .algorithm = &algorithm_allgather_ring},
    {.collective = COLLECTIVE_ALLGATHER,
     .algorithm = &algorithm_allgather_bruck},
    {.collective = COLLECTIVE_ALLGATHER,
     .algorithm = &algorithm_allgather_tree},
    {.collective = COLLECTIVE_ALLGATHER,
     .algorithm = &algorithm_allgather_hierarchical,
     .needs_nodes = true},
    {.collective = COLLECTIVE_ALLGATHER,
     .algorithm = &algorithm_allgather_hierarchical_tree,
     .needs_nodes = true},
    {.collective = COLLECTIVE_ALLGATHER,
     .algorithm = &algorithm_allgather_flat},
    {.collective = COLLECTIVE_ALLGATHER,
     .algorithm = &algorithm_allgather_direct,
     .is_opt_in = true},
    {.collective = COLLECTIVE_REDUCE_SCATTER,
     .algorithm = &algorithm_reduce_scatter_halving},
    {.collective = COLLECTIVE_REDUCE_SCATTER,
     .algorithm = &algorithm_reduce_scatter_pairwise},
    {.collective = COLLECTIVE_REDUCE_SCATTER,
     .algorithm = &algorithm_reduce_scatter_ring},
    {.collective = COLLECTIVE_REDUCE_SCATTER,
     .algorithm = &algorithm_reduce_scatter_flat},
    {.collective = COLLECTIVE_REDUCE_SCATTER,
     .algorithm = &algorithm_reduce_scatter_direct,
     .is_opt_in = true},
    {.collective = COLLECTIVE_GATHER, .algorithm = &algorithm_gather_linear},
    {.collective = COLLECTIVE_GATHER, .algorithm = &algorithm_gather_binomial},
    {.collective = COLLECTIVE_SCATTER, .algorithm = &algorithm_scatter_linear},
    {.collective = COLLECTIVE_SCATTER,
     .algorithm = &algorithm_scatter_binomial},
    {.collective = COLLECTIVE_ALLTOALL,
     .algorithm = &algorithm_alltoall_pairwise},
    {.collective = COLLECTIVE_ALLTOALL,
     .algorithm = &algorithm_alltoall_bruck,
     .is_even_only = true},
    {.collective = COLLECTIVE_ALLTOALL,
     .algorithm = &algorithm_alltoall_flat,
     .is_even_only = true},
    {.collective = COLLECTIVE_ALLTOALL,
     .algorithm = &algorithm_alltoall_direct,
     .is_even_only = true,
     .is_opt_in = true},
    {.collective = COLLECTIVE_SCAN, .algorithm = &algorithm_scan_chain},
    {.collective = COLLECTIVE_SCAN, .algorithm = &algorithm_scan_doubling},
    {.collective = COLLECTIVE_EXSCAN, .algorithm = &algorithm_exscan_chain},
    {.collective = COLLECTIVE_EXSCAN, .algorithm = &algorithm_exscan_doubling},
    {.collective = COLLECTIVE_BARRIER,
     .algorithm = &algorithm_barrier_dissemination},
    {.collective = COLLECTIVE_BARRIER, .algorithm = &algorithm_barrier_tree},
    {.collective = COLLECTIVE_BARRIER, .algorithm = &algorithm_barrier_flat},
};

static const char *const names[COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE] = "allreduce",
    [COLLECTIVE_REDUCE] = "reduce",
    [COLLECTIVE_BROADCAST] = "broadcast",
    [COLLECTIVE_ALLGATHER] = "allgather",
    [COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
    [COLLECTIVE_GATHER] = "gather",
    [COLLECTIVE_SCATTER] = "scatter",
    [COLLECTIVE_ALLTOALL] = "alltoall",
    [COLLECTIVE_SCAN] = "scan",
    [COLLECTIVE_EXSCAN] = "exscan",
    [COLLECTIVE_BARRIER] = "barrier",
};

const struct registry_algorithm *
registry_all_entries(size_t *out_n_entries)
{
    *out_n_entries = COUNT_OF(entries);
    return entries;
}

const struct registry_algorithm *
registry_collective_entries(enum collective_kind collective,
                            size_t *out_n_entries)
{
    size_t first = 0;
    size_t n = 0;

    while (first < COUNT_OF(entries) && entries[first].collective != collective)
        first++;
    while (first + n < COUNT_OF(entries) &&
           entries[first + n].collective == collective)
        n++;
    *out_n_entries = n;
    return &entries[first];
}

const struct registry_algorithm *
registry_find_algorithm(enum collective_kind collective, const char *algorithm)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        if (entries[i].collective == collective &&
            strcmp(entries[i].algorithm->name, algorithm) == 0)
            return &entries[i];
    return NULL;
}

const struct registry_algorithm *
registry_entry_of_algorithm(const struct algorithm *algorithm)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        if (entries[i].algorithm == algorithm)
            return &entries[i];
    return NULL;
}

/* Are there several nodes, and fewer nodes than ranks? */
static bool
has_node_hierarchy(const struct plan_nodes *nodes)
{
    return nodes && nodes->n_nodes > 1 && nodes->n_nodes < nodes->n_ranks;
}

static bool
is_single_node(const struct plan_nodes *nodes)
{
    return !nodes || nodes->n_nodes == 1;
}

bool
registry_algorithm_suits_shape(const struct registry_algorithm *entry,
                               const struct plan_shape *shape)
{
    if (entry->is_even_only && (shape->counts || shape->recv_counts))
        return false;
    /* A slot must hold at least one element for each rank. */
    if (entry->algorithm->is_shm && shape->slot_capacity < shape->size)
        return false;
    if (entry->algorithm->is_direct && !shape->has_cma)
        return false;
    return !entry->needs_nodes || has_node_hierarchy(shape->nodes) ||
           (entry->suits_one_node && is_single_node(shape->nodes));
}

const char *
registry_collective_name(enum collective_kind collective)
{
    assert((size_t)collective < COUNT_OF(names));
    return names[collective];
}

bool
registry_parse_collective(const char *name,
                          enum collective_kind *out_collective)
{
    for (size_t i = 0; i < COLLECTIVE_KINDS; i++)
        if (strcmp(names[i], name) == 0) {
            *out_collective = (enum collective_kind)i;
            return true;
        }
    return false;
}

bool
registry_is_blockwise(enum collective_kind collective)
{
    switch (collective) {
    case COLLECTIVE_ALLGATHER:
    case COLLECTIVE_REDUCE_SCATTER:
    case COLLECTIVE_GATHER:
    case COLLECTIVE_SCATTER:
    case COLLECTIVE_ALLTOALL:
        return true;
    case COLLECTIVE_ALLREDUCE:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_SCAN:
    case COLLECTIVE_EXSCAN:
    case COLLECTIVE_BARRIER:
        break;
    }
    return false;
}
