/*
 * tests/checker/checker_shm_run.h - runs all ranks of a shared-memory plan randomly
 *
 * Like checker/checker_run.h, but for plans without messages. A schedule chooses
 * at random which rank moves and how far; in some schedules one rank moves only
 * when no other rank can.
 */

#ifndef CHECKER_CHECKER_SHM_RUN_H
#define CHECKER_CHECKER_SHM_RUN_H

#include "hoop/status.h"

#include "checker/checker.h"

/* Run all schedules of a case. Handle: HOOP_E_INTERNAL (the plan is wrong). */
enum hoop_status
checker_shm_run_verify_algorithm(const struct checker_case *scenario);

#endif
