/*
 * pipeline/schedule/deadlock_check.c - runs all stages' lists under the strictest rule
 */

#include "pipeline/schedule/deadlock_check.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "pipeline/schedule/schedule.h"

struct deadlock_check {
    const struct hoop_schedule *schedule;
    size_t *at;      /* [n_stages]: index of the current task */
    uint32_t *queue; /* stages that can continue; room for all wake-ups */
    size_t n_queued;
};

/* Returns NULL at the end of the stage's list. */
static const struct hoop_task *
stage_current_task(const struct deadlock_check *deadlock_check, uint32_t stage)
{
    const struct hoop_schedule *schedule = deadlock_check->schedule;

    return deadlock_check->at[stage] < schedule->firsts[stage + 1]
               ? &schedule->tasks[deadlock_check->at[stage]]
               : NULL;
}

/* The other side of a message: its stage, and the task it must have reached. */
struct task_partner {
    uint32_t stage;
    struct hoop_task task;
};

static struct task_partner
task_partner_on_next(const struct deadlock_check *deadlock_check,
                     uint32_t stage,
                     const struct hoop_task *task)
{
    const uint32_t n = deadlock_check->schedule->options.n_stages;
    struct task_partner task_partner = {(stage + 1) % n, *task};

    task_partner.task.kind = task->kind == HOOP_TASK_SEND_FORWARD
                                 ? HOOP_TASK_RECV_FORWARD
                                 : HOOP_TASK_SEND_BACKWARD;
    task_partner.task.chunk += stage == n - 1;
    return task_partner;
}

static struct task_partner
task_partner_on_prev(const struct deadlock_check *deadlock_check,
                     uint32_t stage,
                     const struct hoop_task *task)
{
    const uint32_t n = deadlock_check->schedule->options.n_stages;
    struct task_partner task_partner = {(stage + n - 1) % n, *task};

    task_partner.task.kind = task->kind == HOOP_TASK_RECV_FORWARD
                                 ? HOOP_TASK_SEND_FORWARD
                                 : HOOP_TASK_RECV_BACKWARD;
    task_partner.task.chunk -= stage == 0;
    return task_partner;
}

static struct task_partner
task_partner_find(const struct deadlock_check *deadlock_check,
                  uint32_t stage,
                  const struct hoop_task *task)
{
    const bool is_next = task->kind == HOOP_TASK_SEND_FORWARD ||
                         task->kind == HOOP_TASK_RECV_BACKWARD;

    return is_next ? task_partner_on_next(deadlock_check, stage, task)
                   : task_partner_on_prev(deadlock_check, stage, task);
}

static bool
task_equal(const struct hoop_task *a, const struct hoop_task *b)
{
    return a->kind == b->kind && a->micro_batch == b->micro_batch &&
           a->chunk == b->chunk;
}

/* Advances a stage until its partner is not at the matching task, or its
 * list ends. Each partner that is met moves on, too, and is queued. */
static void
deadlock_check_advance_stage(struct deadlock_check *deadlock_check,
                             uint32_t stage)
{
    const struct hoop_task *task;

    while ((task = stage_current_task(deadlock_check, stage))) {
        if (!task_is_compute(task)) {
            const struct task_partner task_partner =
                task_partner_find(deadlock_check, stage, task);
            const struct hoop_task *other =
                stage_current_task(deadlock_check, task_partner.stage);

            if (!other || !task_equal(other, &task_partner.task))
                return;
            deadlock_check->at[task_partner.stage]++;
            deadlock_check->queue[deadlock_check->n_queued++] =
                task_partner.stage;
        }
        deadlock_check->at[stage]++;
    }
}

static enum hoop_status
deadlock_check_raise(const struct deadlock_check *deadlock_check,
                     uint32_t stage)
{
    const struct hoop_task *task = stage_current_task(deadlock_check, stage);
    const struct task_partner task_partner =
        task_partner_find(deadlock_check, stage, task);
    const struct hoop_task *other =
        stage_current_task(deadlock_check, task_partner.stage);
    char text[TASK_TEXT_MAX];
    char other_text[TASK_TEXT_MAX] = "the end of its list";

    if (other)
        task_describe(other, other_text);
    return error_raise(HOOP_E_INTERNAL,
                       "stage %u waits for ever at its %s, for stage %u, which "
                       "is at %s",
                       stage, task_describe(task, text), task_partner.stage,
                       other_text);
}

/* Returns how often stages are queued at most: once at the start, and once
 * for each message that is met. */
static size_t
stage_queue_capacity(const struct hoop_schedule *schedule)
{
    const uint32_t n_stages = schedule->options.n_stages;

    return n_stages + schedule->firsts[n_stages];
}

enum hoop_status
deadlock_check_run(const struct hoop_schedule *schedule)
{
    const uint32_t n_stages = schedule->options.n_stages;
    CLEANUP(free) size_t *at = calloc(n_stages, sizeof(*at));
    CLEANUP(free)
    uint32_t *queue = calloc(stage_queue_capacity(schedule), sizeof(*queue));
    struct deadlock_check deadlock_check = {
        .schedule = schedule, .at = at, .queue = queue};

    if (!at || !queue)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to check %zu tasks",
                           schedule->firsts[n_stages]);
    for (uint32_t stage = 0; stage < n_stages; stage++) {
        at[stage] = schedule->firsts[stage];
        queue[deadlock_check.n_queued++] = stage;
    }
    for (size_t i = 0; i < deadlock_check.n_queued; i++)
        deadlock_check_advance_stage(&deadlock_check, queue[i]);
    for (uint32_t stage = 0; stage < n_stages; stage++) {
        if (stage_current_task(&deadlock_check, stage))
            return deadlock_check_raise(&deadlock_check, stage);
    }
    return HOOP_OK;
}
