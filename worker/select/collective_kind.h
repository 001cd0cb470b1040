/* select/collective_kind.h - the registry's collective that a call belongs to */

#ifndef SELECT_COLLECTIVE_KIND_H
#define SELECT_COLLECTIVE_KIND_H

#include <stdbool.h>

#include "algorithms/registry.h"
#include "engine/call.h"

/* name must be a collective. */
enum collective_kind
collective_kind_of(enum call_name name);

/* Can the blocks of this call differ in size? Then algorithms for even blocks
 * cannot be used. */
bool
collective_has_uneven_blocks(enum call_name name);

#endif
