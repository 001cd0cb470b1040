/*
 * schedule/messages.h - the sends and receives between what stages compute
 *
 * One order of everything that all stages do is made, and each stage's list is
 * its part of it: a send and its receive stand at one place of that order. So
 * a pipeline that executes its lists strictly, each send waiting for its
 * receive, goes through that order and cannot wait for itself, whatever the
 * tasks take.
 *
 * The order is that of a timetable, in which a message happens when its sender
 * has computed it: as early as can be, which is when those want it who start
 * receives ahead.
 */

#ifndef SCHEDULE_MESSAGES_H
#define SCHEDULE_MESSAGES_H

#include "schedule/timetable.h"

/* Tasks of all stages, with their messages. */
uint64_t
messages_n_tasks(const struct hoop_schedule_options *options);

/* Of one stage; timetable is that of what all compute. Returns how many tasks
 * were written. */
size_t
messages_merge(const struct timetable *timetable,
               uint32_t stage,
               struct hoop_task *out_tasks);

#endif
