/*
 * schedule/schedule.h - what a schedule is inside: a list for each stage
 *
 * Whose neighbour a task is for follows from four numbers: the virtual stage
 * of its chunk, and the one before or behind.
 */

#ifndef SCHEDULE_SCHEDULE_H
#define SCHEDULE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/schedule.h"

#include "base/cleanup.h"

struct hoop_schedule {
    struct hoop_schedule_options options;
    size_t *firsts;          /* [n_stages + 1]: where a stage's list begins */
    struct hoop_task *tasks; /* of all stages, one after the other */
};

DEFINE_CLEANUP(struct hoop_schedule *, hoop_schedule_free)

/* The stages' computations alone, without messages. */
enum hoop_status
schedule_create_computed(const struct hoop_schedule_options *options,
                         struct hoop_schedule **out_schedule);

static inline uint32_t
schedule_n_virtual(const struct hoop_schedule_options *options)
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
task_is_computed(const struct hoop_task *task)
{
    return task->kind == HOOP_TASK_FORWARD || task->kind == HOOP_TASK_BACKWARD;
}

static inline bool
task_is_sent(const struct hoop_task *task)
{
    return task->kind == HOOP_TASK_SEND_FORWARD ||
           task->kind == HOOP_TASK_SEND_BACKWARD;
}

/* "forward of micro-batch 3, chunk 0" */
enum {
    TASK_TEXT_MAX = 80
};

const char *
task_describe(const struct hoop_task *task, char text[TASK_TEXT_MAX]);

#endif
