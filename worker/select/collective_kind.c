/* select/collective_kind.c - the registry's collective that a call belongs to */

#include "select/collective_kind.h"

#include <assert.h>

enum collective_kind
collective_kind_of(enum call_name name)
{
    switch (name) {
    case CALL_ALLREDUCE:
    case CALL_ALLREDUCE_COALESCED:
        return COLLECTIVE_ALLREDUCE;
    case CALL_REDUCE:
        return COLLECTIVE_REDUCE;
    case CALL_BROADCAST:
    case CALL_BROADCAST_OBJECT:
    case CALL_AGREE:
        return COLLECTIVE_BROADCAST;
    case CALL_ALLGATHER:
    case CALL_ALLGATHERV:
    case CALL_ALLGATHER_OBJECT:
        return COLLECTIVE_ALLGATHER;
    case CALL_REDUCE_SCATTER:
    case CALL_REDUCE_SCATTERV:
        return COLLECTIVE_REDUCE_SCATTER;
    case CALL_GATHER:
    case CALL_GATHERV:
    case CALL_GATHER_OBJECT:
        return COLLECTIVE_GATHER;
    case CALL_SCATTER:
    case CALL_SCATTERV:
    case CALL_SCATTER_OBJECT:
        return COLLECTIVE_SCATTER;
    case CALL_ALLTOALL:
    case CALL_ALLTOALLV:
        return COLLECTIVE_ALLTOALL;
    case CALL_SCAN:
        return COLLECTIVE_SCAN;
    case CALL_EXSCAN:
        return COLLECTIVE_EXSCAN;
    case CALL_BARRIER:
        return COLLECTIVE_BARRIER;
    case CALL_UNKNOWN:
    case CALL_SEND:
    case CALL_RECV:
    case CALL_SEND_TENSOR:
    case CALL_RECV_TENSOR:
    case CALL_RECV_ANY_TENSOR:
    case CALL_SEND_OBJECT:
    case CALL_RECV_OBJECT:
    case CALL_REDISTRIBUTE:
        break;
    }
    assert(!"not a collective");
    return COLLECTIVE_BARRIER;
}

bool
collective_has_uneven_blocks(enum call_name name)
{
    switch (name) {
    case CALL_ALLGATHERV:
    case CALL_ALLGATHER_OBJECT:
    case CALL_REDUCE_SCATTERV:
    case CALL_GATHERV:
    case CALL_GATHER_OBJECT:
    case CALL_SCATTERV:
    case CALL_SCATTER_OBJECT:
    case CALL_ALLTOALLV:
        return true;
    case CALL_UNKNOWN:
    case CALL_ALLREDUCE:
    case CALL_ALLREDUCE_COALESCED:
    case CALL_REDUCE:
    case CALL_BROADCAST:
    case CALL_BROADCAST_OBJECT:
    case CALL_AGREE:
    case CALL_ALLGATHER:
    case CALL_REDUCE_SCATTER:
    case CALL_BARRIER:
    case CALL_SEND:
    case CALL_RECV:
    case CALL_SEND_TENSOR:
    case CALL_RECV_TENSOR:
    case CALL_RECV_ANY_TENSOR:
    case CALL_SEND_OBJECT:
    case CALL_RECV_OBJECT:
    case CALL_REDISTRIBUTE:
    case CALL_GATHER:
    case CALL_SCATTER:
    case CALL_ALLTOALL:
    case CALL_SCAN:
    case CALL_EXSCAN:
        break;
    }
    return false;
}
