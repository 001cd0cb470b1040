/*
 * plan/checker_shm_run.h - all ranks of a shared-memory collective, out of step
 *
 * As plan/checker_run.h, for plans without messages: who moves is random, how far
 * too, and in some schedules one rank moves only when nobody else can.
 */

#ifndef PLAN_CHECKER_SHM_RUN_H
#define PLAN_CHECKER_SHM_RUN_H

#include "hoop/status.h"

#include "plan/checker.h"

/* All schedules of a case. Handle: HOOP_E_INTERNAL (the plan is wrong). */
enum hoop_status
checker_shm_run_verify(const struct checker_case *scenario);

#endif
