/*
 * parameters/param_op.c - performs an operation with the hooks around it
 *
 * Hooks and replacements of operations are lists of the calling thread. An
 * operation collects its operands and checks all of them before any callback is
 * called. It then calls the hooks of the thread's scopes around the callback of
 * the newest replacement, or around its own.
 */

#include "parameters/param_op.h"

#include <stdlib.h>
#include <string.h>

#include "hoop/parameter.h"

#include "base/cleanup.h"
#include "base/error.h"

/*
 * The hooks that are active in this thread.
 *
 * Scopes are memory of the caller, in a list that starts at the innermost. A
 * call uses the hooks that were active when it began, whatever they change.
 */

static _Thread_local struct hoop_param_hooks *innermost;

/* Raises the failure of a callback as "WHAT of operation "NAME": TEXT". TEXT is
 * the callback's last error, or the name of the status. Returns status. */
static enum hoop_status
param_callback_raise(enum hoop_status status,
                     const char *what,
                     const char *name)
{
    const char *text = *error_text() ? error_text() : hoop_status_name(status);

    return error_raise(status, "%s of operation \"%s\": %s", what,
                       name ? name : "", text);
}

/* Returns how many scopes of this thread are inside scope, or SIZE_MAX if scope
 * is not in use. */
static size_t
hook_scopes_inside_count(const struct hoop_param_hooks *scope)
{
    size_t n_within = 0;

    for (const struct hoop_param_hooks *at = innermost; at; at = at->outer) {
        if (at == scope)
            return n_within;
        n_within++;
    }
    return SIZE_MAX;
}

enum hoop_status
hoop_param_hooks_use(struct hoop_param_hooks *scope,
                     const hoop_param_hook_t *const *hooks,
                     size_t n_hooks)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!scope || (!hooks && n_hooks > 0))
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           scope ? "hooks" : "scope");
    for (size_t i = 0; i < n_hooks; i++) {
        if (!hooks[i])
            return error_raise(HOOP_E_INVALID, "hooks[%zu] is NULL", i);
    }
    if (hook_scopes_inside_count(scope) != SIZE_MAX)
        return error_raise(HOOP_E_PRECONDITION,
                           "the scope is in use: release it first");
    *scope = (struct hoop_param_hooks){hooks, n_hooks, innermost};
    innermost = scope;
    return HOOP_OK;
}

enum hoop_status
hoop_param_hooks_release(struct hoop_param_hooks *scope)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!scope)
        return error_raise(HOOP_E_INVALID, "scope is NULL");
    const size_t n_within = hook_scopes_inside_count(scope);
    if (n_within == SIZE_MAX)
        return error_raise(HOOP_E_PRECONDITION,
                           "the scope is not in use on this thread");
    if (n_within > 0)
        return error_raise(HOOP_E_PRECONDITION,
                           "wrong order: %zu used after this scope must be "
                           "released before it",
                           n_within);
    innermost = scope->outer;
    return HOOP_OK;
}

bool
param_hooks_are_active(void)
{
    return innermost && innermost->n_hooks > 0;
}

static const char *const phase_names[] = {
    [PARAM_PRE_FORWARD] = "pre_forward",
    [PARAM_POST_FORWARD] = "post_forward",
    [PARAM_PRE_BACKWARD] = "pre_backward",
    [PARAM_POST_BACKWARD] = "post_backward",
};

static hoop_param_hook_fn *
hook_callback_for_phase(const hoop_param_hook_t *hook, enum param_phase phase)
{
    hoop_param_hook_fn *const callbacks[] = {
        [PARAM_PRE_FORWARD] = hook->pre_forward,
        [PARAM_POST_FORWARD] = hook->post_forward,
        [PARAM_PRE_BACKWARD] = hook->pre_backward,
        [PARAM_POST_BACKWARD] = hook->post_backward,
    };

    return callbacks[phase];
}

enum hoop_status
param_hooks_call(enum param_phase phase,
                 const struct hoop_param_list *params,
                 const char *name)
{
    const size_t n_hooks = innermost ? innermost->n_hooks : 0;
    const hoop_param_hook_t *const *hooks = n_hooks ? innermost->hooks : NULL;

    for (size_t i = 0; i < n_hooks; i++) {
        hoop_param_hook_fn *call = hook_callback_for_phase(hooks[i], phase);

        if (!call)
            continue;
        error_clear();
        const enum hoop_status status = call(params, hooks[i]->owner);
        if (status != HOOP_OK)
            return param_callback_raise(status, phase_names[phase], name);
    }
    return HOOP_OK;
}

/* The tensors among an operation's operands. */

/* Adds the operands to *counts. depth is how many lists they are nested in. */
static enum hoop_status
operands_count_nested(const struct hoop_operand *operands,
                      size_t n_operands,
                      uint32_t depth,
                      struct param_operand_counts *counts)
{
    if (n_operands > 0 && !operands)
        return error_raise(HOOP_E_INVALID, "%zu operands, but they are NULL",
                           n_operands);
    if (depth > HOOP_MAX_NESTING)
        return error_raise(HOOP_E_INVALID,
                           "operands lie in more than %d lists of lists",
                           HOOP_MAX_NESTING);
    for (size_t i = 0; i < n_operands; i++) {
        const struct hoop_operand *operand = &operands[i];

        if (operand->param && (operand->items || operand->n_items > 0))
            return error_raise(HOOP_E_INVALID,
                               "operand %zu is both a tensor and a list", i);
        if (!operand->param && operand->n_items > 0) {
            const enum hoop_status status = operands_count_nested(
                operand->items, operand->n_items, depth + 1, counts);

            if (status != HOOP_OK)
                return error_pass(status);
        }
        if (!operand->param)
            continue;
        counts->n_tensors++;
        counts->n_params += operand->param->kind == HOOP_PARAM_MODEL;
        counts->n_requiring_grad += operand->param->requires_grad;
    }
    return HOOP_OK;
}

enum hoop_status
param_operands_check_count(const struct hoop_operand *operands,
                           size_t n_operands,
                           struct param_operand_counts *out_counts)
{
    struct param_operand_counts counts = {0};
    const enum hoop_status status =
        operands_count_nested(operands, n_operands, 0, &counts);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_counts = counts;
    return HOOP_OK;
}

size_t
param_operands_collect(const struct hoop_operand *operands,
                       size_t n_operands,
                       struct hoop_param **params)
{
    size_t n = 0;

    for (size_t i = 0; i < n_operands; i++) {
        struct hoop_param *param = operands[i].param;

        if (!param)
            n += param_operands_collect(operands[i].items, operands[i].n_items,
                                        params + n);
        else if (param->kind == HOOP_PARAM_MODEL)
            params[n++] = param;
    }
    return n;
}

/*
 * Which callback performs an operation in this thread.
 *
 * Replacements are memory of the caller, in a list that starts at the
 * newest.
 */

static _Thread_local struct hoop_op_replacement *newest;

/* Returns the pointer in the list that points to replacement. It points to NULL
 * if replacement is not in the list. */
static struct hoop_op_replacement **
op_replacement_link_find(const struct hoop_op_replacement *replacement)
{
    struct hoop_op_replacement **link = &newest;

    while (*link && *link != replacement)
        link = &(*link)->older;
    return link;
}

enum hoop_status
hoop_op_override(struct hoop_op_replacement *replacement)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!replacement)
        return error_raise(HOOP_E_INVALID, "replacement is NULL");
    if (!replacement->name || !*replacement->name)
        return error_raise(HOOP_E_INVALID, "replacement names no operation");
    if (*op_replacement_link_find(replacement))
        return error_raise(
            HOOP_E_PRECONDITION,
            "this replacement of \"%s\" is in use: release it first",
            replacement->name);
    replacement->older = newest;
    newest = replacement;
    return HOOP_OK;
}

enum hoop_status
hoop_op_override_release(struct hoop_op_replacement *replacement)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!replacement)
        return error_raise(HOOP_E_INVALID, "replacement is NULL");
    struct hoop_op_replacement **link = op_replacement_link_find(replacement);
    if (!*link)
        return error_raise(HOOP_E_PRECONDITION,
                           "the replacement is not in use on this thread");
    *link = replacement->older;
    return HOOP_OK;
}

static bool
is_replacement_of_op(const struct hoop_op_replacement *replacement,
                     const struct hoop_param_op *op)
{
    return op->name && strcmp(replacement->name, op->name) == 0;
}

struct param_op_callback
op_override_find(const struct hoop_param_op *op, enum param_direction direction)
{
    const bool is_forward = direction == PARAM_FORWARD;

    for (const struct hoop_op_replacement *at = newest; at; at = at->older) {
        hoop_param_op_fn *call = is_forward ? at->forward : at->backward;

        if (call && is_replacement_of_op(at, op))
            return (struct param_op_callback){call, at->owner};
    }
    return (struct param_op_callback){is_forward ? op->forward : op->backward,
                                      op->owner};
}

/* The forward or the backward of an operation. */
struct param_op_pass {
    const struct hoop_param_op *op;
    enum param_direction direction;
    struct param_op_callback work;
};

static const struct {
    const char *name;
    enum param_phase pre;
    enum param_phase post;
} directions[] = {
    [PARAM_FORWARD] = {"forward", PARAM_PRE_FORWARD, PARAM_POST_FORWARD},
    [PARAM_BACKWARD] = {"backward", PARAM_PRE_BACKWARD, PARAM_POST_BACKWARD},
};

static enum hoop_status
op_pass_call_work(const struct param_op_pass *param_op_pass)
{
    error_clear();
    const enum hoop_status status =
        param_op_pass->work.call(param_op_pass->op, param_op_pass->work.owner);
    if (status != HOOP_OK)
        return param_callback_raise(status,
                                    directions[param_op_pass->direction].name,
                                    param_op_pass->op->name);
    return HOOP_OK;
}

static enum hoop_status
op_pass_run_with_hooks(const struct param_op_pass *param_op_pass,
                       size_t n_params)
{
    const struct hoop_param_op *op = param_op_pass->op;
    CLEANUP(free)
    struct hoop_param **params = calloc(n_params, sizeof(struct hoop_param *));

    if (!params)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu operands",
                           n_params);
    param_operands_collect(op->operands, op->n_operands, params);
    const struct hoop_param_list list = {n_params, params};
    enum hoop_status status = param_hooks_call(
        directions[param_op_pass->direction].pre, &list, op->name);
    if (status == HOOP_OK)
        status = op_pass_call_work(param_op_pass);
    if (status == HOOP_OK)
        status = param_hooks_call(directions[param_op_pass->direction].post,
                                  &list, op->name);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
param_op_is_internal(const struct hoop_param_op *op)
{
    return op->name && strncmp(op->name, "__", 2) == 0;
}

/* n_params is the number of parameters for the hooks; 0: call no hooks. */
static enum hoop_status
op_pass_run(const struct param_op_pass *param_op_pass, size_t n_params)
{
    if (!param_op_pass->work.call)
        return error_raise(HOOP_E_INVALID, "operation \"%s\" has no %s",
                           param_op_pass->op->name ? param_op_pass->op->name
                                                   : "",
                           directions[param_op_pass->direction].name);
    const bool is_hooked = n_params > 0 && param_hooks_are_active() &&
                           !param_op_is_internal(param_op_pass->op);
    const enum hoop_status status =
        is_hooked ? op_pass_run_with_hooks(param_op_pass, n_params)
                  : op_pass_call_work(param_op_pass);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
param_op_run(const struct hoop_param_op *op, enum param_direction direction)
{
    struct param_operand_counts counts;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!op)
        return error_raise(HOOP_E_INVALID, "op is NULL");
    enum hoop_status status =
        param_operands_check_count(op->operands, op->n_operands, &counts);
    if (status != HOOP_OK)
        return error_pass(status);
    struct param_op_pass param_op_pass = {
        .op = op,
        .direction = direction,
        .work = {direction == PARAM_FORWARD ? op->forward : op->backward,
                 op->owner},
    };
    if (counts.n_tensors > 0)
        param_op_pass.work = op_override_find(op, direction);
    if (direction == PARAM_BACKWARD && counts.n_requiring_grad == 0)
        counts.n_params = 0;
    status = op_pass_run(&param_op_pass, counts.n_params);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_param_op_forward(const struct hoop_param_op *op)
{
    return param_op_run(op, PARAM_FORWARD);
}

enum hoop_status
hoop_param_op_backward(const struct hoop_param_op *op)
{
    return param_op_run(op, PARAM_BACKWARD);
}
