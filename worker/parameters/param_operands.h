/*
 * parameters/param_operands.h - the tensors among an operation's operands
 *
 * The functions are pure. Nested lists are visited in order.
 */

#ifndef PARAMETERS_PARAM_OPERANDS_H
#define PARAMETERS_PARAM_OPERANDS_H

#include "hoop/parameter.h"

struct param_counts {
    size_t n_tensors;
    size_t n_params;     /* tensors that are parameters */
    size_t n_need_grads; /* tensors that require a gradient */
};

/* Checks and counts the operands.
 * Handle: HOOP_E_INVALID (as hoop_param_op_forward()). */
enum hoop_status
param_operands_check_count(const struct hoop_operand *operands,
                           size_t n_operands,
                           struct param_counts *out_counts);

/* Writes the parameters among operands that have been counted to params, which
 * has room for them. Returns their number. */
size_t
param_operands_collect(const struct hoop_operand *operands,
                       size_t n_operands,
                       struct hoop_param **params);

#endif
