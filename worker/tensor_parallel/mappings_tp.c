/*
 * tensor_parallel/mappings_tp.c - public mappings between tensor-parallel layouts
 *
 * Each function names its mapping; tensor_parallel/mapping.c does the rest.
 */

#include "tensor_parallel/mapping.h"

static struct mapping_call
mapping_call_even(enum mapping mapping,
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
        mapping_call_even(MAPPING_COPY_TO_TP, input, output, comm));
}

enum hoop_status
hoop_copy_to_tp_forward_start(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm,
                              hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_even(MAPPING_COPY_TO_TP, input, output, comm), out_op);
}

enum hoop_status
hoop_copy_to_tp_backward(const struct hoop_tensor *output_grad,
                         struct hoop_tensor *input_grad,
                         hoop_comm_t *comm)
{
    return mapping_run_backward(
        mapping_call_even(MAPPING_COPY_TO_TP, output_grad, input_grad, comm));
}

enum hoop_status
hoop_copy_to_tp_backward_start(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm,
                               hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_even(MAPPING_COPY_TO_TP, output_grad, input_grad, comm),
        out_op);
}

enum hoop_status
hoop_reduce_from_tp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            hoop_comm_t *comm)
{
    return mapping_run_forward(
        mapping_call_even(MAPPING_REDUCE_FROM_TP, input, output, comm));
}

enum hoop_status
hoop_reduce_from_tp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_even(MAPPING_REDUCE_FROM_TP, input, output, comm), out_op);
}

enum hoop_status
hoop_reduce_from_tp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_even(
        MAPPING_REDUCE_FROM_TP, output_grad, input_grad, comm));
}

enum hoop_status
hoop_reduce_from_tp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    return mapping_start_backward(mapping_call_even(MAPPING_REDUCE_FROM_TP,
                                                    output_grad, input_grad,
                                                    comm),
                                  out_op);
}

enum hoop_status
hoop_scatter_to_tp_forward(const struct hoop_tensor *input,
                           struct hoop_tensor *output,
                           hoop_comm_t *comm)
{
    return mapping_run_forward(
        mapping_call_even(MAPPING_SCATTER_TO_TP, input, output, comm));
}

enum hoop_status
hoop_scatter_to_tp_forward_start(const struct hoop_tensor *input,
                                 struct hoop_tensor *output,
                                 hoop_comm_t *comm,
                                 hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_even(MAPPING_SCATTER_TO_TP, input, output, comm), out_op);
}

enum hoop_status
hoop_scatter_to_tp_backward(const struct hoop_tensor *output_grad,
                            struct hoop_tensor *input_grad,
                            hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_even(
        MAPPING_SCATTER_TO_TP, output_grad, input_grad, comm));
}

enum hoop_status
hoop_scatter_to_tp_backward_start(const struct hoop_tensor *output_grad,
                                  struct hoop_tensor *input_grad,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_even(MAPPING_SCATTER_TO_TP, output_grad, input_grad, comm),
        out_op);
}

enum hoop_status
hoop_gather_from_tp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            hoop_comm_t *comm)
{
    return mapping_run_forward(
        mapping_call_even(MAPPING_GATHER_FROM_TP, input, output, comm));
}

enum hoop_status
hoop_gather_from_tp_forward_start(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_even(MAPPING_GATHER_FROM_TP, input, output, comm), out_op);
}

enum hoop_status
hoop_gather_from_tp_backward(const struct hoop_tensor *output_grad,
                             struct hoop_tensor *input_grad,
                             hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_even(
        MAPPING_GATHER_FROM_TP, output_grad, input_grad, comm));
}

enum hoop_status
hoop_gather_from_tp_backward_start(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   hoop_comm_t *comm,
                                   hoop_op_t **out_op)
{
    return mapping_start_backward(mapping_call_even(MAPPING_GATHER_FROM_TP,
                                                    output_grad, input_grad,
                                                    comm),
                                  out_op);
}

enum hoop_status
hoop_all_gather_last_from_tp_forward(const struct hoop_tensor *input,
                                     struct hoop_tensor *output,
                                     hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_even(
        MAPPING_ALL_GATHER_LAST_FROM_TP, input, output, comm));
}

enum hoop_status
hoop_all_gather_last_from_tp_forward_start(const struct hoop_tensor *input,
                                           struct hoop_tensor *output,
                                           hoop_comm_t *comm,
                                           hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_even(MAPPING_ALL_GATHER_LAST_FROM_TP, input, output, comm),
        out_op);
}

enum hoop_status
hoop_all_gather_last_from_tp_backward(const struct hoop_tensor *output_grad,
                                      struct hoop_tensor *input_grad,
                                      hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_even(
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
        mapping_call_even(MAPPING_ALL_GATHER_LAST_FROM_TP, output_grad,
                          input_grad, comm),
        out_op);
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_forward(const struct hoop_tensor *input,
                                       struct hoop_tensor *output,
                                       hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_even(
        MAPPING_REDUCE_SCATTER_LAST_TO_TP, input, output, comm));
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_forward_start(const struct hoop_tensor *input,
                                             struct hoop_tensor *output,
                                             hoop_comm_t *comm,
                                             hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_even(MAPPING_REDUCE_SCATTER_LAST_TO_TP, input, output,
                          comm),
        out_op);
}

enum hoop_status
hoop_reduce_scatter_last_to_tp_backward(const struct hoop_tensor *output_grad,
                                        struct hoop_tensor *input_grad,
                                        hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_even(
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
        mapping_call_even(MAPPING_REDUCE_SCATTER_LAST_TO_TP, output_grad,
                          input_grad, comm),
        out_op);
}
