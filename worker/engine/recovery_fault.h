/*
 * engine/recovery_fault.h - faults in the middle of a recovery
 *
 * Shrinking, agreeing and growing are no operations of the engine, and ranks die
 * in them, too. HOOP_DEBUG_FAULT knows them as "shrink", "agree" and "grow": at=begin,
 * before anything; at=send, before the coordinator is asked; at=receive, when it
 * has decided; at=end, before the caller knows. A shrink asks twice, also for all
 * to confirm: segment=2. round=2 is its second try.
 */

#ifndef ENGINE_RECOVERY_FAULT_H
#define ENGINE_RECOVERY_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "fault/fault_rule.h"

struct engine;

/* Whether HOOP_DEBUG_FAULT knows a call of that name, an operation or one of these. */
bool
recovery_fault_exists(const char *name);

/* One of these begins: which rules are about it, as bits. 0: none. Thread: any. */
uint32_t
recovery_fault_begin(struct engine *engine, const char *name);

/* What is to happen to the process, does. round is counted from 1. Thread: any. */
void
recovery_fault_inject(struct engine *engine,
                      uint32_t rules,
                      enum fault_point point,
                      uint64_t round);

#endif
