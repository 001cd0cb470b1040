/*
 * parameters/op_override.c - which callback performs an operation in this thread
 *
 * Replacements are memory of the caller, in a list that starts at the newest.
 */

#include "parameters/op_override.h"

#include <string.h>

#include "base/error.h"

static _Thread_local struct hoop_op_replacement *newest;

/* Returns the pointer in the list that points to replacement. It points to NULL
 * if replacement is not in the list. */
static struct hoop_op_replacement **
replacement_link_find(const struct hoop_op_replacement *replacement)
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
    if (*replacement_link_find(replacement))
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
    struct hoop_op_replacement **link = replacement_link_find(replacement);
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

struct op_callback
op_override_find_forward(const struct hoop_param_op *op)
{
    for (const struct hoop_op_replacement *at = newest; at; at = at->older) {
        if (at->forward && is_replacement_of_op(at, op))
            return (struct op_callback){at->forward, at->owner};
    }
    return (struct op_callback){op->forward, op->owner};
}

struct op_callback
op_override_find_backward(const struct hoop_param_op *op)
{
    for (const struct hoop_op_replacement *at = newest; at; at = at->older) {
        if (at->backward && is_replacement_of_op(at, op))
            return (struct op_callback){at->backward, at->owner};
    }
    return (struct op_callback){op->backward, op->owner};
}
