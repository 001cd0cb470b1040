/*
 * pipeline/schedule/validate.c - hoop_schedule_check(): checks all lists, and their cost
 *
 * What is proved holds for every way of executing the lists that waits no more
 * than the strictest one (pipeline/schedule/deadlock_check.h). That one reaches its end
 * in some total order of all tasks; of the tasks that are not done, the first
 * one in this order waits for nothing.
 */

#include <math.h>

#include "base/error.h"
#include "pipeline/schedule/deadlock_check.h"
#include "pipeline/schedule/pattern.h"
#include "pipeline/schedule/schedule.h"
#include "pipeline/schedule/stage_check.h"
#include "pipeline/schedule/timetable.h"

static enum hoop_status
timetable_units_from_cost(const struct hoop_schedule_cost *cost,
                          struct timetable_units *out)
{
    *out = TIMETABLE_UNITS;
    if (!cost)
        return HOOP_OK;
    if (!(cost->forward >= 0 && cost->backward >= 0) ||
        !isfinite(cost->forward + cost->backward))
        return error_raise(HOOP_E_INVALID,
                           "a forward of %g and a backward of %g units: times "
                           "are positive, or 0 for the usual",
                           cost->forward, cost->backward);
    if (cost->forward > 0)
        out->forward = cost->forward;
    if (cost->backward > 0)
        out->backward = cost->backward;
    return HOOP_OK;
}

static enum hoop_status
schedule_cost_measure(const struct hoop_schedule *schedule,
                      const struct timetable_units *units,
                      struct hoop_schedule_cost *cost)
{
    const double n_forwards = pattern_n_forwards(&schedule->options);
    struct timetable timetable;

    const enum hoop_status status = timetable_init(&timetable, schedule, units);
    if (status != HOOP_OK)
        return error_pass(status);
    cost->forward = units->forward;
    cost->backward = units->backward;
    cost->makespan = timetable.makespan;
    cost->bubble = 1 - n_forwards * (units->forward + units->backward) /
                           timetable.makespan;
    timetable_deinit(&timetable);
    return HOOP_OK;
}

static enum hoop_status
task_lists_check(const struct hoop_schedule *schedule, uint32_t *out_n_live)
{
    *out_n_live = 0;
    for (uint32_t stage = 0; stage < schedule->options.n_stages; stage++) {
        uint32_t n_live;

        const enum hoop_status status =
            stage_check_run(schedule, stage, &n_live);
        if (status != HOOP_OK)
            return error_pass(status);
        if (n_live > *out_n_live)
            *out_n_live = n_live;
    }
    const enum hoop_status status = deadlock_check_run(schedule);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_schedule_check(const hoop_schedule_t *schedule,
                    struct hoop_schedule_cost *out_cost)
{
    struct timetable_units units;
    uint32_t n_live;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!schedule)
        return error_raise(HOOP_E_INVALID, "schedule is NULL");
    enum hoop_status status = timetable_units_from_cost(out_cost, &units);
    if (status == HOOP_OK)
        status = task_lists_check(schedule, &n_live);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!out_cost)
        return HOOP_OK;
    status = schedule_cost_measure(schedule, &units, out_cost);
    if (status != HOOP_OK)
        return error_pass(status);
    out_cost->n_live = n_live;
    return HOOP_OK;
}
