/*
 * pipeline/schedule/stage_check.h - checks the list of one stage by itself
 *
 * The list must contain every task of the stage once and none of another stage.
 * Each task must come after those that it needs on the same stage, and the
 * micro-batches of a chunk must come in rising order. The stage must hold no
 * more activations than its kind promises. These properties do not depend on
 * how the list is executed.
 */

#ifndef PIPELINE_SCHEDULE_STAGE_CHECK_H
#define PIPELINE_SCHEDULE_STAGE_CHECK_H

#include "hoop/schedule.h"
#include "hoop/status.h"

/* Checks the list of one stage. *out_n_live is set to the largest number of
 * activations that the stage holds at a time.
 * Handle: HOOP_E_INTERNAL (the list is wrong), HOOP_E_EXHAUSTED. */
enum hoop_status
stage_check_run(const struct hoop_schedule *schedule,
                uint32_t stage,
                uint32_t *out_n_live);

#endif
