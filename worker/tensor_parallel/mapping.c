/*
 * tensor_parallel/mapping.c - the mappings: one move forward and one move backward
 *
 * The backward of a move is its transpose if each rank's gradient is a part of
 * a sum. If all ranks have the same gradient, a sum would count it n times, so
 * the gradient is cut or copied instead.
 */

#include "tensor_parallel/mapping.h"

#include "base/error.h"
#include "tensor_parallel/move.h"

static const struct {
    enum move forward;
    enum move backward;
} mappings[] = {
    [MAPPING_COPY_TO_TP] = {MOVE_COPY, MOVE_ALL_REDUCE},
    [MAPPING_REDUCE_FROM_TP] = {MOVE_ALL_REDUCE, MOVE_COPY},
    [MAPPING_SCATTER_TO_TP] = {MOVE_SPLIT_LAST, MOVE_GATHER_LAST},
    [MAPPING_GATHER_FROM_TP] = {MOVE_GATHER_LAST, MOVE_SPLIT_LAST},
    [MAPPING_SCATTER_TO_SP] = {MOVE_SPLIT_FIRST, MOVE_GATHER_FIRST},
    [MAPPING_GATHER_FROM_SP] = {MOVE_GATHER_FIRST, MOVE_REDUCE_SCATTER_FIRST},
    [MAPPING_GATHER_FROM_SP_REPLICATED] = {MOVE_GATHER_FIRST, MOVE_SPLIT_FIRST},
    [MAPPING_REDUCE_SCATTER_TO_SP] = {MOVE_REDUCE_SCATTER_FIRST,
                                      MOVE_GATHER_FIRST},
    [MAPPING_ALL_GATHER_LAST_FROM_TP] = {MOVE_GATHER_LAST,
                                         MOVE_REDUCE_SCATTER_LAST},
    [MAPPING_REDUCE_SCATTER_LAST_TO_TP] = {MOVE_REDUCE_SCATTER_LAST,
                                           MOVE_GATHER_LAST},
    [MAPPING_ALL_TO_ALL_ROWS] = {MOVE_ALL_TO_ALL, MOVE_ALL_TO_ALL},
    [MAPPING_SP2HP] = {MOVE_ROWS_TO_COLUMNS, MOVE_COLUMNS_TO_ROWS},
    [MAPPING_HP2SP] = {MOVE_COLUMNS_TO_ROWS, MOVE_ROWS_TO_COLUMNS},
};

/* Sets everything but the row splits, which forward and backward swap. */
static struct move_call
mapping_call_to_move_call(const struct mapping_call *call, enum move move)
{
    struct move_call result = {
        .move = move,
        .tensor = call->tensor,
        .out = call->out,
        .comm = call->comm,
    };

    if (call->rows) {
        result.sizes = call->rows->sizes;
        result.scratch = call->rows->scratch;
    }
    return result;
}

static struct move_call
mapping_forward_call(const struct mapping_call *call)
{
    struct move_call result =
        mapping_call_to_move_call(call, mappings[call->mapping].forward);

    if (call->splits) {
        result.sizes = call->splits->input;
        result.coming = call->splits->output;
    }
    return result;
}

static struct move_call
mapping_backward_call(const struct mapping_call *call)
{
    struct move_call result =
        mapping_call_to_move_call(call, mappings[call->mapping].backward);

    if (call->splits) {
        result.sizes = call->splits->output;
        result.coming = call->splits->input;
    }
    return result;
}

static enum hoop_status
mapping_check_consumer(const struct mapping_call *call)
{
    if (call->mapping != MAPPING_UNKNOWN)
        return HOOP_OK;
    return error_raise(HOOP_E_INVALID,
                       "consumer is neither HOOP_CONSUMER_SHARDED nor "
                       "HOOP_CONSUMER_REPLICATED");
}

enum hoop_status
mapping_run_forward(struct mapping_call call)
{
    const enum hoop_status status = mapping_check_consumer(&call);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct move_call forward = mapping_forward_call(&call);
    return move_call_run(&forward);
}

enum hoop_status
mapping_start_forward(struct mapping_call call, hoop_op_t **out_op)
{
    const enum hoop_status status = mapping_check_consumer(&call);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct move_call forward = mapping_forward_call(&call);
    return move_call_start(&forward, out_op);
}

enum hoop_status
mapping_run_backward(struct mapping_call call)
{
    const enum hoop_status status = mapping_check_consumer(&call);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct move_call backward = mapping_backward_call(&call);
    return move_call_run(&backward);
}

enum hoop_status
mapping_start_backward(struct mapping_call call, hoop_op_t **out_op)
{
    const enum hoop_status status = mapping_check_consumer(&call);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct move_call backward = mapping_backward_call(&call);
    return move_call_start(&backward, out_op);
}

/*
 * Public mappings between tensor-parallel layouts.
 *
 * Each function names its mapping; the functions above do the rest.
 */

static struct mapping_call
mapping_call_make_even(enum mapping mapping,
                       const struct hoop_tensor *tensor,
                       struct hoop_tensor *out,
                       hoop_comm_t *comm)
{
    return (struct mapping_call){
        .mapping = mapping, .tensor = tensor, .out = out, .comm = comm};
}

enum hoop_status
hoop_copy_to_tp_forward(const struct hoop_tensor *input,
                        struct hoop_tensor *output,
                        hoop_comm_t *comm)
{
    return mapping_run_forward(
        mapping_call_make_even(MAPPING_COPY_TO_TP, input, output, comm));
}

enum hoop_status
hoop_copy_to_tp_forward_start(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm,
                              hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_even(MAPPING_COPY_TO_TP, input, output, comm),
        out_op);
}

enum hoop_status
hoop_copy_to_tp_backward(const struct hoop_tensor *output_grad,
                         struct hoop_tensor *input_grad,
                         hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_even(
        MAPPING_COPY_TO_TP, output_grad, input_grad, comm));
}

enum hoop_status
hoop_copy_to_tp_backward_start(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm,
                               hoop_op_t **out_op)
{
    return mapping_start_backward(mapping_call_make_even(MAPPING_COPY_TO_TP,
                                                         output_grad,
                                                         input_grad, comm),
                                  out_op);
}

enum hoop_status
hoop_reduce_from_tp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            hoop_comm_t *comm)
{
    return mapping_run_forward(
        mapping_call_make_even(MAPPING_REDUCE_FROM_TP, input, output, comm));
}

enum hoop_status
hoop_reduce_from_tp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_even(MAPPING_REDUCE_FROM_TP, input, output, comm),
        out_op);
}

enum hoop_status
hoop_reduce_from_tp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_even(
        MAPPING_REDUCE_FROM_TP, output_grad, input_grad, comm));
}

enum hoop_status
hoop_reduce_from_tp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    return mapping_start_backward(mapping_call_make_even(MAPPING_REDUCE_FROM_TP,
                                                         output_grad,
                                                         input_grad, comm),
                                  out_op);
}

enum hoop_status
hoop_scatter_to_tp_forward(const struct hoop_tensor *input,
                           struct hoop_tensor *output,
                           hoop_comm_t *comm)
{
    return mapping_run_forward(
        mapping_call_make_even(MAPPING_SCATTER_TO_TP, input, output, comm));
}

enum hoop_status
hoop_scatter_to_tp_forward_start(const struct hoop_tensor *input,
                                 struct hoop_tensor *output,
                                 hoop_comm_t *comm,
                                 hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_even(MAPPING_SCATTER_TO_TP, input, output, comm),
        out_op);
}

enum hoop_status
hoop_scatter_to_tp_backward(const struct hoop_tensor *output_grad,
                            struct hoop_tensor *input_grad,
                            hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_even(
        MAPPING_SCATTER_TO_TP, output_grad, input_grad, comm));
}

enum hoop_status
hoop_scatter_to_tp_backward_start(const struct hoop_tensor *output_grad,
                                  struct hoop_tensor *input_grad,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start_backward(mapping_call_make_even(MAPPING_SCATTER_TO_TP,
                                                         output_grad,
                                                         input_grad, comm),
                                  out_op);
}

enum hoop_status
hoop_gather_from_tp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            hoop_comm_t *comm)
{
    return mapping_run_forward(
        mapping_call_make_even(MAPPING_GATHER_FROM_TP, input, output, comm));
}

enum hoop_status
hoop_gather_from_tp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_even(MAPPING_GATHER_FROM_TP, input, output, comm),
        out_op);
}

enum hoop_status
hoop_gather_from_tp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_even(
        MAPPING_GATHER_FROM_TP, output_grad, input_grad, comm));
}

enum hoop_status
hoop_gather_from_tp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    return mapping_start_backward(mapping_call_make_even(MAPPING_GATHER_FROM_TP,
                                                         output_grad,
                                                         input_grad, comm),
                                  out_op);
}

enum hoop_status
hoop_all_gather_last_from_tp_forward(const struct hoop_tensor *input,
                                     struct hoop_tensor *output,
                                     hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_make_even(
        MAPPING_ALL_GATHER_LAST_FROM_TP, input, output, comm));
}

enum hoop_status
hoop_all_gather_last_from_tp_forward_start(const struct hoop_tensor *input,
                                           struct hoop_tensor *output,
                                           hoop_comm_t *comm,
                                           hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_even(MAPPING_ALL_GATHER_LAST_FROM_TP, input, output,
                               comm),
        out_op);
}

enum hoop_status
hoop_all_gather_last_from_tp_backward(const struct hoop_tensor *output_grad,
                                      struct hoop_tensor *input_grad,
                                      hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_even(
        MAPPING_ALL_GATHER_LAST_FROM_TP, output_grad, input_grad, comm));
}

enum hoop_status
hoop_all_gather_last_from_tp_backward_start(
    const struct hoop_tensor *output_grad,
    struct hoop_tensor *input_grad,
    hoop_comm_t *comm,
    hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_make_even(MAPPING_ALL_GATHER_LAST_FROM_TP, output_grad,
                               input_grad, comm),
        out_op);
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_forward(const struct hoop_tensor *input,
                                       struct hoop_tensor *output,
                                       hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_make_even(
        MAPPING_REDUCE_SCATTER_LAST_TO_TP, input, output, comm));
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_forward_start(const struct hoop_tensor *input,
                                             struct hoop_tensor *output,
                                             hoop_comm_t *comm,
                                             hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_even(MAPPING_REDUCE_SCATTER_LAST_TO_TP, input, output,
                               comm),
        out_op);
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_backward(const struct hoop_tensor *output_grad,
                                        struct hoop_tensor *input_grad,
                                        hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_even(
        MAPPING_REDUCE_SCATTER_LAST_TO_TP, output_grad, input_grad, comm));
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_backward_start(
    const struct hoop_tensor *output_grad,
    struct hoop_tensor *input_grad,
    hoop_comm_t *comm,
    hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_make_even(MAPPING_REDUCE_SCATTER_LAST_TO_TP, output_grad,
                               input_grad, comm),
        out_op);
}

/* Public mappings to and from sequence parallelism. */

static enum mapping
consumer_to_gather_mapping(enum hoop_consumer consumer)
{
    switch (consumer) {
    case HOOP_CONSUMER_SHARDED:
        return MAPPING_GATHER_FROM_SP;
    case HOOP_CONSUMER_REPLICATED:
        return MAPPING_GATHER_FROM_SP_REPLICATED;
    }
    return MAPPING_UNKNOWN;
}

static struct mapping_call
mapping_call_make_with_rows(enum mapping mapping,
                            const struct hoop_tensor *tensor,
                            struct hoop_tensor *out,
                            const struct hoop_rows *rows,
                            hoop_comm_t *comm)
{
    return (struct mapping_call){.mapping = mapping,
                                 .tensor = tensor,
                                 .out = out,
                                 .comm = comm,
                                 .rows = rows};
}

enum hoop_status
hoop_scatter_to_sp_forward(const struct hoop_tensor *input,
                           struct hoop_tensor *output,
                           hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_make_with_rows(
        MAPPING_SCATTER_TO_SP, input, output, NULL, comm));
}

enum hoop_status
hoop_scatter_to_sp_forward_start(const struct hoop_tensor *input,
                                 struct hoop_tensor *output,
                                 hoop_comm_t *comm,
                                 hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_with_rows(MAPPING_SCATTER_TO_SP, input, output, NULL,
                                    comm),
        out_op);
}

enum hoop_status
hoop_scatter_to_sp_backward(const struct hoop_tensor *output_grad,
                            struct hoop_tensor *input_grad,
                            hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_with_rows(
        MAPPING_SCATTER_TO_SP, output_grad, input_grad, NULL, comm));
}

enum hoop_status
hoop_scatter_to_sp_backward_start(const struct hoop_tensor *output_grad,
                                  struct hoop_tensor *input_grad,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_make_with_rows(MAPPING_SCATTER_TO_SP, output_grad,
                                    input_grad, NULL, comm),
        out_op);
}

enum hoop_status
hoop_gather_from_sp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            enum hoop_consumer consumer,
                            const struct hoop_rows *rows,
                            hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_make_with_rows(
        consumer_to_gather_mapping(consumer), input, output, rows, comm));
}

enum hoop_status
hoop_gather_from_sp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  enum hoop_consumer consumer,
                                  const struct hoop_rows *rows,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_with_rows(consumer_to_gather_mapping(consumer), input,
                                    output, rows, comm),
        out_op);
}

enum hoop_status
hoop_gather_from_sp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             enum hoop_consumer consumer,
                             const struct hoop_rows *rows,
                             hoop_comm_t *comm)
{
    return mapping_run_backward(
        mapping_call_make_with_rows(consumer_to_gather_mapping(consumer),
                                    output_grad, input_grad, rows, comm));
}

enum hoop_status
hoop_gather_from_sp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   enum hoop_consumer consumer,
                                   const struct hoop_rows *rows,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_make_with_rows(consumer_to_gather_mapping(consumer),
                                    output_grad, input_grad, rows, comm),
        out_op);
}

enum hoop_status
hoop_reduce_scatter_to_sp_forward(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  const struct hoop_rows *rows,
                                  hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_make_with_rows(
        MAPPING_REDUCE_SCATTER_TO_SP, input, output, rows, comm));
}

enum hoop_status
hoop_reduce_scatter_to_sp_forward_start(const struct hoop_tensor *input,
                                        struct hoop_tensor *output,
                                        const struct hoop_rows *rows,
                                        hoop_comm_t *comm,
                                        hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_with_rows(MAPPING_REDUCE_SCATTER_TO_SP, input, output,
                                    rows, comm),
        out_op);
}

enum hoop_status
hoop_reduce_scatter_to_sp_backward(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   const struct hoop_rows *rows,
                                   hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_with_rows(
        MAPPING_REDUCE_SCATTER_TO_SP, output_grad, input_grad, rows, comm));
}

enum hoop_status
hoop_reduce_scatter_to_sp_backward_start(const struct hoop_tensor *output_grad,
                                         struct hoop_tensor *input_grad,
                                         const struct hoop_rows *rows,
                                         hoop_comm_t *comm,
                                         hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_make_with_rows(MAPPING_REDUCE_SCATTER_TO_SP, output_grad,
                                    input_grad, rows, comm),
        out_op);
}

/* Public mappings that exchange between all ranks. */

static struct mapping_call
mapping_call_make_with_splits(enum mapping mapping,
                              const struct hoop_tensor *tensor,
                              struct hoop_tensor *out,
                              const struct hoop_row_splits *splits,
                              hoop_comm_t *comm)
{
    return (struct mapping_call){.mapping = mapping,
                                 .tensor = tensor,
                                 .out = out,
                                 .comm = comm,
                                 .splits = splits};
}

enum hoop_status
hoop_all_to_all_rows_forward(const struct hoop_tensor *input,
                             struct hoop_tensor *output,
                             const struct hoop_row_splits *splits,
                             hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_make_with_splits(
        MAPPING_ALL_TO_ALL_ROWS, input, output, splits, comm));
}

enum hoop_status
hoop_all_to_all_rows_forward_start(const struct hoop_tensor *input,
                                   struct hoop_tensor *output,
                                   const struct hoop_row_splits *splits,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_with_splits(MAPPING_ALL_TO_ALL_ROWS, input, output,
                                      splits, comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_rows_backward(const struct hoop_tensor *output_grad,
                              struct hoop_tensor *input_grad,
                              const struct hoop_row_splits *splits,
                              hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_with_splits(
        MAPPING_ALL_TO_ALL_ROWS, output_grad, input_grad, splits, comm));
}

enum hoop_status
hoop_all_to_all_rows_backward_start(const struct hoop_tensor *output_grad,
                                    struct hoop_tensor *input_grad,
                                    const struct hoop_row_splits *splits,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_make_with_splits(MAPPING_ALL_TO_ALL_ROWS, output_grad,
                                      input_grad, splits, comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_sp2hp_forward(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_make_with_splits(
        MAPPING_SP2HP, input, output, NULL, comm));
}

enum hoop_status
hoop_all_to_all_sp2hp_forward_start(const struct hoop_tensor *input,
                                    struct hoop_tensor *output,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_with_splits(MAPPING_SP2HP, input, output, NULL, comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_sp2hp_backward(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_with_splits(
        MAPPING_SP2HP, output_grad, input_grad, NULL, comm));
}

enum hoop_status
hoop_all_to_all_sp2hp_backward_start(const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *input_grad,
                                     hoop_comm_t *comm,
                                     hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_make_with_splits(MAPPING_SP2HP, output_grad, input_grad,
                                      NULL, comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_hp2sp_forward(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_make_with_splits(
        MAPPING_HP2SP, input, output, NULL, comm));
}

enum hoop_status
hoop_all_to_all_hp2sp_forward_start(const struct hoop_tensor *input,
                                    struct hoop_tensor *output,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_make_with_splits(MAPPING_HP2SP, input, output, NULL, comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_hp2sp_backward(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_make_with_splits(
        MAPPING_HP2SP, output_grad, input_grad, NULL, comm));
}

enum hoop_status
hoop_all_to_all_hp2sp_backward_start(const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *input_grad,
                                     hoop_comm_t *comm,
                                     hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_make_with_splits(MAPPING_HP2SP, output_grad, input_grad,
                                      NULL, comm),
        out_op);
}
