/*
 * tensor_parallel/mappings_exchange.c - public mappings that exchange between all
 * ranks
 *
 * Each function names its mapping; tensor_parallel/mapping.c does the rest.
 */

#include "tensor_parallel/mapping.h"

static struct mapping_call
mapping_call_with_splits(enum mapping mapping,
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
    return mapping_run_forward(mapping_call_with_splits(
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
        mapping_call_with_splits(MAPPING_ALL_TO_ALL_ROWS, input, output, splits,
                                 comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_rows_backward(const struct hoop_tensor *output_grad,
                              struct hoop_tensor *input_grad,
                              const struct hoop_row_splits *splits,
                              hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_with_splits(
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
        mapping_call_with_splits(MAPPING_ALL_TO_ALL_ROWS, output_grad,
                                 input_grad, splits, comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_sp2hp_forward(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm)
{
    return mapping_run_forward(
        mapping_call_with_splits(MAPPING_SP2HP, input, output, NULL, comm));
}

enum hoop_status
hoop_all_to_all_sp2hp_forward_start(const struct hoop_tensor *input,
                                    struct hoop_tensor *output,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_with_splits(MAPPING_SP2HP, input, output, NULL, comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_sp2hp_backward(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_with_splits(
        MAPPING_SP2HP, output_grad, input_grad, NULL, comm));
}

enum hoop_status
hoop_all_to_all_sp2hp_backward_start(const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *input_grad,
                                     hoop_comm_t *comm,
                                     hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_with_splits(MAPPING_SP2HP, output_grad, input_grad, NULL,
                                 comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_hp2sp_forward(const struct hoop_tensor *input,
                              struct hoop_tensor *output,
                              hoop_comm_t *comm)
{
    return mapping_run_forward(
        mapping_call_with_splits(MAPPING_HP2SP, input, output, NULL, comm));
}

enum hoop_status
hoop_all_to_all_hp2sp_forward_start(const struct hoop_tensor *input,
                                    struct hoop_tensor *output,
                                    hoop_comm_t *comm,
                                    hoop_op_t **out_op)
{
    return mapping_start_forward(
        mapping_call_with_splits(MAPPING_HP2SP, input, output, NULL, comm),
        out_op);
}

enum hoop_status
hoop_all_to_all_hp2sp_backward(const struct hoop_tensor *output_grad,
                               struct hoop_tensor *input_grad,
                               hoop_comm_t *comm)
{
    return mapping_run_backward(mapping_call_with_splits(
        MAPPING_HP2SP, output_grad, input_grad, NULL, comm));
}

enum hoop_status
hoop_all_to_all_hp2sp_backward_start(const struct hoop_tensor *output_grad,
                                     struct hoop_tensor *input_grad,
                                     hoop_comm_t *comm,
                                     hoop_op_t **out_op)
{
    return mapping_start_backward(
        mapping_call_with_splits(MAPPING_HP2SP, output_grad, input_grad, NULL,
                                 comm),
        out_op);
}
