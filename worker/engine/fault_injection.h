/*
 * engine/fault_injection.h - the faults of HOOP_DEBUG_FAULT that calls trigger
 *
 * Private to engine/.
 */

#ifndef ENGINE_FAULT_INJECTION_H
#define ENGINE_FAULT_INJECTION_H

#include <stdint.h>

#include "engine/call.h"
#include "engine/state.h"
#include "fault/fault.h"

/* Returns which fault rules apply to a call, and triggers those that act before
 * it begins. The caller of the call does this, without owning progress. */
static inline uint32_t
faults_of_call(const struct engine *engine, enum call_name name)
{
    return FAULT_IS_BUILT && engine->faults
               ? faults_begin(engine->faults, call_name_to_string(name))
               : 0;
}

/* Trigger the process faults of op at point; round counts from 0. */
void
op_inject_fault(const struct op *op, enum fault_point point, uint32_t round);

#endif
