/*
 * parameters/op_override.h - which callback performs an operation in this thread
 */

#ifndef PARAMETERS_OP_OVERRIDE_H
#define PARAMETERS_OP_OVERRIDE_H

#include "hoop/parameter.h"

/* A callback and its argument; call is NULL if there is none. */
struct op_callback {
    hoop_param_op_fn *call;
    void *owner;
};

/* Return the callback of the newest replacement of op's name that has one, or
 * else op's own. */
struct op_callback
op_override_find_forward(const struct hoop_param_op *op);
struct op_callback
op_override_find_backward(const struct hoop_param_op *op);

#endif
