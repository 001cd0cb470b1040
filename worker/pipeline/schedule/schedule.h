/*
 * pipeline/schedule/schedule.h - the inside of a schedule: one list of tasks
 * per stage
 *
 * A task does not name the stage that it communicates with. That follows from
 * its chunk: chunk c of stage s is virtual stage c * n_stages + s, and messages
 * go to the virtual stage after or before it.
 */

#ifndef PIPELINE_SCHEDULE_SCHEDULE_H
#define PIPELINE_SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/schedule.h"

#include "base/cleanup.h"

struct hoop_schedule {
    struct hoop_schedule_options options;
    /* [n_stages + 1]: index of a stage's first task */
    size_t *firsts;
    struct hoop_task *tasks; /* of all stages, one list after the other */
};

DEFINE_CLEANUP(struct hoop_schedule *, hoop_schedule_free)

/* Creates a schedule of the stages' computations alone, without messages.
 * The options have been checked. The caller frees *out_schedule with
 * hoop_schedule_free().
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
schedule_create_compute_only(const struct hoop_schedule_options *options,
                             struct hoop_schedule **out_schedule);

/* Return the number of virtual stages, and the virtual stage of a chunk. */
static inline uint32_t
schedule_n_virtual_stages(const struct hoop_schedule_options *options)
{
    return options->n_stages * options->n_chunks;
}

static inline uint32_t
schedule_virtual_stage(const struct hoop_schedule_options *options,
                       uint32_t stage,
                       uint32_t chunk)
{
    return chunk * options->n_stages + stage;
}

static inline bool
task_is_compute(const struct hoop_task *task)
{
    return task->kind == HOOP_TASK_FORWARD || task->kind == HOOP_TASK_BACKWARD;
}

static inline bool
task_is_send(const struct hoop_task *task)
{
    return task->kind == HOOP_TASK_SEND_FORWARD ||
           task->kind == HOOP_TASK_SEND_BACKWARD;
}

/* The length of a task's text: "forward of micro-batch 3, chunk 0". */
enum {
    TASK_TEXT_MAX = 80
};

/* Writes a description of the task to text and returns text. */
const char *
task_describe(const struct hoop_task *task, char text[TASK_TEXT_MAX]);

#endif
