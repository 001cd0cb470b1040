/*
 * parameters/param_op.h - an operation's callback, its operands and its hooks
 */

#ifndef PARAMETERS_PARAM_OP_H
#define PARAMETERS_PARAM_OP_H

#include "hoop/parameter.h"

/* A callback and its argument; call is NULL if there is none. */
struct param_op_callback {
    hoop_param_op_fn *call;
    void *owner;
};

enum param_direction {
    PARAM_FORWARD,
    PARAM_BACKWARD,
};

/* Returns the callback of the newest replacement of op's name that has one, or
 * else op's own. */
struct param_op_callback
op_override_find(const struct hoop_param_op *op,
                 enum param_direction direction);

/* The functions on operands are pure. Nested lists are visited in order. */

struct param_operand_counts {
    size_t n_tensors;
    size_t n_params;         /* tensors that are parameters */
    size_t n_requiring_grad; /* tensors that require a gradient */
};

/* Checks and counts the operands.
 * Handle: HOOP_E_INVALID (as hoop_param_op_forward()). */
enum hoop_status
param_operands_check_count(const struct hoop_operand *operands,
                           size_t n_operands,
                           struct param_operand_counts *out_counts);

/* Writes the parameters among operands that have been counted to params, which
 * has room for them. Returns their number. */
size_t
param_operands_collect(const struct hoop_operand *operands,
                       size_t n_operands,
                       struct hoop_param **params);

/*
 * The innermost scope has the active hooks; hoop/parameter.h tells how
 * scopes are opened and released.
 */

enum param_phase {
    PARAM_PRE_FORWARD,
    PARAM_POST_FORWARD,
    PARAM_PRE_BACKWARD,
    PARAM_POST_BACKWARD,
};

/* Returns whether this thread has active hooks. */
bool
param_hooks_are_active(void);

/* Calls the hooks of a phase of operation name, in order, until one fails. Only
 * the hooks that are active when it begins are called.
 * Handle: whatever they return. */
enum hoop_status
param_hooks_call(enum param_phase phase,
                 const struct hoop_param_list *params,
                 const char *name);

#endif
