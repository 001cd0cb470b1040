/*
 * schedule/stage_check.h - what one stage's list says, taken alone
 *
 * Every task once, none that is another's, each behind what it needs on its own
 * stage, micro-batches of a chunk in rising order, and no more activations
 * kept than the kind promises. That holds however the list is executed.
 */

#ifndef SCHEDULE_STAGE_CHECK_H
#define SCHEDULE_STAGE_CHECK_H

#include "hoop/schedule.h"
#include "hoop/status.h"

/* *out_n_live: activations that the stage keeps at a time, at most.
 * Handle: HOOP_E_INTERNAL, HOOP_E_EXHAUSTED. */
enum hoop_status
stage_check_run(const struct hoop_schedule *schedule,
                uint32_t stage,
                uint32_t *out_n_live);

#endif
