/*
 * pipeline/schedule/schedule.c - creates schedules from patterns and gives out
 * their lists
 */

#include "pipeline/schedule/schedule.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"
#include "pipeline/schedule/messages.h"
#include "pipeline/schedule/pattern.h"
#include "pipeline/schedule/timetable.h"

static enum hoop_status
schedule_options_check(const struct hoop_schedule_options *options)
{
    const struct pattern *pattern = pattern_find(options->kind);

    if (!pattern)
        return error_raise(HOOP_E_INVALID,
                           "kind %d is no enum hoop_schedule_kind",
                           (int)options->kind);
    if (options->n_stages == 0 || options->n_micro_batches == 0 ||
        options->n_chunks == 0)
        return error_raise(HOOP_E_INVALID,
                           "%u stages, %u micro-batches and %u chunks: a "
                           "schedule has one of each at least",
                           options->n_stages, options->n_micro_batches,
                           options->n_chunks);
    if (options->n_chunks > 1 && options->kind != HOOP_INTERLEAVED)
        return error_raise(HOOP_E_INVALID,
                           "%u chunks, but %s has one on each stage; several "
                           "are for HOOP_INTERLEAVED",
                           options->n_chunks, pattern->name);
    /* The products are checked in an order in which none of them overflows. */
    if (options->n_stages > LIMIT_SCHEDULE_TASKS / options->n_chunks ||
        schedule_n_virtual_stages(options) >
            LIMIT_SCHEDULE_TASKS / options->n_micro_batches ||
        messages_count_tasks(options) > LIMIT_SCHEDULE_TASKS)
        return error_raise(HOOP_E_INVALID,
                           "%u stages, %u micro-batches and %u chunks are more "
                           "than %d tasks",
                           options->n_stages, options->n_micro_batches,
                           options->n_chunks, LIMIT_SCHEDULE_TASKS);
    return HOOP_OK;
}

static enum hoop_status
schedule_allocate(const struct hoop_schedule_options *options,
                  size_t n_tasks,
                  struct hoop_schedule **out_schedule)
{
    CLEANUP(hoop_schedule_free)
    struct hoop_schedule *schedule = calloc(1, sizeof(*schedule));

    if (schedule) {
        schedule->options = *options;
        schedule->firsts =
            calloc((size_t)options->n_stages + 1, sizeof(*schedule->firsts));
        schedule->tasks = calloc(n_tasks, sizeof(*schedule->tasks));
    }
    if (!schedule || !schedule->firsts || !schedule->tasks)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu tasks",
                           n_tasks);
    *out_schedule = STEAL(schedule);
    return HOOP_OK;
}

enum hoop_status
schedule_create_compute_only(const struct hoop_schedule_options *options,
                             struct hoop_schedule **out_schedule)
{
    const size_t n = 2 * (size_t)pattern_n_forwards(options);
    struct hoop_schedule *schedule = NULL;

    const enum hoop_status status =
        schedule_allocate(options, n * options->n_stages, &schedule);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t stage = 0; stage < options->n_stages; stage++) {
        pattern_list_tasks(options, stage, schedule->tasks + stage * n);
        schedule->firsts[stage + 1] = (stage + 1) * n;
    }
    *out_schedule = schedule;
    return HOOP_OK;
}

/* Writes the lists of computed, with messages added, to schedule. */
static enum hoop_status
schedule_add_messages(const struct hoop_schedule *computed,
                      struct hoop_schedule *schedule)
{
    struct timetable timetable;

    const enum hoop_status status =
        timetable_init(&timetable, computed, &TIMETABLE_DEFAULT_UNITS);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t stage = 0; stage < computed->options.n_stages; stage++) {
        const size_t first = schedule->firsts[stage];

        schedule->firsts[stage + 1] =
            first + messages_merge_stage_tasks(&timetable, stage,
                                               schedule->tasks + first);
    }
    timetable_deinit(&timetable);
    return HOOP_OK;
}

enum hoop_status
hoop_schedule_create(const struct hoop_schedule_options *options,
                     hoop_schedule_t **out_schedule)
{
    CLEANUP(hoop_schedule_free) struct hoop_schedule *computed = NULL;
    CLEANUP(hoop_schedule_free) struct hoop_schedule *schedule = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!options || !out_schedule)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           options ? "out_schedule" : "options");
    enum hoop_status status = schedule_options_check(options);
    if (status == HOOP_OK)
        status = schedule_create_compute_only(options, &computed);
    if (status == HOOP_OK)
        status = schedule_allocate(options, messages_count_tasks(options),
                                   &schedule);
    if (status == HOOP_OK)
        status = schedule_add_messages(computed, schedule);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_schedule = STEAL(schedule);
    return HOOP_OK;
}

void
hoop_schedule_free(hoop_schedule_t *schedule)
{
    if (!schedule)
        return;
    free(schedule->firsts);
    free(schedule->tasks);
    free(schedule);
}

const struct hoop_schedule_options *
hoop_schedule_shape(const hoop_schedule_t *schedule)
{
    return schedule ? &schedule->options : NULL;
}

const struct hoop_task *
hoop_schedule_tasks(const hoop_schedule_t *schedule,
                    uint32_t stage,
                    size_t *out_n_tasks)
{
    if (!schedule || stage >= schedule->options.n_stages)
        return NULL;
    if (out_n_tasks)
        *out_n_tasks = schedule->firsts[stage + 1] - schedule->firsts[stage];
    return schedule->tasks + schedule->firsts[stage];
}

const char *
task_describe(const struct hoop_task *task, char text[TASK_TEXT_MAX])
{
    static const char *const names[] = {
        [HOOP_TASK_FORWARD] = "forward",
        [HOOP_TASK_BACKWARD] = "backward",
        [HOOP_TASK_SEND_FORWARD] = "send of the activations",
        [HOOP_TASK_RECV_FORWARD] = "receive of the activations",
        [HOOP_TASK_SEND_BACKWARD] = "send of the gradients",
        [HOOP_TASK_RECV_BACKWARD] = "receive of the gradients",
    };

    snprintf(text, TASK_TEXT_MAX, "%s of micro-batch %u, chunk %u",
             (unsigned)task->kind < COUNT_OF(names) ? names[task->kind]
                                                    : "unknown task",
             task->micro_batch, task->chunk);
    return text;
}
