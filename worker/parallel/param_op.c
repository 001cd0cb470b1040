/*
 * parallel/param_op.c - performs an operation with the hooks around it
 *
 * All operands are checked before any callback is called.
 */

#include <stdlib.h>
#include <string.h>

#include "hoop/parameter.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "parallel/op_override.h"
#include "parallel/param_hooks.h"
#include "parallel/param_operands.h"

/* The forward or the backward of an operation. */
struct pass {
    const struct hoop_param_op *op;
    const char *name; /* "forward" or "backward" */
    struct op_work work;
    enum param_phase pre;
    enum param_phase post;
};

static enum hoop_status
pass_work(const struct pass *pass)
{
    error_clear();
    const enum hoop_status status = pass->work.call(pass->op, pass->work.owner);
    if (status != HOOP_OK)
        return param_callback_failed(status, pass->name, pass->op->name);
    return HOOP_OK;
}

static enum hoop_status
pass_with_hooks(const struct pass *pass, size_t n_params)
{
    const struct hoop_param_op *op = pass->op;
    CLEANUP(free)
    struct hoop_param **params = calloc(n_params, sizeof(struct hoop_param *));

    if (!params)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu operands",
                           n_params);
    param_operands_list(op->operands, op->n_operands, params);
    const struct hoop_param_list list = {n_params, params};
    enum hoop_status status = param_hooks_call(pass->pre, &list, op->name);
    if (status == HOOP_OK)
        status = pass_work(pass);
    if (status == HOOP_OK)
        status = param_hooks_call(pass->post, &list, op->name);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
is_internal(const struct hoop_param_op *op)
{
    return op->name && strncmp(op->name, "__", 2) == 0;
}

static enum hoop_status
op_count(const struct hoop_param_op *op, struct param_counts *out_counts)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!op)
        return error_raise(HOOP_E_INVALID, "op is NULL");
    const enum hoop_status status =
        param_operands_count(op->operands, op->n_operands, out_counts);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* n_params is the number of parameters for the hooks; 0: call no hooks. */
static enum hoop_status
pass_run(const struct pass *pass, size_t n_params)
{
    if (!pass->work.call)
        return error_raise(HOOP_E_INVALID, "operation \"%s\" has no %s",
                           pass->op->name ? pass->op->name : "", pass->name);
    const bool is_hooked =
        n_params > 0 && param_hooks_active() && !is_internal(pass->op);
    const enum hoop_status status =
        is_hooked ? pass_with_hooks(pass, n_params) : pass_work(pass);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_param_op_forward(const struct hoop_param_op *op)
{
    struct param_counts census;
    enum hoop_status status = op_count(op, &census);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct pass pass = {
        .op = op,
        .name = "forward",
        .work = census.n_tensors > 0 ? op_override_forward(op)
                                     : (struct op_work){op->forward, op->owner},
        .pre = PARAM_PRE_FORWARD,
        .post = PARAM_POST_FORWARD,
    };
    status = pass_run(&pass, census.n_params);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_param_op_backward(const struct hoop_param_op *op)
{
    struct param_counts census;
    enum hoop_status status = op_count(op, &census);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct pass pass = {
        .op = op,
        .name = "backward",
        .work = census.n_tensors > 0
                    ? op_override_backward(op)
                    : (struct op_work){op->backward, op->owner},
        .pre = PARAM_PRE_BACKWARD,
        .post = PARAM_POST_BACKWARD,
    };
    status = pass_run(&pass, census.n_need_grads > 0 ? census.n_params : 0);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
