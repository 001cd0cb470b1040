/*
 * parallel/param_op.c - an operation, with the hooks around it
 *
 * All that can be wrong with the operands is found before anything is called.
 */

#include <stdlib.h>
#include <string.h>

#include "hoop/parameter.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "parallel/op_override.h"
#include "parallel/param_hooks.h"
#include "parallel/param_operands.h"

/* One direction of an operation. */
struct passage {
    const struct hoop_param_op *op;
    const char *name; /* of the direction */
    struct op_work work;
    enum param_phase pre;
    enum param_phase post;
};

static enum hoop_status
passage_work(const struct passage *passage)
{
    error_clear();
    const enum hoop_status status =
        passage->work.call(passage->op, passage->work.owner);
    if (status != HOOP_OK)
        return param_callback_failed(status, passage->name, passage->op->name);
    return HOOP_OK;
}

static enum hoop_status
passage_hooked(const struct passage *passage, size_t n_params)
{
    const struct hoop_param_op *op = passage->op;
    CLEANUP(free)
    struct hoop_param **params = calloc(n_params, sizeof(struct hoop_param *));

    if (!params)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu operands",
                           n_params);
    param_operands_list(op->operands, op->n_operands, params);
    const struct hoop_param_list list = {n_params, params};
    enum hoop_status status = param_hooks_call(passage->pre, &list, op->name);
    if (status == HOOP_OK)
        status = passage_work(passage);
    if (status == HOOP_OK)
        status = param_hooks_call(passage->post, &list, op->name);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
is_internal(const struct hoop_param_op *op)
{
    return op->name && strncmp(op->name, "__", 2) == 0;
}

static enum hoop_status
op_count(const struct hoop_param_op *op, struct param_census *out_census)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!op)
        return error_raise(HOOP_E_INVALID, "op is NULL");
    const enum hoop_status status =
        param_operands_count(op->operands, op->n_operands, out_census);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* n_params: for the hooks; 0: none are called. */
static enum hoop_status
passage_run(const struct passage *passage, size_t n_params)
{
    if (!passage->work.call)
        return error_raise(HOOP_E_INVALID, "operation \"%s\" has no %s",
                           passage->op->name ? passage->op->name : "",
                           passage->name);
    const bool is_hooked =
        n_params > 0 && param_hooks_active() && !is_internal(passage->op);
    const enum hoop_status status =
        is_hooked ? passage_hooked(passage, n_params) : passage_work(passage);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_param_op_forward(const struct hoop_param_op *op)
{
    struct param_census census;
    enum hoop_status status = op_count(op, &census);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct passage passage = {
        .op = op,
        .name = "forward",
        .work = census.n_tensors > 0 ? op_override_forward(op)
                                     : (struct op_work){op->forward, op->owner},
        .pre = PARAM_PRE_FORWARD,
        .post = PARAM_POST_FORWARD,
    };
    status = passage_run(&passage, census.n_params);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_param_op_backward(const struct hoop_param_op *op)
{
    struct param_census census;
    enum hoop_status status = op_count(op, &census);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct passage passage = {
        .op = op,
        .name = "backward",
        .work = census.n_tensors > 0
                    ? op_override_backward(op)
                    : (struct op_work){op->backward, op->owner},
        .pre = PARAM_PRE_BACKWARD,
        .post = PARAM_POST_BACKWARD,
    };
    status =
        passage_run(&passage, census.n_need_grads > 0 ? census.n_params : 0);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
