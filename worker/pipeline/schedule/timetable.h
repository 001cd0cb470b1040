/*
 * pipeline/schedule/timetable.h - when each task runs if messages take no time
 *
 * Every stage computes in the order of its list, and starts each task as soon
 * as its inputs exist.
 */

#ifndef PIPELINE_SCHEDULE_TIMETABLE_H
#define PIPELINE_SCHEDULE_TIMETABLE_H

#include "hoop/schedule.h"
#include "hoop/status.h"

/* The durations of one chunk's computations, in units of time. */
struct timetable_units {
    double forward;
    double backward;
};

/* A backward takes twice as long as a forward: it computes the gradients of
 * the inputs and those of the weights. */
static const struct timetable_units TIMETABLE_DEFAULT_UNITS = {1, 2};

struct timetable {
    /* borrowed; it must outlive the timetable */
    const struct hoop_schedule *schedule;
    struct timetable_units units;
    /* when each computation ends, or -1: [forward, backward][virtual
     * stage][micro-batch] */
    double *ends;
    double makespan;
};

/* Computes the timetable. The caller ends it with timetable_deinit(), but
 * not after a failure.
 * Handle: HOOP_E_INTERNAL (stages wait for each other), HOOP_E_EXHAUSTED. */
enum hoop_status
timetable_init(struct timetable *timetable,
               const struct hoop_schedule *schedule,
               const struct timetable_units *units);
void
timetable_deinit(struct timetable *timetable);

/* Return when a forward or a backward of a stage begins and ends. */
double
timetable_task_begin(const struct timetable *timetable,
                     uint32_t stage,
                     const struct hoop_task *task);
double
timetable_task_end(const struct timetable *timetable,
                   uint32_t stage,
                   const struct hoop_task *task);

#endif
