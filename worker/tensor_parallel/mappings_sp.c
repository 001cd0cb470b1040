/*
 * tensor_parallel/mappings_sp.c - public mappings to and from sequence parallelism
 *
 * Each function names its mapping; tensor_parallel/mapping.c does the rest.
 */

#include "tensor_parallel/mapping.h"

static enum mapping
gather_mapping_for_consumer(enum hoop_consumer consumer)
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
mapping_call_with_rows(enum mapping mapping,
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
    return mapping_run_forward(mapping_call_with_rows(
        MAPPING_SCATTER_TO_SP, input, output, NULL, comm));
}

enum hoop_status
hoop_scatter_to_sp_forward_start(const struct hoop_tensor *input,
                                 struct hoop_tensor *output,
                                 hoop_comm_t *comm,
                                 hoop_op_t **out_op)
{
    return mapping_start_forward(mapping_call_with_rows(MAPPING_SCATTER_TO_SP,
                                                        input, output, NULL,
                                                        comm),
                                 out_op);
}

enum hoop_status
hoop_scatter_to_sp_backward(const struct hoop_tensor *output_grad,
                            struct hoop_tensor *input_grad,
                            hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_with_rows(
        MAPPING_SCATTER_TO_SP, output_grad, input_grad, NULL, comm));
}

enum hoop_status
hoop_scatter_to_sp_backward_start(const struct hoop_tensor *output_grad,
                                  struct hoop_tensor *input_grad,
                                  hoop_comm_t *comm,
                                  hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_with_rows(MAPPING_SCATTER_TO_SP, output_grad, input_grad,
                               NULL, comm),
        out_op);
}

enum hoop_status
hoop_gather_from_sp_forward(const struct hoop_tensor *input,
                            struct hoop_tensor *output,
                            enum hoop_consumer consumer,
                            const struct hoop_rows *rows,
                            hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_with_rows(
        gather_mapping_for_consumer(consumer), input, output, rows, comm));
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
        mapping_call_with_rows(gather_mapping_for_consumer(consumer), input,
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
        mapping_call_with_rows(gather_mapping_for_consumer(consumer),
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
        mapping_call_with_rows(gather_mapping_for_consumer(consumer),
                               output_grad, input_grad, rows, comm),
        out_op);
}

enum hoop_status
hoop_reduce_scatter_to_sp_forward(const struct hoop_tensor *input,
                                  struct hoop_tensor *output,
                                  const struct hoop_rows *rows,
                                  hoop_comm_t *comm)
{
    return mapping_run_forward(mapping_call_with_rows(
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
        mapping_call_with_rows(MAPPING_REDUCE_SCATTER_TO_SP, input, output,
                               rows, comm),
        out_op);
}

enum hoop_status
hoop_reduce_scatter_to_sp_backward(const struct hoop_tensor *output_grad,
                                   struct hoop_tensor *input_grad,
                                   const struct hoop_rows *rows,
                                   hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_with_rows(
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
        mapping_call_with_rows(MAPPING_REDUCE_SCATTER_TO_SP, output_grad,
                               input_grad, rows, comm),
        out_op);
}
