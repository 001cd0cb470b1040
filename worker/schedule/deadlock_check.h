/*
 * schedule/deadlock_check.h - all stages' lists executed strictly, each send met
 *
 * The strictest rule of execution that there is: a stage does one task at a
 * time, a send waits until the other stage is at its receive, and a receive
 * waits for its send; a neighbour is at the receive of that very message, or
 * they never meet. Whoever waits less, by starting receives earlier, or by
 * waiting for sends later, or not at all, waits for ever in no case in which
 * this comes to its end.
 */

#ifndef SCHEDULE_DEADLOCK_CHECK_H
#define SCHEDULE_DEADLOCK_CHECK_H

#include "hoop/schedule.h"
#include "hoop/status.h"

/* Each stage's list has passed stage_check_run().
 * Handle: HOOP_E_INTERNAL, HOOP_E_EXHAUSTED. */
enum hoop_status
deadlock_check_run(const struct hoop_schedule *schedule);

#endif
