/*
 * pipeline/schedule/deadlock_check.h - runs all stages' lists under the strictest rule
 *
 * The check executes all lists as synchronous message passing: a stage does one
 * task at a time, a send blocks until the other stage reaches the matching
 * receive, and a receive blocks until its send. If this execution ends, no
 * execution that waits less can deadlock, for example one that starts receives
 * earlier or does not wait for its sends.
 */

#ifndef PIPELINE_SCHEDULE_DEADLOCK_CHECK_H
#define PIPELINE_SCHEDULE_DEADLOCK_CHECK_H

#include "hoop/schedule.h"
#include "hoop/status.h"

/* Runs the lists of all stages to their end, or finds the stage that waits
 * for ever. The caller has passed each list through stage_check_run().
 * Handle: HOOP_E_INTERNAL (deadlock), HOOP_E_EXHAUSTED. */
enum hoop_status
deadlock_check_run(const struct hoop_schedule *schedule);

#endif
