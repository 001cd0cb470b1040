/*
 * plan/flat_rehearsal.h - all ranks of a flat collective, out of step
 *
 * As plan/rehearsal.h, for plans without messages: who moves is random, how far
 * too, and in some schedules one rank moves only when nobody else can.
 */

#ifndef PLAN_FLAT_REHEARSAL_H
#define PLAN_FLAT_REHEARSAL_H

#include "hoop/status.h"

#include "plan/checker.h"

/* All schedules of a proof. Handle: HOOP_E_INTERNAL (the plan is wrong). */
enum hoop_status
flat_rehearsal_prove(const struct checker_case *proof);

#endif
