/*
 * hoop/dim.h - collectives along any dimension of a tensor
 *
 * The others take tensors as flat arrays, which is the first dimension. Along
 * another one the ranks' blocks interleave; they are sorted with one copy.
 * Tensors are dense and row-major, and have the same shape on all ranks: shape
 * is that of what this rank sends, borrowed for the call only, also by the
 * _start forms. A negative dim counts from the end: -1 is the last.
 * Everything else is as in hoop/coll.h; besides its errors, HOOP_E_EXHAUSTED
 * means that there is no memory to sort in.
 */

#ifndef HOOP_DIM_H
#define HOOP_DIM_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/coll.h"
#include "hoop/comm.h"
#include "hoop/dtype.h"
#include "hoop/op.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

/*
 * Concatenate all ranks' tensors along dim, in rank order: recv has the shape
 * of send, but dims[dim] times n. In place, this rank's part already lies at
 * its place in recv: from dims[dim] * rank on along dim. ColossalAI's
 * all_gather(dim).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allgather_dim(const void *send,
                   void *recv,
                   const struct hoop_shape *shape,
                   int32_t dim,
                   enum hoop_dtype dtype,
                   hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_allgather_dim_start(const void *send,
                         void *recv,
                         const struct hoop_shape *shape,
                         int32_t dim,
                         enum hoop_dtype dtype,
                         hoop_comm_t *comm,
                         hoop_op_t **out_op);

/*
 * Reduce all ranks' tensors and leave the rank-th of n equal parts along dim:
 * recv has the shape of send, but dims[dim] / n, which must have no rest, or
 * else HOOP_E_INVALID. In place the result stands at the beginning of the
 * buffer, densely, and the rest stays as it was. ColossalAI's
 * reduce_scatter(dim).
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_dim(const void *send,
                        void *recv,
                        const struct hoop_shape *shape,
                        int32_t dim,
                        enum hoop_dtype dtype,
                        enum hoop_reduce_op op,
                        hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_dim_start(const void *send,
                              void *recv,
                              const struct hoop_shape *shape,
                              int32_t dim,
                              enum hoop_dtype dtype,
                              enum hoop_reduce_op op,
                              hoop_comm_t *comm,
                              hoop_op_t **out_op);

HOOP_END

#endif
