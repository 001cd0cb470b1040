/* hoop/tensor_parallel.h - the moves that tensor parallelism is made of
 *
 * Megatron's seven primitives, on tensors of one dimension or more. The last
 * dimension's parts interleave, the first one's are blocks. Ownership as
 * hoop/tensor.h says; out may be the very memory of the input where the result
 * has its shape, and must not overlap it otherwise. A communicator of one rank
 * copies. Reductions are sums.
 *
 * Handle (all): HOOP_E_INVALID before anything has moved, on every rank that
 * says so (a size that cannot be cut into equal parts, rows that do not fit the
 * tensor, strides); HOOP_E_MISMATCH on all (ranks differ in shape, dtype, rows
 * or function); HOOP_E_EXHAUSTED; and as in hoop/coll.h. A rank that gets
 * HOOP_E_INVALID has not called: if others have, the next call that it makes on
 * the communicator tells them, or its end, or their deadline. Thread: as there.
 */

#ifndef HOOP_TENSOR_PARALLEL_H
#define HOOP_TENSOR_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/op.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

/*
 * Memory that results are put in one after the other: it grows to the largest
 * and stays. Where a call is given one, out->data must be NULL on entry; it
 * points into the scratch and is valid until the next call that is given it,
 * and never given to hoop_tensor_free(). What is moved must not lie in it
 * (HOOP_E_INVALID). Megatron's use_global_buffer.
 *
 * Thread: one call at a time; a call counts until it has been waited for, and
 * another one is HOOP_E_PRECONDITION till then.
 */
typedef struct hoop_scratch hoop_scratch_t;
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scratch_create(hoop_scratch_t **out_scratch);
/* With all results in it; no call may be using it. NULL is fine. */
HOOP_API void
hoop_scratch_free(hoop_scratch_t *scratch);

/* How rows, the first dimension, lie over ranks. NULL in place of it: equally,
 * in memory of their own. */
struct hoop_rows {
    const size_t *sizes; /* [size of comm], the same on all ranks, 0 is fine;
                            NULL: equal */
    hoop_scratch_t *scratch; /* NULL: not into one */
};

/* out = sum of all ranks' tensors. In place: out->data is tensor->data.
 * _reduce(), which is in place always. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_reduce(const struct hoop_tensor *tensor,
               struct hoop_tensor *out,
               hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_reduce_start(const struct hoop_tensor *tensor,
                     struct hoop_tensor *out,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op);

/* This rank's part of the tensor; nothing is sent. _split_along_last_dim(),
 * _split_along_first_dim(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_split_last(const struct hoop_tensor *tensor,
                   struct hoop_tensor *out,
                   hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_split_first(const struct hoop_tensor *tensor,
                    struct hoop_tensor *out,
                    hoop_comm_t *comm);

/* All ranks' tensors, one behind the other. _gather_along_last_dim(),
 * _gather_along_first_dim(), whose parts may have different rows. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_gather_last(const struct hoop_tensor *tensor,
                    struct hoop_tensor *out,
                    hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_gather_last_start(const struct hoop_tensor *tensor,
                          struct hoop_tensor *out,
                          hoop_comm_t *comm,
                          hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_gather_first(const struct hoop_tensor *tensor,
                     struct hoop_tensor *out,
                     const struct hoop_rows *rows,
                     hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_gather_first_start(const struct hoop_tensor *tensor,
                           struct hoop_tensor *out,
                           const struct hoop_rows *rows,
                           hoop_comm_t *comm,
                           hoop_op_t **out_op);

/* This rank's part of the sum. _reduce_scatter_along_last_dim(),
 * _reduce_scatter_along_first_dim(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_reduce_scatter_last(const struct hoop_tensor *tensor,
                            struct hoop_tensor *out,
                            hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_reduce_scatter_last_start(const struct hoop_tensor *tensor,
                                  struct hoop_tensor *out,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_reduce_scatter_first(const struct hoop_tensor *tensor,
                             struct hoop_tensor *out,
                             const struct hoop_rows *rows,
                             hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_tp_reduce_scatter_first_start(const struct hoop_tensor *tensor,
                                   struct hoop_tensor *out,
                                   const struct hoop_rows *rows,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op);

HOOP_END

#endif
