/*
 * schedule/timetable.c - when each task runs if messages take no time
 *
 * Stages that may continue wait in a queue. Each runs until an input is
 * missing. After each task it queues the stage that uses the result.
 */

#include "schedule/timetable.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "schedule/schedule.h"

static const double NOT_YET = -1;

struct walk {
    struct timetable *timetable;
    struct walker {
        size_t at; /* the current task */
        double now;
        bool is_queued;
    } * walkers;     /* [n_stages] */
    uint32_t *queue; /* ring buffer of n_stages */
    uint32_t first;
    uint32_t n_queued;
};

static void
walk_queue(struct walk *walk, uint32_t stage)
{
    const uint32_t n = walk->timetable->schedule->options.n_stages;

    if (walk->walkers[stage].is_queued)
        return;
    walk->walkers[stage].is_queued = true;
    walk->queue[(walk->first + walk->n_queued++) % n] = stage;
}

static uint32_t
walk_next(struct walk *walk)
{
    const uint32_t n = walk->timetable->schedule->options.n_stages;
    const uint32_t stage = walk->queue[walk->first];

    walk->first = (walk->first + 1) % n;
    walk->n_queued--;
    walk->walkers[stage].is_queued = false;
    return stage;
}

static double *
end_of(const struct timetable *timetable,
       enum hoop_task_kind kind,
       uint32_t virtual_stage,
       uint32_t micro_batch)
{
    const struct hoop_schedule_options *options = &timetable->schedule->options;
    const size_t n_virtual = schedule_n_virtual(options);
    const size_t row =
        kind == HOOP_TASK_FORWARD ? virtual_stage : n_virtual + virtual_stage;

    return &timetable->ends[row * options->n_micro_batches + micro_batch];
}

static double *
task_end(const struct timetable *timetable,
         uint32_t stage,
         const struct hoop_task *task)
{
    const struct hoop_schedule_options *options = &timetable->schedule->options;

    return end_of(timetable, task->kind,
                  schedule_virtual_stage(options, stage, task->chunk),
                  task->micro_batch);
}

/* Returns when the input of a task exists, or NOT_YET. A backward's own
 * forward is only looked at if the backward needs nothing else. */
static double
task_ready(const struct timetable *timetable,
           uint32_t stage,
           const struct hoop_task *task)
{
    const struct hoop_schedule_options *options = &timetable->schedule->options;
    const uint32_t at = schedule_virtual_stage(options, stage, task->chunk);

    if (task->kind == HOOP_TASK_FORWARD)
        return at == 0
                   ? 0
                   : *end_of(timetable, task->kind, at - 1, task->micro_batch);
    if (at == schedule_n_virtual(options) - 1)
        return *end_of(timetable, HOOP_TASK_FORWARD, at, task->micro_batch);
    return *end_of(timetable, task->kind, at + 1, task->micro_batch);
}

static double
task_units(const struct timetable *timetable, const struct hoop_task *task)
{
    return task->kind == HOOP_TASK_FORWARD ? timetable->units.forward
                                           : timetable->units.backward;
}

/* Queues the neighbour that may need the result of a task. */
static void
walk_wake(struct walk *walk, uint32_t stage, const struct hoop_task *task)
{
    const uint32_t n = walk->timetable->schedule->options.n_stages;

    walk_queue(walk, task->kind == HOOP_TASK_FORWARD ? (stage + 1) % n
                                                     : (stage + n - 1) % n);
}

static void
walk_stage(struct walk *walk, uint32_t stage)
{
    struct timetable *timetable = walk->timetable;
    const struct hoop_schedule *schedule = timetable->schedule;
    struct walker *walker = &walk->walkers[stage];

    for (; walker->at < schedule->firsts[stage + 1]; walker->at++) {
        const struct hoop_task *task = &schedule->tasks[walker->at];

        if (!task_is_computed(task))
            continue;
        const double ready = task_ready(timetable, stage, task);
        if (ready == NOT_YET)
            return;
        if (ready > walker->now)
            walker->now = ready;
        walker->now += task_units(timetable, task);
        *task_end(timetable, stage, task) = walker->now;
        walk_wake(walk, stage, task);
    }
}

static enum hoop_status
walk_all(struct walk *walk)
{
    const struct hoop_schedule *schedule = walk->timetable->schedule;
    const uint32_t n_stages = schedule->options.n_stages;
    char text[TASK_TEXT_MAX];

    for (uint32_t stage = 0; stage < n_stages; stage++) {
        walk->walkers[stage].at = schedule->firsts[stage];
        walk_queue(walk, stage);
    }
    while (walk->n_queued > 0)
        walk_stage(walk, walk_next(walk));
    for (uint32_t stage = 0; stage < n_stages; stage++) {
        const struct walker *walker = &walk->walkers[stage];

        if (walker->at < schedule->firsts[stage + 1])
            return error_raise(
                HOOP_E_INTERNAL,
                "stage %u waits for ever with its %s: the stages compute in "
                "orders that do not go together",
                stage, task_describe(&schedule->tasks[walker->at], text));
        if (walker->now > walk->timetable->makespan)
            walk->timetable->makespan = walker->now;
    }
    return HOOP_OK;
}

enum hoop_status
timetable_init(struct timetable *timetable,
               const struct hoop_schedule *schedule,
               const struct timetable_units *units)
{
    const struct hoop_schedule_options *options = &schedule->options;
    const size_t n_ends =
        2 * (size_t)schedule_n_virtual(options) * options->n_micro_batches;
    CLEANUP(free)
    struct walker *walkers = calloc(options->n_stages, sizeof(*walkers));
    CLEANUP(free) uint32_t *queue = calloc(options->n_stages, sizeof(*queue));
    CLEANUP(free) double *ends = calloc(n_ends, sizeof(*ends));

    if (!walkers || !queue || !ends)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu tasks", n_ends);
    for (size_t i = 0; i < n_ends; i++)
        ends[i] = NOT_YET;
    *timetable = (struct timetable){
        .schedule = schedule,
        .units = *units,
        .ends = ends,
    };
    struct walk walk = {
        .timetable = timetable,
        .walkers = walkers,
        .queue = queue,
    };
    const enum hoop_status status = walk_all(&walk);
    if (status != HOOP_OK) {
        timetable->ends = NULL;
        return error_pass(status);
    }
    (void)STEAL(ends);
    return HOOP_OK;
}

void
timetable_deinit(struct timetable *timetable)
{
    free(timetable->ends);
    *timetable = (struct timetable){0};
}

double
timetable_begin(const struct timetable *timetable,
                uint32_t stage,
                const struct hoop_task *task)
{
    return *task_end(timetable, stage, task) - task_units(timetable, task);
}

double
timetable_end(const struct timetable *timetable,
              uint32_t stage,
              const struct hoop_task *task)
{
    return *task_end(timetable, stage, task);
}
