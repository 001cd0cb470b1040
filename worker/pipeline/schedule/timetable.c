/*
 * pipeline/schedule/timetable.c - when each task runs if messages take no time
 *
 * Stages that may continue wait in a queue. Each runs until an input is
 * missing. After each task it queues the stage that uses the result.
 */

#include "pipeline/schedule/timetable.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "pipeline/schedule/schedule.h"

static const double TASK_NOT_ENDED = -1;

struct timetable_simulation {
    struct timetable *timetable;
    struct stage_progress {
        size_t at; /* the current task */
        double now;
        bool is_queued;
    } * stages_progress; /* [n_stages] */
    uint32_t *queue;     /* ring buffer of n_stages */
    uint32_t first;
    uint32_t n_queued;
};

static void
stage_enqueue(struct timetable_simulation *timetable_simulation, uint32_t stage)
{
    const uint32_t n =
        timetable_simulation->timetable->schedule->options.n_stages;

    if (timetable_simulation->stages_progress[stage].is_queued)
        return;
    timetable_simulation->stages_progress[stage].is_queued = true;
    timetable_simulation->queue[(timetable_simulation->first +
                                 timetable_simulation->n_queued++) %
                                n] = stage;
}

static uint32_t
stage_dequeue(struct timetable_simulation *timetable_simulation)
{
    const uint32_t n =
        timetable_simulation->timetable->schedule->options.n_stages;
    const uint32_t stage =
        timetable_simulation->queue[timetable_simulation->first];

    timetable_simulation->first = (timetable_simulation->first + 1) % n;
    timetable_simulation->n_queued--;
    timetable_simulation->stages_progress[stage].is_queued = false;
    return stage;
}

static double *
task_end_slot(const struct timetable *timetable,
              enum hoop_task_kind kind,
              uint32_t virtual_stage,
              uint32_t micro_batch)
{
    const struct hoop_schedule_options *options = &timetable->schedule->options;
    const size_t n_virtual = schedule_n_virtual_stages(options);
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

    return task_end_slot(timetable, task->kind,
                         schedule_virtual_stage(options, stage, task->chunk),
                         task->micro_batch);
}

/* Returns when the input of a task exists, or TASK_NOT_ENDED. A backward's own
 * forward is only looked at if the backward needs nothing else. */
static double
task_ready_time(const struct timetable *timetable,
                uint32_t stage,
                const struct hoop_task *task)
{
    const struct hoop_schedule_options *options = &timetable->schedule->options;
    const uint32_t at = schedule_virtual_stage(options, stage, task->chunk);

    if (task->kind == HOOP_TASK_FORWARD)
        return at == 0 ? 0
                       : *task_end_slot(timetable, task->kind, at - 1,
                                        task->micro_batch);
    if (at == schedule_n_virtual_stages(options) - 1)
        return *task_end_slot(timetable, HOOP_TASK_FORWARD, at,
                              task->micro_batch);
    return *task_end_slot(timetable, task->kind, at + 1, task->micro_batch);
}

static double
task_duration(const struct timetable *timetable, const struct hoop_task *task)
{
    return task->kind == HOOP_TASK_FORWARD ? timetable->units.forward
                                           : timetable->units.backward;
}

/* Queues the neighbour that may need the result of a task. */
static void
dependent_stage_enqueue(struct timetable_simulation *timetable_simulation,
                        uint32_t stage,
                        const struct hoop_task *task)
{
    const uint32_t n =
        timetable_simulation->timetable->schedule->options.n_stages;

    stage_enqueue(timetable_simulation, task->kind == HOOP_TASK_FORWARD
                                            ? (stage + 1) % n
                                            : (stage + n - 1) % n);
}

static void
stage_simulate(struct timetable_simulation *timetable_simulation,
               uint32_t stage)
{
    struct timetable *timetable = timetable_simulation->timetable;
    const struct hoop_schedule *schedule = timetable->schedule;
    struct stage_progress *stage_progress =
        &timetable_simulation->stages_progress[stage];

    for (; stage_progress->at < schedule->firsts[stage + 1];
         stage_progress->at++) {
        const struct hoop_task *task = &schedule->tasks[stage_progress->at];

        if (!task_is_compute(task))
            continue;
        const double ready = task_ready_time(timetable, stage, task);
        if (ready == TASK_NOT_ENDED)
            return;
        if (ready > stage_progress->now)
            stage_progress->now = ready;
        stage_progress->now += task_duration(timetable, task);
        *task_end(timetable, stage, task) = stage_progress->now;
        dependent_stage_enqueue(timetable_simulation, stage, task);
    }
}

static enum hoop_status
stages_simulate(struct timetable_simulation *timetable_simulation)
{
    const struct hoop_schedule *schedule =
        timetable_simulation->timetable->schedule;
    const uint32_t n_stages = schedule->options.n_stages;
    char text[TASK_TEXT_MAX];

    for (uint32_t stage = 0; stage < n_stages; stage++) {
        timetable_simulation->stages_progress[stage].at =
            schedule->firsts[stage];
        stage_enqueue(timetable_simulation, stage);
    }
    while (timetable_simulation->n_queued > 0)
        stage_simulate(timetable_simulation,
                       stage_dequeue(timetable_simulation));
    for (uint32_t stage = 0; stage < n_stages; stage++) {
        const struct stage_progress *stage_progress =
            &timetable_simulation->stages_progress[stage];

        if (stage_progress->at < schedule->firsts[stage + 1])
            return error_raise(
                HOOP_E_INTERNAL,
                "stage %u waits for ever with its %s: the stages compute in "
                "orders that do not go together",
                stage,
                task_describe(&schedule->tasks[stage_progress->at], text));
        if (stage_progress->now > timetable_simulation->timetable->makespan)
            timetable_simulation->timetable->makespan = stage_progress->now;
    }
    return HOOP_OK;
}

enum hoop_status
timetable_init(struct timetable *timetable,
               const struct hoop_schedule *schedule,
               const struct timetable_units *units)
{
    const struct hoop_schedule_options *options = &schedule->options;
    const size_t n_ends = 2 * (size_t)schedule_n_virtual_stages(options) *
                          options->n_micro_batches;
    CLEANUP(free)
    struct stage_progress *stages_progress =
        calloc(options->n_stages, sizeof(*stages_progress));
    CLEANUP(free) uint32_t *queue = calloc(options->n_stages, sizeof(*queue));
    CLEANUP(free) double *ends = calloc(n_ends, sizeof(*ends));

    if (!stages_progress || !queue || !ends)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu tasks", n_ends);
    for (size_t i = 0; i < n_ends; i++)
        ends[i] = TASK_NOT_ENDED;
    *timetable = (struct timetable){
        .schedule = schedule,
        .units = *units,
        .ends = ends,
    };
    struct timetable_simulation timetable_simulation = {
        .timetable = timetable,
        .stages_progress = stages_progress,
        .queue = queue,
    };
    const enum hoop_status status = stages_simulate(&timetable_simulation);
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
timetable_task_begin(const struct timetable *timetable,
                     uint32_t stage,
                     const struct hoop_task *task)
{
    return *task_end(timetable, stage, task) - task_duration(timetable, task);
}

double
timetable_task_end(const struct timetable *timetable,
                   uint32_t stage,
                   const struct hoop_task *task)
{
    return *task_end(timetable, stage, task);
}
