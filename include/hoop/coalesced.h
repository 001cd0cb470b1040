/* hoop/coalesced.h - many small tensors, one exchange */

#ifndef HOOP_COALESCED_H
#define HOOP_COALESCED_H

#include <stddef.h>

#include "hoop/api.h"
#include "hoop/coll.h"
#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/op.h"
#include "hoop/status.h"

HOOP_BEGIN

/* A tensor: send, recv and HOOP_IN_PLACE as in hoop_allreduce(). */
struct hoop_piece {
    const void *send;
    void *recv;
    size_t count; /* elements */
};

/*
 * hoop_allreduce() of n_pieces tensors at once: they are packed by the call
 * that starts, reduced as one, and unpacked by the call that waits. All ranks
 * give the same counts in the same order. No pieces, and pieces of nothing, are
 * fine. The pieces' buffers must not overlap each other's recv; the list itself
 * is borrowed for the call only, also by the _start form. torch's
 * all_reduce_coalesced.
 *
 * Handle: as in hoop/coll.h, and HOOP_E_EXHAUSTED (no memory to pack into).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allreduce_coalesced(const struct hoop_piece *pieces,
                         size_t n_pieces,
                         enum hoop_dtype dtype,
                         enum hoop_reduce_op op,
                         hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allreduce_coalesced_start(const struct hoop_piece *pieces,
                               size_t n_pieces,
                               enum hoop_dtype dtype,
                               enum hoop_reduce_op op,
                               hoop_comm_t *comm,
                               hoop_op_t **out_op);

HOOP_END

#endif
