/*
 * pipeline/schedule/messages.h - adds sends and receives to the computations of
 * stages
 *
 * All tasks of all stages are put into one total order, and the list of each
 * stage is its part of that order. A send and its receive have the same
 * position. So a pipeline that executes its lists strictly, each send waiting
 * for its receive, runs through that order and cannot deadlock, however long
 * the tasks take.
 *
 * The order is by time in a timetable: a message happens as soon as its sender
 * has computed it. This suits a stage that starts receives ahead of need.
 */

#ifndef PIPELINE_SCHEDULE_MESSAGES_H
#define PIPELINE_SCHEDULE_MESSAGES_H

#include "pipeline/schedule/timetable.h"

/* Returns the number of tasks of all stages together, messages included. */
uint64_t
messages_count_tasks(const struct hoop_schedule_options *options);

/* Writes the complete list of one stage. The timetable is that of the
 * computations alone; out_tasks must have room for all of the stage's tasks.
 * Returns how many were written. */
size_t
messages_merge_stage_tasks(const struct timetable *timetable,
                           uint32_t stage,
                           struct hoop_task *out_tasks);

#endif
