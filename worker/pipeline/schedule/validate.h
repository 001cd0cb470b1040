/*
 * pipeline/schedule/validate.h - checks the lists of stages
 *
 * The check for deadlocks executes all lists as synchronous message passing: a
 * stage does one task at a time, a send blocks until the other stage reaches
 * the matching receive, and a receive blocks until its send. If this execution
 * ends, no execution that waits less can deadlock, for example one that starts
 * receives earlier or does not wait for its sends.
 */

#ifndef PIPELINE_SCHEDULE_VALIDATE_H
#define PIPELINE_SCHEDULE_VALIDATE_H

#include "hoop/schedule.h"
#include "hoop/status.h"

/* Runs the lists of all stages to their end, or finds the stage that waits
 * for ever. The caller has passed each list through stage_check_run().
 * Handle: HOOP_E_INTERNAL (deadlock), HOOP_E_EXHAUSTED. */
enum hoop_status
deadlock_check_run(const struct hoop_schedule *schedule);

/*
 * The list of one stage must contain every task of the stage once and none of
 * another stage. Each task must come after those that it needs on the same
 * stage, and the micro-batches of a chunk must come in rising order. The stage
 * must hold no more activations than its kind promises. These properties do
 * not depend on how the list is executed.
 */

/* Checks the list of one stage. *out_n_live is set to the largest number of
 * activations that the stage holds at a time.
 * Handle: HOOP_E_INTERNAL (the list is wrong), HOOP_E_EXHAUSTED. */
enum hoop_status
stage_check_run(const struct hoop_schedule *schedule,
                uint32_t stage,
                uint32_t *out_n_live);

#endif
