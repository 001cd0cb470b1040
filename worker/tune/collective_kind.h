/* tune/collective_kind.h - of which collective of the registry a call is a form */

#ifndef TUNE_COLLECTIVE_KIND_H
#define TUNE_COLLECTIVE_KIND_H

#include <stdbool.h>

#include "engine/call.h"
#include "plan/registry.h"

/* name is a collective. */
enum collective_kind
collective_kind_of(enum call_name name);

/* Blocks may differ in size: algorithms for even ones do not suit. */
bool
collective_kind_is_uneven(enum call_name name);

#endif
