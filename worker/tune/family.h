/* tune/family.h - of which collective of the catalogue a call is a form */

#ifndef TUNE_FAMILY_H
#define TUNE_FAMILY_H

#include <stdbool.h>

#include "engine/call.h"
#include "plan/catalog.h"

/* name is a collective. */
enum catalog_collective
family_of(enum call_name name);

/* Blocks may differ in size: algorithms for even ones do not suit. */
bool
family_is_uneven(enum call_name name);

#endif
