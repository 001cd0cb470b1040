/*
 * parameters/param_hooks.c - the hooks that are active in this thread
 *
 * Scopes are memory of the caller, in a list that starts at the innermost. A
 * call uses the hooks that were active when it began, whatever they change.
 */

#include "parameters/param_hooks.h"

#include "base/error.h"

static _Thread_local struct hoop_param_hooks *innermost;

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

static const char *
param_phase_name(enum param_phase phase)
{
    switch (phase) {
    case PARAM_PRE_FORWARD:
        return "pre_forward";
    case PARAM_POST_FORWARD:
        return "post_forward";
    case PARAM_PRE_BACKWARD:
        return "pre_backward";
    case PARAM_POST_BACKWARD:
        return "post_backward";
    }
    return "";
}

static hoop_param_hook_fn *
hook_callback_for_phase(const hoop_param_hook_t *hook, enum param_phase phase)
{
    switch (phase) {
    case PARAM_PRE_FORWARD:
        return hook->pre_forward;
    case PARAM_POST_FORWARD:
        return hook->post_forward;
    case PARAM_PRE_BACKWARD:
        return hook->pre_backward;
    case PARAM_POST_BACKWARD:
        return hook->post_backward;
    }
    return NULL;
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
            return param_callback_raise(status, param_phase_name(phase), name);
    }
    return HOOP_OK;
}

enum hoop_status
param_callback_raise(enum hoop_status status,
                     const char *what,
                     const char *name)
{
    const char *text = *error_text() ? error_text() : hoop_status_name(status);

    return error_raise(status, "%s of operation \"%s\": %s", what,
                       name ? name : "", text);
}
