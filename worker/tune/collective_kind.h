/* tune/collective_kind.h - the registry's collective that a call belongs to */

#ifndef TUNE_COLLECTIVE_KIND_H
#define TUNE_COLLECTIVE_KIND_H

#include <stdbool.h>

#include "engine/call.h"
#include "plan/registry.h"

/* name must be a collective. */
enum collective_kind
collective_kind_of(enum call_name name);

/* Can the blocks of this call differ in size? Then algorithms for even blocks
 * cannot be used. */
bool
collective_has_uneven_blocks(enum call_name name);

#endif
