/* hoop/mappings.h - what lies where between layers of a tensor-parallel model
 *
 * Megatron's tensor_parallel.mappings: each has a forward, and the backward
 * that an automatic differentiation calls with the gradient of its output.
 * Nothing is remembered between them: what the forward was told, the backward
 * is told again. sp is sequence parallel, rows are the first dimension; tp is
 * tensor parallel, columns are the last one. Sums only.
 *
 * Ownership, errors and threads as in hoop/tensor_parallel.h. The symbolic() of
 * each class upstream is the forward.
 */

#ifndef HOOP_MAPPINGS_H
#define HOOP_MAPPINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/op.h"
#include "hoop/status.h"
#include "hoop/tensor.h"
#include "hoop/tensor_parallel.h"

HOOP_BEGIN

/* Identity. Backward: sum over ranks.
 * copy_to_tensor_model_parallel_region(), _CopyToModelParallelRegion. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_copy_to_tp_forward(const struct hoop_tensor *input,
                        struct hoop_tensor *output,
                        hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_copy_to_tp_forward_start(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm,
                              hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_copy_to_tp_backward(const struct hoop_tensor *output_grad,
                         struct hoop_tensor *input_grad,
                         hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_copy_to_tp_backward_start(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm,
                               hoop_op_t **out_op);

/* Sum over ranks. Backward: identity.
 * reduce_from_tensor_model_parallel_region(),
 * _ReduceFromModelParallelRegion. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_from_tp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_from_tp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_from_tp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_from_tp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op);

/* This rank's part along the last dimension; nothing is reduced or sent.
 * Backward: gather along it, since the input was the same on all ranks.
 * scatter_to_tensor_model_parallel_region(), _ScatterToModelParallelRegion. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_to_tp_forward(const struct hoop_tensor *input,
                           struct hoop_tensor *output,
                           hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_to_tp_forward_start(const struct hoop_tensor *input,
                                 struct hoop_tensor *output,
                                 hoop_comm_t *comm,
                                 hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_to_tp_backward(const struct hoop_tensor *output_grad,
                            struct hoop_tensor *input_grad,
                            hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_to_tp_backward_start(const struct hoop_tensor *output_grad,
                                  struct hoop_tensor *input_grad,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op);

/* Gather along the last dimension. Backward: this rank's part of its own
 * gradient; no sum.
 * gather_from_tensor_model_parallel_region(),
 * _GatherFromModelParallelRegion. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_from_tp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_from_tp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_from_tp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_from_tp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op);

/* This rank's rows; nothing is sent. Backward: gather the rows.
 * scatter_to_sequence_parallel_region(), _ScatterToSequenceParallelRegion. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_to_sp_forward(const struct hoop_tensor *input,
                           struct hoop_tensor *output,
                           hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_to_sp_forward_start(const struct hoop_tensor *input,
                                 struct hoop_tensor *output,
                                 hoop_comm_t *comm,
                                 hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_to_sp_backward(const struct hoop_tensor *output_grad,
                            struct hoop_tensor *input_grad,
                            hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_scatter_to_sp_backward_start(const struct hoop_tensor *output_grad,
                                  struct hoop_tensor *input_grad,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op);

/* What the consumer of gathered rows computes. */
enum hoop_consumer {
    /* Each rank something else: gradients are parts of a sum.
     * tensor_parallel_output_grad=True, Megatron's default. */
    HOOP_CONSUMER_SHARDED,
    /* All ranks the same: each has the whole gradient already. */
    HOOP_CONSUMER_REPLICATED,
};

/*
 * Gather the rows. Backward: reduce-scatter them, with the same rows, or, for a
 * replicated consumer, this rank's own rows without a sum, which is for equal
 * rows only (rows->sizes: HOOP_E_INVALID). A wrong consumer makes gradients
 * n times too large, or loses those of the others: there is no default.
 * gather_from_sequence_parallel_region(), _GatherFromSequenceParallelRegion.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_from_sp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            enum hoop_consumer consumer,
                            const struct hoop_rows *rows,
                            hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_from_sp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  enum hoop_consumer consumer,
                                  const struct hoop_rows *rows,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_from_sp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             enum hoop_consumer consumer,
                             const struct hoop_rows *rows,
                             hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_gather_from_sp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   enum hoop_consumer consumer,
                                   const struct hoop_rows *rows,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op);

/*
 * Reduce-scatter the rows. Backward: gather them, with the same rows.
 * reduce_scatter_to_sequence_parallel_region(),
 * _ReduceScatterToSequenceParallelRegion.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_to_sp_forward(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  const struct hoop_rows *rows,
                                  hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_to_sp_forward_start(const struct hoop_tensor *input,
                                        struct hoop_tensor *output,
                                        const struct hoop_rows *rows,
                                        hoop_comm_t *comm,
                                        hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_to_sp_backward(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   const struct hoop_rows *rows,
                                   hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_to_sp_backward_start(const struct hoop_tensor *output_grad,
                                         struct hoop_tensor *input_grad,
                                         const struct hoop_rows *rows,
                                         hoop_comm_t *comm,
                                         hoop_op_t **out_op);

/* Gather along the last dimension. Backward: reduce-scatter along it.
 * all_gather_last_dim_from_tensor_parallel_region(),
 * _AllGatherFromTensorParallelRegion. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_gather_last_from_tp_forward(const struct hoop_tensor *input,
                                     struct hoop_tensor *output,
                                     hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_gather_last_from_tp_forward_start(const struct hoop_tensor *input,
                                           struct hoop_tensor *output,
                                           hoop_comm_t *comm,
                                           hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_gather_last_from_tp_backward(const struct hoop_tensor *output_grad,
                                      struct hoop_tensor *input_grad,
                                      hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_gather_last_from_tp_backward_start(
    const struct hoop_tensor *output_grad,
    struct hoop_tensor *input_grad,
    hoop_comm_t *comm,
    hoop_op_t **out_op);

/* Reduce-scatter along the last dimension. Backward: gather along it.
 * reduce_scatter_last_dim_to_tensor_parallel_region(),
 * _ReduceScatterToTensorParallelRegion. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_last_to_tp_forward(const struct hoop_tensor *input,
                                       struct hoop_tensor *output,
                                       hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_last_to_tp_forward_start(const struct hoop_tensor *input,
                                             struct hoop_tensor *output,
                                             hoop_comm_t *comm,
                                             hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_last_to_tp_backward(const struct hoop_tensor *output_grad,
                                        struct hoop_tensor *input_grad,
                                        hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_reduce_scatter_last_to_tp_backward_start(
    const struct hoop_tensor *output_grad,
    struct hoop_tensor *input_grad,
    hoop_comm_t *comm,
    hoop_op_t **out_op);

/* Rows to and from each rank. NULL in place of it, or of both lists: equally.
 * Either all ranks have a list, or none (HOOP_E_MISMATCH). */
struct hoop_row_splits {
    const size_t *input;  /* [size of comm]; NULL: equal parts */
    const size_t *output; /* what each sends here; NULL: equal parts of as many
                             rows as went */
};

/*
 * Rows to everybody and from everybody, in rank order. Zero rows are fine; what
 * one rank says it sends and the other that it receives must agree, else both
 * get HOOP_E_MISMATCH; who had all it expected and is done is told by its next
 * call. Backward: the same with the two lists exchanged, which
 * is done here: give the forward's. all_to_all(), _AllToAll.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_rows_forward(const struct hoop_tensor *input,
                             struct hoop_tensor *output,
                             const struct hoop_row_splits *splits,
                             hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_rows_forward_start(const struct hoop_tensor *input,
                                   struct hoop_tensor *output,
                                   const struct hoop_row_splits *splits,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_rows_backward(const struct hoop_tensor *output_grad,
                              struct hoop_tensor *input_grad,
                              const struct hoop_row_splits *splits,
                              hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_rows_backward_start(const struct hoop_tensor *output_grad,
                                    struct hoop_tensor *input_grad,
                                    const struct hoop_row_splits *splits,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op);

/* From (t, H) to (n * t, H / n): of t tokens each rank has all columns, then of
 * all tokens its own. Dimensions before the last count as one, the result has
 * two. Backward: hoop_all_to_all_hp2sp_forward(). all_to_all_sp2hp(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_sp2hp_forward(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_sp2hp_forward_start(const struct hoop_tensor *input,
                                    struct hoop_tensor *output,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_sp2hp_backward(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_sp2hp_backward_start(const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *input_grad,
                                     hoop_comm_t *comm,
                                     hoop_op_t **out_op);

/* From (n * t, H / n) to (t, H), with dimensions as above. Backward:
 * hoop_all_to_all_sp2hp_forward(). all_to_all_hp2sp(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_hp2sp_forward(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_hp2sp_forward_start(const struct hoop_tensor *input,
                                    struct hoop_tensor *output,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_hp2sp_backward(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm);
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_all_to_all_hp2sp_backward_start(const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *input_grad,
                                     hoop_comm_t *comm,
                                     hoop_op_t **out_op);

HOOP_END

#endif
