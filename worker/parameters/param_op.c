/*
 * parameters/param_op.c - performs an operation with the hooks around it
 *
 * All operands are checked before any callback is called.
 */

#include <stdlib.h>
#include <string.h>

#include "hoop/parameter.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "parameters/op_override.h"
#include "parameters/param_hooks.h"
#include "parameters/param_operands.h"

/* The forward or the backward of an operation. */
struct op_pass {
    const struct hoop_param_op *op;
    const char *name; /* "forward" or "backward" */
    struct op_callback work;
    enum param_phase pre;
    enum param_phase post;
};

static enum hoop_status
op_pass_call_work(const struct op_pass *op_pass)
{
    error_clear();
    const enum hoop_status status =
        op_pass->work.call(op_pass->op, op_pass->work.owner);
    if (status != HOOP_OK)
        return param_callback_raise(status, op_pass->name, op_pass->op->name);
    return HOOP_OK;
}

static enum hoop_status
op_pass_run_with_hooks(const struct op_pass *op_pass, size_t n_params)
{
    const struct hoop_param_op *op = op_pass->op;
    CLEANUP(free)
    struct hoop_param **params = calloc(n_params, sizeof(struct hoop_param *));

    if (!params)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu operands",
                           n_params);
    param_operands_collect(op->operands, op->n_operands, params);
    const struct hoop_param_list list = {n_params, params};
    enum hoop_status status = param_hooks_call(op_pass->pre, &list, op->name);
    if (status == HOOP_OK)
        status = op_pass_call_work(op_pass);
    if (status == HOOP_OK)
        status = param_hooks_call(op_pass->post, &list, op->name);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
param_op_is_internal(const struct hoop_param_op *op)
{
    return op->name && strncmp(op->name, "__", 2) == 0;
}

static enum hoop_status
param_op_count_params(const struct hoop_param_op *op,
                      struct param_counts *out_counts)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!op)
        return error_raise(HOOP_E_INVALID, "op is NULL");
    const enum hoop_status status =
        param_operands_check_count(op->operands, op->n_operands, out_counts);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* n_params is the number of parameters for the hooks; 0: call no hooks. */
static enum hoop_status
op_pass_run(const struct op_pass *op_pass, size_t n_params)
{
    if (!op_pass->work.call)
        return error_raise(HOOP_E_INVALID, "operation \"%s\" has no %s",
                           op_pass->op->name ? op_pass->op->name : "",
                           op_pass->name);
    const bool is_hooked = n_params > 0 && param_hooks_are_active() &&
                           !param_op_is_internal(op_pass->op);
    const enum hoop_status status =
        is_hooked ? op_pass_run_with_hooks(op_pass, n_params)
                  : op_pass_call_work(op_pass);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_param_op_forward(const struct hoop_param_op *op)
{
    struct param_counts counts;
    enum hoop_status status = param_op_count_params(op, &counts);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct op_pass op_pass = {
        .op = op,
        .name = "forward",
        .work = counts.n_tensors > 0
                    ? op_override_find_forward(op)
                    : (struct op_callback){op->forward, op->owner},
        .pre = PARAM_PRE_FORWARD,
        .post = PARAM_POST_FORWARD,
    };
    status = op_pass_run(&op_pass, counts.n_params);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_param_op_backward(const struct hoop_param_op *op)
{
    struct param_counts counts;
    enum hoop_status status = param_op_count_params(op, &counts);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct op_pass op_pass = {
        .op = op,
        .name = "backward",
        .work = counts.n_tensors > 0
                    ? op_override_find_backward(op)
                    : (struct op_callback){op->backward, op->owner},
        .pre = PARAM_PRE_BACKWARD,
        .post = PARAM_POST_BACKWARD,
    };
    status =
        op_pass_run(&op_pass, counts.n_need_grads > 0 ? counts.n_params : 0);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
