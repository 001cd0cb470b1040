/*
 * tensor_parallel/tensor_parallel.c - the public moves of tensor parallelism
 *
 * Each function names its move; tensor_parallel/move.c does the rest.
 */

#include "hoop/tensor_parallel.h"

#include "tensor_parallel/move.h"

static struct move_call
move_call_make(enum move move,
               const struct hoop_tensor *tensor,
               struct hoop_tensor *out,
               hoop_comm_t *comm)
{
    return (struct move_call){
        .move = move, .tensor = tensor, .out = out, .comm = comm};
}

static struct move_call
move_call_make_by_rows(enum move move,
                       const struct hoop_tensor *tensor,
                       struct hoop_tensor *out,
                       const struct hoop_rows *rows,
                       hoop_comm_t *comm)
{
    struct move_call call = move_call_make(move, tensor, out, comm);

    if (rows) {
        call.sizes = rows->sizes;
        call.scratch = rows->scratch;
    }
    return call;
}

enum hoop_status
hoop_tp_reduce(const struct hoop_tensor *tensor,
               struct hoop_tensor *out,
               hoop_comm_t *comm)
{
    const struct move_call call =
        move_call_make(MOVE_ALL_REDUCE, tensor, out, comm);

    return move_call_run(&call);
}

enum hoop_status
hoop_tp_reduce_start(const struct hoop_tensor *tensor,
                     struct hoop_tensor *out,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op)
{
    const struct move_call call =
        move_call_make(MOVE_ALL_REDUCE, tensor, out, comm);

    return move_call_start(&call, out_op);
}

enum hoop_status
hoop_tp_split_last(const struct hoop_tensor *tensor,
                   struct hoop_tensor *out,
                   hoop_comm_t *comm)
{
    const struct move_call call =
        move_call_make(MOVE_SPLIT_LAST, tensor, out, comm);

    return move_call_run(&call);
}

enum hoop_status
hoop_tp_split_first(const struct hoop_tensor *tensor,
                    struct hoop_tensor *out,
                    hoop_comm_t *comm)
{
    const struct move_call call =
        move_call_make(MOVE_SPLIT_FIRST, tensor, out, comm);

    return move_call_run(&call);
}

enum hoop_status
hoop_tp_gather_last(const struct hoop_tensor *tensor,
                    struct hoop_tensor *out,
                    hoop_comm_t *comm)
{
    const struct move_call call =
        move_call_make(MOVE_GATHER_LAST, tensor, out, comm);

    return move_call_run(&call);
}

enum hoop_status
hoop_tp_gather_last_start(const struct hoop_tensor *tensor,
                          struct hoop_tensor *out,
                          hoop_comm_t *comm,
                          hoop_op_t **out_op)
{
    const struct move_call call =
        move_call_make(MOVE_GATHER_LAST, tensor, out, comm);

    return move_call_start(&call, out_op);
}

enum hoop_status
hoop_tp_gather_first(const struct hoop_tensor *tensor,
                     struct hoop_tensor *out,
                     const struct hoop_rows *rows,
                     hoop_comm_t *comm)
{
    const struct move_call call =
        move_call_make_by_rows(MOVE_GATHER_FIRST, tensor, out, rows, comm);

    return move_call_run(&call);
}

enum hoop_status
hoop_tp_gather_first_start(const struct hoop_tensor *tensor,
                           struct hoop_tensor *out,
                           const struct hoop_rows *rows,
                           hoop_comm_t *comm,
                           hoop_op_t **out_op)
{
    const struct move_call call =
        move_call_make_by_rows(MOVE_GATHER_FIRST, tensor, out, rows, comm);

    return move_call_start(&call, out_op);
}

enum hoop_status
hoop_tp_reduce_scatter_last(const struct hoop_tensor *tensor,
                            struct hoop_tensor *out,
                            hoop_comm_t *comm)
{
    const struct move_call call =
        move_call_make(MOVE_REDUCE_SCATTER_LAST, tensor, out, comm);

    return move_call_run(&call);
}

enum hoop_status
hoop_tp_reduce_scatter_last_start(const struct hoop_tensor *tensor,
                                  struct hoop_tensor *out,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    const struct move_call call =
        move_call_make(MOVE_REDUCE_SCATTER_LAST, tensor, out, comm);

    return move_call_start(&call, out_op);
}

enum hoop_status
hoop_tp_reduce_scatter_first(const struct hoop_tensor *tensor,
                             struct hoop_tensor *out,
                             const struct hoop_rows *rows,
                             hoop_comm_t *comm)
{
    const struct move_call call = move_call_make_by_rows(
        MOVE_REDUCE_SCATTER_FIRST, tensor, out, rows, comm);

    return move_call_run(&call);
}

enum hoop_status
hoop_tp_reduce_scatter_first_start(const struct hoop_tensor *tensor,
                                   struct hoop_tensor *out,
                                   const struct hoop_rows *rows,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    const struct move_call call = move_call_make_by_rows(
        MOVE_REDUCE_SCATTER_FIRST, tensor, out, rows, comm);

    return move_call_start(&call, out_op);
}
