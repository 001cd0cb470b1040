/*
 * parameters/param_hooks.h - the hooks that are active in this thread
 *
 * The innermost scope has the active hooks; hoop/parameter.h tells how scopes
 * are opened and released.
 */

#ifndef PARAMETERS_PARAM_HOOKS_H
#define PARAMETERS_PARAM_HOOKS_H

#include "hoop/parameter.h"

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

/* Raises the failure of a callback as "WHAT of operation "NAME": TEXT". TEXT is
 * the callback's last error, or the name of the status. Returns status. */
enum hoop_status
param_callback_raise(enum hoop_status status,
                     const char *what,
                     const char *name);

#endif
