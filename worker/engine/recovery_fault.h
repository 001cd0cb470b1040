/*
 * engine/recovery_fault.h - fault injection during a recovery
 *
 * Shrinking, agreeing and growing are not operations of the engine, but ranks
 * die in them, too. HOOP_DEBUG_FAULT knows them as "shrink", "agree" and
 * "grow": at=begin acts before anything else, at=send before the coordinator is
 * asked, at=receive when it has decided, at=end before the caller knows. A
 * shrink asks the coordinator twice, the second time for all ranks to confirm:
 * segment=2. round=2 is its second attempt.
 */

#ifndef ENGINE_RECOVERY_FAULT_H
#define ENGINE_RECOVERY_FAULT_H

#include <stdbool.h>
#include <stdint.h>

#include "fault/fault_rule.h"

struct engine;

/* Returns whether HOOP_DEBUG_FAULT knows a call of that name: an operation or
 * one of the recoveries. */
bool
recovery_fault_exists(const char *name);

/* A recovery begins: returns the rules that apply to it, as bits. 0: none.
 * Thread: any. */
uint32_t
recovery_fault_begin(struct engine *engine, const char *name);

/* Trigger the rules that act at point. round counts from 1. Thread: any. */
void
recovery_fault_inject(struct engine *engine,
                      uint32_t rules,
                      enum fault_point point,
                      uint64_t round);

#endif
