/*
 * schedule/timetable.h - when each task runs, if messages took no time
 *
 * Every stage computes in the order of its list, each task as soon as what it
 * needs is there.
 */

#ifndef SCHEDULE_TIMETABLE_H
#define SCHEDULE_TIMETABLE_H

#include "hoop/schedule.h"
#include "hoop/status.h"

/* Units of time of one chunk. */
struct timetable_units {
    double forward;
    double backward;
};

/* Twice as much to compute backward as forward: for the inputs' gradients and
 * for the weights'. */
static const struct timetable_units TIMETABLE_UNITS = {1, 2};

struct timetable {
    const struct hoop_schedule *schedule; /* borrowed for life */
    struct timetable_units units;
    double *ends; /* [forward, backward][virtual stage][micro-batch] */
    double makespan;
};

/* Handle: HOOP_E_INTERNAL (stages wait for each other), HOOP_E_EXHAUSTED. */
enum hoop_status
timetable_init(struct timetable *timetable,
               const struct hoop_schedule *schedule,
               const struct timetable_units *units);
void
timetable_deinit(struct timetable *timetable);

/* When a forward or a backward of stage begins, and ends. */
double
timetable_begin(const struct timetable *timetable,
                uint32_t stage,
                const struct hoop_task *task);
double
timetable_end(const struct timetable *timetable,
              uint32_t stage,
              const struct hoop_task *task);

#endif
