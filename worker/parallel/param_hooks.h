/*
 * parallel/param_hooks.h - the hooks that are active in this thread
 *
 * The innermost scope has them; hoop/parameter.h says who opens and releases.
 */

#ifndef PARALLEL_PARAM_HOOKS_H
#define PARALLEL_PARAM_HOOKS_H

#include "hoop/parameter.h"

enum param_phase {
    PARAM_PRE_FORWARD,
    PARAM_POST_FORWARD,
    PARAM_PRE_BACKWARD,
    PARAM_POST_BACKWARD,
};

/* Whether there are any. */
bool
param_hooks_active(void);

/* Calls those active at its beginning, in their order, up to the first that
 * fails, of operation name. Handle: whatever they return. */
enum hoop_status
param_hooks_call(enum param_phase phase,
                 const struct hoop_param_list *params,
                 const char *name);

/* The text of what a callback returned, who said more or nothing about it:
 * "WHAT of operation "NAME": ...". Returns status. */
enum hoop_status
param_callback_failed(enum hoop_status status,
                      const char *what,
                      const char *name);

#endif
