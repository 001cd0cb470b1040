/*
 * tensor_parallel/mapping.c - the public moves and mappings
 *
 * A mapping is one move forward and one move backward. The backward of a move
 * is its transpose if each rank's gradient is a part of a sum. If all ranks
 * have the same gradient, a sum would count it n times, so the gradient is cut
 * or copied instead. Each function names its move; tensor_parallel/move.c
 * performs it.
 */

#include "hoop/mappings.h"

#include "base/error.h"
#include "tensor_parallel/move.h"

struct mapping {
    enum move forward;
    enum move backward;
};

static const struct mapping copy_to_tp = {MOVE_COPY, MOVE_ALL_REDUCE};
static const struct mapping reduce_from_tp = {MOVE_ALL_REDUCE, MOVE_COPY};
static const struct mapping scatter_to_tp = {MOVE_SPLIT_LAST, MOVE_GATHER_LAST};
static const struct mapping gather_from_tp = {MOVE_GATHER_LAST,
                                              MOVE_SPLIT_LAST};
static const struct mapping scatter_to_sp = {MOVE_SPLIT_FIRST,
                                             MOVE_GATHER_FIRST};
static const struct mapping gather_from_sp[] = {
    [HOOP_CONSUMER_SHARDED] = {MOVE_GATHER_FIRST, MOVE_REDUCE_SCATTER_FIRST},
    [HOOP_CONSUMER_REPLICATED] = {MOVE_GATHER_FIRST, MOVE_SPLIT_FIRST},
};
static const struct mapping reduce_scatter_to_sp = {MOVE_REDUCE_SCATTER_FIRST,
                                                    MOVE_GATHER_FIRST};
static const struct mapping all_gather_last_from_tp = {
    MOVE_GATHER_LAST, MOVE_REDUCE_SCATTER_LAST};
static const struct mapping reduce_scatter_last_to_tp = {
    MOVE_REDUCE_SCATTER_LAST, MOVE_GATHER_LAST};
static const struct mapping all_to_all_sp2hp = {MOVE_ROWS_TO_COLUMNS,
                                                MOVE_COLUMNS_TO_ROWS};
static const struct mapping all_to_all_hp2sp = {MOVE_COLUMNS_TO_ROWS,
                                                MOVE_ROWS_TO_COLUMNS};

/* rows NULL: all ranks have the same number of rows. */
static struct move_call
mapping_rows_call(enum move move,
                  const struct hoop_tensor *tensor,
                  struct hoop_tensor *out,
                  const struct hoop_rows *rows,
                  hoop_comm_t *comm)
{
    return (struct move_call){
        .move = move,
        .tensor = tensor,
        .out = out,
        .comm = comm,
        .sizes = rows ? rows->sizes : NULL,
        .scratch = rows ? rows->scratch : NULL,
    };
}

static enum hoop_status
mapping_run(enum move move,
            const struct hoop_tensor *tensor,
            struct hoop_tensor *out,
            hoop_comm_t *comm)
{
    return move_call_run(mapping_rows_call(move, tensor, out, NULL, comm));
}

static enum hoop_status
mapping_start(enum move move,
              const struct hoop_tensor *tensor,
              struct hoop_tensor *out,
              hoop_comm_t *comm,
              hoop_op_t **out_op)
{
    return move_call_start(mapping_rows_call(move, tensor, out, NULL, comm),
                           out_op);
}

/* The moves of tensor parallelism. */

enum hoop_status
hoop_tp_reduce(const struct hoop_tensor *tensor,
               struct hoop_tensor *out,
               hoop_comm_t *comm)
{
    return mapping_run(MOVE_ALL_REDUCE, tensor, out, comm);
}

enum hoop_status
hoop_tp_reduce_start(const struct hoop_tensor *tensor,
                     struct hoop_tensor *out,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op)
{
    return mapping_start(MOVE_ALL_REDUCE, tensor, out, comm, out_op);
}

enum hoop_status
hoop_tp_split_last(const struct hoop_tensor *tensor,
                   struct hoop_tensor *out,
                   hoop_comm_t *comm)
{
    return mapping_run(MOVE_SPLIT_LAST, tensor, out, comm);
}

enum hoop_status
hoop_tp_split_first(const struct hoop_tensor *tensor,
                    struct hoop_tensor *out,
                    hoop_comm_t *comm)
{
    return mapping_run(MOVE_SPLIT_FIRST, tensor, out, comm);
}

enum hoop_status
hoop_tp_gather_last(const struct hoop_tensor *tensor,
                    struct hoop_tensor *out,
                    hoop_comm_t *comm)
{
    return mapping_run(MOVE_GATHER_LAST, tensor, out, comm);
}

enum hoop_status
hoop_tp_gather_last_start(const struct hoop_tensor *tensor,
                          struct hoop_tensor *out,
                          hoop_comm_t *comm,
                          hoop_op_t **out_op)
{
    return mapping_start(MOVE_GATHER_LAST, tensor, out, comm, out_op);
}

enum hoop_status
hoop_tp_gather_first(const struct hoop_tensor *tensor,
                     struct hoop_tensor *out,
                     const struct hoop_rows *rows,
                     hoop_comm_t *comm)
{
    return move_call_run(
        mapping_rows_call(MOVE_GATHER_FIRST, tensor, out, rows, comm));
}

enum hoop_status
hoop_tp_gather_first_start(const struct hoop_tensor *tensor,
                           struct hoop_tensor *out,
                           const struct hoop_rows *rows,
                           hoop_comm_t *comm,
                           hoop_op_t **out_op)
{
    return move_call_start(
        mapping_rows_call(MOVE_GATHER_FIRST, tensor, out, rows, comm), out_op);
}

enum hoop_status
hoop_tp_reduce_scatter_last(const struct hoop_tensor *tensor,
                            struct hoop_tensor *out,
                            hoop_comm_t *comm)
{
    return mapping_run(MOVE_REDUCE_SCATTER_LAST, tensor, out, comm);
}

enum hoop_status
hoop_tp_reduce_scatter_last_start(const struct hoop_tensor *tensor,
                                  struct hoop_tensor *out,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start(MOVE_REDUCE_SCATTER_LAST, tensor, out, comm, out_op);
}

enum hoop_status
hoop_tp_reduce_scatter_first(const struct hoop_tensor *tensor,
                             struct hoop_tensor *out,
                             const struct hoop_rows *rows,
                             hoop_comm_t *comm)
{
    return move_call_run(
        mapping_rows_call(MOVE_REDUCE_SCATTER_FIRST, tensor, out, rows, comm));
}

enum hoop_status
hoop_tp_reduce_scatter_first_start(const struct hoop_tensor *tensor,
                                   struct hoop_tensor *out,
                                   const struct hoop_rows *rows,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    return move_call_start(
        mapping_rows_call(MOVE_REDUCE_SCATTER_FIRST, tensor, out, rows, comm),
        out_op);
}

/* The mappings. */

enum hoop_status
hoop_copy_to_tp_forward(const struct hoop_tensor *input,
                        struct hoop_tensor *output,
                        hoop_comm_t *comm)
{
    return mapping_run(copy_to_tp.forward, input, output, comm);
}

enum hoop_status
hoop_copy_to_tp_forward_start(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm,
                              hoop_op_t **out_op)
{
    return mapping_start(copy_to_tp.forward, input, output, comm, out_op);
}

enum hoop_status
hoop_copy_to_tp_backward(const struct hoop_tensor *output_grad,
                         struct hoop_tensor *input_grad,
                         hoop_comm_t *comm)
{
    return mapping_run(copy_to_tp.backward, output_grad, input_grad, comm);
}

enum hoop_status
hoop_copy_to_tp_backward_start(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm,
                               hoop_op_t **out_op)
{
    return mapping_start(copy_to_tp.backward, output_grad, input_grad, comm,
                         out_op);
}

enum hoop_status
hoop_reduce_from_tp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            hoop_comm_t *comm)
{
    return mapping_run(reduce_from_tp.forward, input, output, comm);
}

enum hoop_status
hoop_reduce_from_tp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start(reduce_from_tp.forward, input, output, comm, out_op);
}

enum hoop_status
hoop_reduce_from_tp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             hoop_comm_t *comm)
{
    return mapping_run(reduce_from_tp.backward, output_grad, input_grad, comm);
}

enum hoop_status
hoop_reduce_from_tp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    return mapping_start(reduce_from_tp.backward, output_grad, input_grad, comm,
                         out_op);
}

enum hoop_status
hoop_scatter_to_tp_forward(const struct hoop_tensor *input,
                           struct hoop_tensor *output,
                           hoop_comm_t *comm)
{
    return mapping_run(scatter_to_tp.forward, input, output, comm);
}

enum hoop_status
hoop_scatter_to_tp_forward_start(const struct hoop_tensor *input,
                                 struct hoop_tensor *output,
                                 hoop_comm_t *comm,
                                 hoop_op_t **out_op)
{
    return mapping_start(scatter_to_tp.forward, input, output, comm, out_op);
}

enum hoop_status
hoop_scatter_to_tp_backward(const struct hoop_tensor *output_grad,
                            struct hoop_tensor *input_grad,
                            hoop_comm_t *comm)
{
    return mapping_run(scatter_to_tp.backward, output_grad, input_grad, comm);
}

enum hoop_status
hoop_scatter_to_tp_backward_start(const struct hoop_tensor *output_grad,
                                  struct hoop_tensor *input_grad,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start(scatter_to_tp.backward, output_grad, input_grad, comm,
                         out_op);
}

enum hoop_status
hoop_gather_from_tp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            hoop_comm_t *comm)
{
    return mapping_run(gather_from_tp.forward, input, output, comm);
}

enum hoop_status
hoop_gather_from_tp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start(gather_from_tp.forward, input, output, comm, out_op);
}

enum hoop_status
hoop_gather_from_tp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             hoop_comm_t *comm)
{
    return mapping_run(gather_from_tp.backward, output_grad, input_grad, comm);
}

enum hoop_status
hoop_gather_from_tp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    return mapping_start(gather_from_tp.backward, output_grad, input_grad, comm,
                         out_op);
}

enum hoop_status
hoop_scatter_to_sp_forward(const struct hoop_tensor *input,
                           struct hoop_tensor *output,
                           hoop_comm_t *comm)
{
    return mapping_run(scatter_to_sp.forward, input, output, comm);
}

enum hoop_status
hoop_scatter_to_sp_forward_start(const struct hoop_tensor *input,
                                 struct hoop_tensor *output,
                                 hoop_comm_t *comm,
                                 hoop_op_t **out_op)
{
    return mapping_start(scatter_to_sp.forward, input, output, comm, out_op);
}

enum hoop_status
hoop_scatter_to_sp_backward(const struct hoop_tensor *output_grad,
                            struct hoop_tensor *input_grad,
                            hoop_comm_t *comm)
{
    return mapping_run(scatter_to_sp.backward, output_grad, input_grad, comm);
}

enum hoop_status
hoop_scatter_to_sp_backward_start(const struct hoop_tensor *output_grad,
                                  struct hoop_tensor *input_grad,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start(scatter_to_sp.backward, output_grad, input_grad, comm,
                         out_op);
}

static const struct mapping *
gather_from_sp_find(enum hoop_consumer consumer)
{
    if (consumer == HOOP_CONSUMER_SHARDED ||
        consumer == HOOP_CONSUMER_REPLICATED)
        return &gather_from_sp[consumer];
    (void)error_raise(HOOP_E_INVALID,
                      "consumer is neither HOOP_CONSUMER_SHARDED nor "
                      "HOOP_CONSUMER_REPLICATED");
    return NULL;
}

enum hoop_status
hoop_gather_from_sp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            enum hoop_consumer consumer,
                            const struct hoop_rows *rows,
                            hoop_comm_t *comm)
{
    const struct mapping *mapping = gather_from_sp_find(consumer);

    if (!mapping)
        return error_pass(HOOP_E_INVALID);
    return move_call_run(
        mapping_rows_call(mapping->forward, input, output, rows, comm));
}

enum hoop_status
hoop_gather_from_sp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  enum hoop_consumer consumer,
                                  const struct hoop_rows *rows,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    const struct mapping *mapping = gather_from_sp_find(consumer);

    if (!mapping)
        return error_pass(HOOP_E_INVALID);
    return move_call_start(
        mapping_rows_call(mapping->forward, input, output, rows, comm), out_op);
}

enum hoop_status
hoop_gather_from_sp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             enum hoop_consumer consumer,
                             const struct hoop_rows *rows,
                             hoop_comm_t *comm)
{
    const struct mapping *mapping = gather_from_sp_find(consumer);

    if (!mapping)
        return error_pass(HOOP_E_INVALID);
    return move_call_run(mapping_rows_call(mapping->backward, output_grad,
                                           input_grad, rows, comm));
}

enum hoop_status
hoop_gather_from_sp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   enum hoop_consumer consumer,
                                   const struct hoop_rows *rows,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    const struct mapping *mapping = gather_from_sp_find(consumer);

    if (!mapping)
        return error_pass(HOOP_E_INVALID);
    return move_call_start(mapping_rows_call(mapping->backward, output_grad,
                                             input_grad, rows, comm),
                           out_op);
}

enum hoop_status
hoop_reduce_scatter_to_sp_forward(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  const struct hoop_rows *rows,
                                  hoop_comm_t *comm)
{
    return move_call_run(mapping_rows_call(reduce_scatter_to_sp.forward, input,
                                           output, rows, comm));
}

enum hoop_status
hoop_reduce_scatter_to_sp_forward_start(const struct hoop_tensor *input,
                                        struct hoop_tensor *output,
                                        const struct hoop_rows *rows,
                                        hoop_comm_t *comm,
                                        hoop_op_t **out_op)
{
    return move_call_start(mapping_rows_call(reduce_scatter_to_sp.forward,
                                             input, output, rows, comm),
                           out_op);
}

enum hoop_status
hoop_reduce_scatter_to_sp_backward(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   const struct hoop_rows *rows,
                                   hoop_comm_t *comm)
{
    return move_call_run(mapping_rows_call(
        reduce_scatter_to_sp.backward, output_grad, input_grad, rows, comm));
}

enum hoop_status
hoop_reduce_scatter_to_sp_backward_start(const struct hoop_tensor *output_grad,
                                         struct hoop_tensor *input_grad,
                                         const struct hoop_rows *rows,
                                         hoop_comm_t *comm,
                                         hoop_op_t **out_op)
{
    return move_call_start(mapping_rows_call(reduce_scatter_to_sp.backward,
                                             output_grad, input_grad, rows,
                                             comm),
                           out_op);
}

enum hoop_status
hoop_all_gather_last_from_tp_forward(const struct hoop_tensor *input,
                                     struct hoop_tensor *output,
                                     hoop_comm_t *comm)
{
    return mapping_run(all_gather_last_from_tp.forward, input, output, comm);
}

enum hoop_status
hoop_all_gather_last_from_tp_forward_start(const struct hoop_tensor *input,
                                           struct hoop_tensor *output,
                                           hoop_comm_t *comm,
                                           hoop_op_t **out_op)
{
    return mapping_start(all_gather_last_from_tp.forward, input, output, comm,
                         out_op);
}

enum hoop_status
hoop_all_gather_last_from_tp_backward(const struct hoop_tensor *output_grad,
                                      struct hoop_tensor *input_grad,
                                      hoop_comm_t *comm)
{
    return mapping_run(all_gather_last_from_tp.backward, output_grad,
                       input_grad, comm);
}

enum hoop_status
hoop_all_gather_last_from_tp_backward_start(
    const struct hoop_tensor *output_grad,
    struct hoop_tensor *input_grad,
    hoop_comm_t *comm,
    hoop_op_t **out_op)
{
    return mapping_start(all_gather_last_from_tp.backward, output_grad,
                         input_grad, comm, out_op);
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_forward(const struct hoop_tensor *input,
                                       struct hoop_tensor *output,
                                       hoop_comm_t *comm)
{
    return mapping_run(reduce_scatter_last_to_tp.forward, input, output, comm);
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_forward_start(const struct hoop_tensor *input,
                                             struct hoop_tensor *output,
                                             hoop_comm_t *comm,
                                             hoop_op_t **out_op)
{
    return mapping_start(reduce_scatter_last_to_tp.forward, input, output, comm,
                         out_op);
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_backward(const struct hoop_tensor *output_grad,
                                        struct hoop_tensor *input_grad,
                                        hoop_comm_t *comm)
{
    return mapping_run(reduce_scatter_last_to_tp.backward, output_grad,
                       input_grad, comm);
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_backward_start(
    const struct hoop_tensor *output_grad,
    struct hoop_tensor *input_grad,
    hoop_comm_t *comm,
    hoop_op_t **out_op)
{
    return mapping_start(reduce_scatter_last_to_tp.backward, output_grad,
                         input_grad, comm, out_op);
}

static struct move_call
all_to_all_rows_forward(const struct hoop_tensor *tensor,
                        struct hoop_tensor *out,
                        const struct hoop_row_splits *splits,
                        hoop_comm_t *comm)
{
    return (struct move_call){
        .move = MOVE_ALL_TO_ALL,
        .tensor = tensor,
        .out = out,
        .comm = comm,
        .sizes = splits ? splits->input : NULL,
        .coming = splits ? splits->output : NULL,
    };
}

/* splits are those of the forward. */
static struct move_call
all_to_all_rows_backward(const struct hoop_tensor *tensor,
                         struct hoop_tensor *out,
                         const struct hoop_row_splits *splits,
                         hoop_comm_t *comm)
{
    struct move_call call = all_to_all_rows_forward(tensor, out, splits, comm);
    const size_t *sizes = call.sizes;

    call.sizes = call.coming;
    call.coming = sizes;
    return call;
}

enum hoop_status
hoop_all_to_all_rows_forward(const struct hoop_tensor *input,
                             struct hoop_tensor *output,
                             const struct hoop_row_splits *splits,
                             hoop_comm_t *comm)
{
    return move_call_run(all_to_all_rows_forward(input, output, splits, comm));
}

enum hoop_status
hoop_all_to_all_rows_forward_start(const struct hoop_tensor *input,
                                   struct hoop_tensor *output,
                                   const struct hoop_row_splits *splits,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    return move_call_start(all_to_all_rows_forward(input, output, splits, comm),
                           out_op);
}

enum hoop_status
hoop_all_to_all_rows_backward(const struct hoop_tensor *output_grad,
                              struct hoop_tensor *input_grad,
                              const struct hoop_row_splits *splits,
                              hoop_comm_t *comm)
{
    return move_call_run(
        all_to_all_rows_backward(output_grad, input_grad, splits, comm));
}

enum hoop_status
hoop_all_to_all_rows_backward_start(const struct hoop_tensor *output_grad,
                                    struct hoop_tensor *input_grad,
                                    const struct hoop_row_splits *splits,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op)
{
    return move_call_start(
        all_to_all_rows_backward(output_grad, input_grad, splits, comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_sp2hp_forward(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm)
{
    return mapping_run(all_to_all_sp2hp.forward, input, output, comm);
}

enum hoop_status
hoop_all_to_all_sp2hp_forward_start(const struct hoop_tensor *input,
                                    struct hoop_tensor *output,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op)
{
    return mapping_start(all_to_all_sp2hp.forward, input, output, comm, out_op);
}

enum hoop_status
hoop_all_to_all_sp2hp_backward(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm)
{
    return mapping_run(all_to_all_sp2hp.backward, output_grad, input_grad,
                       comm);
}

enum hoop_status
hoop_all_to_all_sp2hp_backward_start(const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *input_grad,
                                     hoop_comm_t *comm,
                                     hoop_op_t **out_op)
{
    return mapping_start(all_to_all_sp2hp.backward, output_grad, input_grad,
                         comm, out_op);
}

enum hoop_status
hoop_all_to_all_hp2sp_forward(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm)
{
    return mapping_run(all_to_all_hp2sp.forward, input, output, comm);
}

enum hoop_status
hoop_all_to_all_hp2sp_forward_start(const struct hoop_tensor *input,
                                    struct hoop_tensor *output,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op)
{
    return mapping_start(all_to_all_hp2sp.forward, input, output, comm, out_op);
}

enum hoop_status
hoop_all_to_all_hp2sp_backward(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm)
{
    return mapping_run(all_to_all_hp2sp.backward, output_grad, input_grad,
                       comm);
}

enum hoop_status
hoop_all_to_all_hp2sp_backward_start(const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *input_grad,
                                     hoop_comm_t *comm,
                                     hoop_op_t **out_op)
{
    return mapping_start(all_to_all_hp2sp.backward, output_grad, input_grad,
                         comm, out_op);
}
