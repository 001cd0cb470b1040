/* plan/catalog.c - which algorithms do which collective, and where they may */

#include "plan/catalog.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "plan/algorithms.h"
#include "plan/nodes.h"

static const struct catalog_entry entries[] = {
    {.collective = CATALOG_ALLREDUCE, .algorithm = &algorithm_allreduce_ring},
    {.collective = CATALOG_ALLREDUCE,
     .algorithm = &algorithm_allreduce_recursive_doubling},
    {.collective = CATALOG_ALLREDUCE,
     .algorithm = &algorithm_allreduce_rabenseifner},
    {.collective = CATALOG_ALLREDUCE,
     .algorithm = &algorithm_allreduce_hierarchical,
     .needs_nodes = true},
    {.collective = CATALOG_ALLREDUCE,
     .algorithm = &algorithm_allreduce_hierarchical_halving,
     .needs_nodes = true},
    {.collective = CATALOG_ALLREDUCE,
     .algorithm = &algorithm_allreduce_hierarchical_tree,
     .needs_nodes = true,
     .suits_one_node = true},
    {.collective = CATALOG_ALLREDUCE, .algorithm = &algorithm_allreduce_flat},
    {.collective = CATALOG_ALLREDUCE,
     .algorithm = &algorithm_allreduce_flat_blocks},
    {.collective = CATALOG_ALLREDUCE,
     .algorithm = &algorithm_allreduce_pairwise,
     .is_for_who_asks = true},
    {.collective = CATALOG_ALLREDUCE,
     .algorithm = &algorithm_allreduce_direct,
     .is_for_who_asks = true},
    {.collective = CATALOG_REDUCE, .algorithm = &algorithm_reduce_chain},
    {.collective = CATALOG_REDUCE, .algorithm = &algorithm_reduce_binomial},
    {.collective = CATALOG_REDUCE,
     .algorithm = &algorithm_reduce_hierarchical,
     .needs_nodes = true},
    {.collective = CATALOG_REDUCE,
     .algorithm = &algorithm_reduce_hierarchical_tree,
     .needs_nodes = true},
    {.collective = CATALOG_REDUCE, .algorithm = &algorithm_reduce_flat},
    {.collective = CATALOG_REDUCE,
     .algorithm = &algorithm_reduce_direct,
     .is_for_who_asks = true},
    {.collective = CATALOG_BROADCAST, .algorithm = &algorithm_broadcast_chain},
    {.collective = CATALOG_BROADCAST,
     .algorithm = &algorithm_broadcast_binomial},
    {.collective = CATALOG_BROADCAST,
     .algorithm = &algorithm_broadcast_hierarchical,
     .needs_nodes = true},
    {.collective = CATALOG_BROADCAST,
     .algorithm = &algorithm_broadcast_hierarchical_tree,
     .needs_nodes = true},
    {.collective = CATALOG_BROADCAST, .algorithm = &algorithm_broadcast_flat},
    {.collective = CATALOG_BROADCAST,
     .algorithm = &algorithm_broadcast_direct,
     .is_for_who_asks = true},
    {.collective = CATALOG_ALLGATHER, .algorithm = &algorithm_allgather_ring},
    {.collective = CATALOG_ALLGATHER, .algorithm = &algorithm_allgather_bruck},
    {.collective = CATALOG_ALLGATHER, .algorithm = &algorithm_allgather_tree},
    {.collective = CATALOG_ALLGATHER,
     .algorithm = &algorithm_allgather_hierarchical,
     .needs_nodes = true},
    {.collective = CATALOG_ALLGATHER,
     .algorithm = &algorithm_allgather_hierarchical_tree,
     .needs_nodes = true},
    {.collective = CATALOG_ALLGATHER, .algorithm = &algorithm_allgather_flat},
    {.collective = CATALOG_ALLGATHER,
     .algorithm = &algorithm_allgather_direct,
     .is_for_who_asks = true},
    {.collective = CATALOG_REDUCE_SCATTER,
     .algorithm = &algorithm_reduce_scatter_halving},
    {.collective = CATALOG_REDUCE_SCATTER,
     .algorithm = &algorithm_reduce_scatter_pairwise},
    {.collective = CATALOG_REDUCE_SCATTER,
     .algorithm = &algorithm_reduce_scatter_ring},
    {.collective = CATALOG_REDUCE_SCATTER,
     .algorithm = &algorithm_reduce_scatter_flat},
    {.collective = CATALOG_REDUCE_SCATTER,
     .algorithm = &algorithm_reduce_scatter_direct,
     .is_for_who_asks = true},
    {.collective = CATALOG_GATHER, .algorithm = &algorithm_gather_linear},
    {.collective = CATALOG_GATHER, .algorithm = &algorithm_gather_binomial},
    {.collective = CATALOG_SCATTER, .algorithm = &algorithm_scatter_linear},
    {.collective = CATALOG_SCATTER, .algorithm = &algorithm_scatter_binomial},
    {.collective = CATALOG_ALLTOALL, .algorithm = &algorithm_alltoall_pairwise},
    {.collective = CATALOG_ALLTOALL,
     .algorithm = &algorithm_alltoall_bruck,
     .is_even_only = true},
    {.collective = CATALOG_ALLTOALL,
     .algorithm = &algorithm_alltoall_flat,
     .is_even_only = true},
    {.collective = CATALOG_ALLTOALL,
     .algorithm = &algorithm_alltoall_direct,
     .is_even_only = true,
     .is_for_who_asks = true},
    {.collective = CATALOG_SCAN, .algorithm = &algorithm_scan_chain},
    {.collective = CATALOG_SCAN, .algorithm = &algorithm_scan_doubling},
    {.collective = CATALOG_EXSCAN, .algorithm = &algorithm_exscan_chain},
    {.collective = CATALOG_EXSCAN, .algorithm = &algorithm_exscan_doubling},
    {.collective = CATALOG_BARRIER,
     .algorithm = &algorithm_barrier_dissemination},
    {.collective = CATALOG_BARRIER, .algorithm = &algorithm_barrier_tree},
    {.collective = CATALOG_BARRIER, .algorithm = &algorithm_barrier_flat},
};

static const char *const names[CATALOG_COLLECTIVES] = {
    [CATALOG_ALLREDUCE] = "allreduce",
    [CATALOG_REDUCE] = "reduce",
    [CATALOG_BROADCAST] = "broadcast",
    [CATALOG_ALLGATHER] = "allgather",
    [CATALOG_REDUCE_SCATTER] = "reduce_scatter",
    [CATALOG_GATHER] = "gather",
    [CATALOG_SCATTER] = "scatter",
    [CATALOG_ALLTOALL] = "alltoall",
    [CATALOG_SCAN] = "scan",
    [CATALOG_EXSCAN] = "exscan",
    [CATALOG_BARRIER] = "barrier",
};

const struct catalog_entry *
catalog_entries(size_t *out_n_entries)
{
    *out_n_entries = COUNT_OF(entries);
    return entries;
}

const struct catalog_entry *
catalog_of(enum catalog_collective collective, size_t *out_n_entries)
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

const struct catalog_entry *
catalog_find(enum catalog_collective collective, const char *algorithm)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        if (entries[i].collective == collective &&
            strcmp(entries[i].algorithm->name, algorithm) == 0)
            return &entries[i];
    return NULL;
}

const struct catalog_entry *
catalog_entry_of(const struct algorithm *algorithm)
{
    for (size_t i = 0; i < COUNT_OF(entries); i++)
        if (entries[i].algorithm == algorithm)
            return &entries[i];
    return NULL;
}

/* Several nodes, and fewer than there are ranks. */
static bool
nodes_matter(const struct plan_nodes *nodes)
{
    return nodes && nodes->n_nodes > 1 && nodes->n_nodes < nodes->n_ranks;
}

static bool
is_one_node(const struct plan_nodes *nodes)
{
    return !nodes || nodes->n_nodes == 1;
}

bool
catalog_entry_suits(const struct catalog_entry *entry,
                    const struct plan_shape *shape)
{
    if (entry->is_even_only && (shape->counts || shape->recv_counts))
        return false;
    /* A slot holds something for each rank. */
    if (entry->algorithm->is_flat && shape->n_slot < shape->size)
        return false;
    if (entry->algorithm->is_direct && !shape->is_open)
        return false;
    return !entry->needs_nodes || nodes_matter(shape->nodes) ||
           (entry->suits_one_node && is_one_node(shape->nodes));
}

const char *
catalog_name(enum catalog_collective collective)
{
    assert((size_t)collective < COUNT_OF(names));
    return names[collective];
}

bool
catalog_parse(const char *name, enum catalog_collective *out_collective)
{
    for (size_t i = 0; i < CATALOG_COLLECTIVES; i++)
        if (strcmp(names[i], name) == 0) {
            *out_collective = (enum catalog_collective)i;
            return true;
        }
    return false;
}

bool
catalog_is_blockwise(enum catalog_collective collective)
{
    switch (collective) {
    case CATALOG_ALLGATHER:
    case CATALOG_REDUCE_SCATTER:
    case CATALOG_GATHER:
    case CATALOG_SCATTER:
    case CATALOG_ALLTOALL:
        return true;
    case CATALOG_ALLREDUCE:
    case CATALOG_REDUCE:
    case CATALOG_BROADCAST:
    case CATALOG_SCAN:
    case CATALOG_EXSCAN:
    case CATALOG_BARRIER:
        break;
    }
    return false;
}
