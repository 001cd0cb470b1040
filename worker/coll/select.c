/*
 * coll/select.c - which algorithm does a collective
 *
 * One each so far. More come with a table that one rank builds for all.
 */

#include "coll/select.h"

#include <assert.h>

#include "base/cleanup.h"
#include "plan/algorithms.h"

static const struct algorithm *const algorithms[] = {
    [CALL_ALLREDUCE] = &algorithm_allreduce_ring,
    [CALL_REDUCE] = &algorithm_reduce_chain,
    [CALL_BROADCAST] = &algorithm_broadcast_chain,
    [CALL_ALLGATHER] = &algorithm_allgather_ring,
    [CALL_ALLGATHERV] = &algorithm_allgather_ring,
    [CALL_REDUCE_SCATTER] = &algorithm_reduce_scatter_ring,
    [CALL_REDUCE_SCATTERV] = &algorithm_reduce_scatter_ring,
    [CALL_BARRIER] = &algorithm_barrier_dissemination,
};

const struct algorithm *
select_algorithm(enum call_name name)
{
    assert(name < COUNT_OF(algorithms) && algorithms[name]);
    return algorithms[name];
}
