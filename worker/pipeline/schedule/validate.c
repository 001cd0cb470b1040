/*
 * pipeline/schedule/validate.c - hoop_schedule_check(): checks all lists, and
 * their cost
 *
 * What is proved holds for every way of executing the lists that waits no more
 * than the strictest one (pipeline/schedule/validate.h). That one reaches its
 * end in some total order of all tasks; of the tasks that are not done, the
 * first one in this order waits for nothing.
 */

#include "pipeline/schedule/validate.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "pipeline/schedule/pattern.h"
#include "pipeline/schedule/schedule.h"
#include "pipeline/schedule/timetable.h"

/* Checks the list of one stage by itself. */

enum {
    N_TASK_KINDS = HOOP_TASK_RECV_BACKWARD + 1
};

struct stage_check {
    const struct hoop_schedule_options *options;
    uint32_t stage;
    bool *is_task_done;        /* [kind][chunk][micro-batch] */
    uint32_t *n_forwards_seen; /* [chunk]: forwards seen so far */
    uint32_t *n_backwards_seen;
    uint32_t n_live;
    uint32_t n_live_max;
};

static bool *
task_done_flag(const struct stage_check *stage_check,
               const struct hoop_task *task)
{
    const struct hoop_schedule_options *options = stage_check->options;
    const size_t row = (size_t)task->kind * options->n_chunks + task->chunk;

    return &stage_check->is_task_done[row * options->n_micro_batches +
                                      task->micro_batch];
}

static bool
is_first_virtual_stage(const struct stage_check *stage_check, uint32_t chunk)
{
    return stage_check->stage == 0 && chunk == 0;
}

static bool
is_last_virtual_stage(const struct stage_check *stage_check, uint32_t chunk)
{
    return stage_check->stage == stage_check->options->n_stages - 1 &&
           chunk == stage_check->options->n_chunks - 1;
}

/* Returns whether the stage has tasks of that kind for a chunk at all. */
static bool
stage_has_task_kind(const struct stage_check *stage_check,
                    enum hoop_task_kind kind,
                    uint32_t chunk)
{
    const bool is_alone = stage_check->options->n_stages == 1;

    switch (kind) {
    case HOOP_TASK_FORWARD:
    case HOOP_TASK_BACKWARD:
        return true;
    case HOOP_TASK_SEND_FORWARD:
    case HOOP_TASK_RECV_BACKWARD:
        return !is_alone && !is_last_virtual_stage(stage_check, chunk);
    case HOOP_TASK_RECV_FORWARD:
    case HOOP_TASK_SEND_BACKWARD:
        return !is_alone && !is_first_virtual_stage(stage_check, chunk);
    }
    return false;
}

static enum hoop_status
stage_check_raise(const struct stage_check *stage_check,
                  const struct hoop_task *task,
                  const char *what)
{
    char text[TASK_TEXT_MAX];

    return error_raise(HOOP_E_INTERNAL, "stage %u: %s %s", stage_check->stage,
                       task_describe(task, text), what);
}

static bool
is_task_done(const struct stage_check *stage_check,
             const struct hoop_task *task,
             enum hoop_task_kind kind)
{
    const struct hoop_task other = {kind, task->micro_batch, task->chunk};

    return *task_done_flag(stage_check, &other);
}

/* A stage that is alone passes results from chunk to chunk without messages. */
static bool
task_has_input(const struct stage_check *stage_check,
               const struct hoop_task *task)
{
    const struct hoop_task before = {HOOP_TASK_FORWARD, task->micro_batch,
                                     task->chunk - 1};

    if (is_first_virtual_stage(stage_check, task->chunk))
        return true;
    if (stage_check->options->n_stages == 1)
        return *task_done_flag(stage_check, &before);
    return is_task_done(stage_check, task, HOOP_TASK_RECV_FORWARD);
}

static bool
task_has_output_grad(const struct stage_check *stage_check,
                     const struct hoop_task *task)
{
    const struct hoop_task behind = {HOOP_TASK_BACKWARD, task->micro_batch,
                                     task->chunk + 1};

    if (is_last_virtual_stage(stage_check, task->chunk))
        return true;
    if (stage_check->options->n_stages == 1)
        return *task_done_flag(stage_check, &behind);
    return is_task_done(stage_check, task, HOOP_TASK_RECV_BACKWARD);
}

static bool
task_has_dependencies(const struct stage_check *stage_check,
                      const struct hoop_task *task)
{
    switch (task->kind) {
    case HOOP_TASK_FORWARD:
        return task_has_input(stage_check, task);
    case HOOP_TASK_BACKWARD:
        return is_task_done(stage_check, task, HOOP_TASK_FORWARD) &&
               task_has_output_grad(stage_check, task);
    case HOOP_TASK_SEND_FORWARD:
        return is_task_done(stage_check, task, HOOP_TASK_FORWARD);
    case HOOP_TASK_SEND_BACKWARD:
        return is_task_done(stage_check, task, HOOP_TASK_BACKWARD);
    case HOOP_TASK_RECV_FORWARD:
    case HOOP_TASK_RECV_BACKWARD:
        return true;
    }
    return false;
}

/* Checks the order of the micro-batches, and counts the activations that the
 * stage holds. */
static enum hoop_status
stage_check_count_compute(struct stage_check *stage_check,
                          const struct hoop_task *task)
{
    uint32_t *n = task->kind == HOOP_TASK_FORWARD
                      ? stage_check->n_forwards_seen
                      : stage_check->n_backwards_seen;

    if (n[task->chunk]++ != task->micro_batch)
        return stage_check_raise(stage_check, task,
                                 "comes out of the micro-batches' order");
    if (task->kind == HOOP_TASK_BACKWARD) {
        stage_check->n_live--;
        return HOOP_OK;
    }
    if (++stage_check->n_live > stage_check->n_live_max)
        stage_check->n_live_max = stage_check->n_live;
    return HOOP_OK;
}

static enum hoop_status
stage_check_task(struct stage_check *stage_check, const struct hoop_task *task)
{
    if ((unsigned)task->kind >= N_TASK_KINDS ||
        task->chunk >= stage_check->options->n_chunks ||
        task->micro_batch >= stage_check->options->n_micro_batches)
        return stage_check_raise(stage_check, task, "does not exist");
    if (!stage_has_task_kind(stage_check, task->kind, task->chunk))
        return stage_check_raise(stage_check, task, "is none of this stage's");
    if (*task_done_flag(stage_check, task))
        return stage_check_raise(stage_check, task, "stands there twice");
    if (!task_has_dependencies(stage_check, task))
        return stage_check_raise(stage_check, task,
                                 "comes before what it needs");
    *task_done_flag(stage_check, task) = true;
    return task_is_compute(task) ? stage_check_count_compute(stage_check, task)
                                 : HOOP_OK;
}

static enum hoop_status
stage_check_no_missing_task(const struct stage_check *stage_check)
{
    const struct hoop_schedule_options *options = stage_check->options;
    const size_t n_cells = (size_t)options->n_chunks * options->n_micro_batches;

    for (size_t i = 0; i < N_TASK_KINDS * n_cells; i++) {
        const struct hoop_task task = {
            .kind = (enum hoop_task_kind)(i / n_cells),
            .micro_batch = (uint32_t)(i % options->n_micro_batches),
            .chunk =
                (uint32_t)(i / options->n_micro_batches % options->n_chunks),
        };

        if (!stage_check->is_task_done[i] &&
            stage_has_task_kind(stage_check, task.kind, task.chunk))
            return stage_check_raise(stage_check, &task, "is missing");
    }
    return HOOP_OK;
}

static enum hoop_status
stage_check_task_list(struct stage_check *stage_check,
                      const struct hoop_schedule *schedule)
{
    const uint32_t stage = stage_check->stage;
    const uint32_t n_promised =
        pattern_n_live_activations(stage_check->options, stage);

    for (size_t i = schedule->firsts[stage]; i < schedule->firsts[stage + 1];
         i++) {
        const enum hoop_status status =
            stage_check_task(stage_check, &schedule->tasks[i]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    const enum hoop_status status = stage_check_no_missing_task(stage_check);
    if (status != HOOP_OK)
        return error_pass(status);
    if (stage_check->n_live_max > n_promised)
        return error_raise(HOOP_E_INTERNAL,
                           "stage %u keeps the activations of %u micro-batches "
                           "and chunks at a time; %s promises %u",
                           stage, stage_check->n_live_max,
                           pattern_find(stage_check->options->kind)->name,
                           n_promised);
    return HOOP_OK;
}

enum hoop_status
stage_check_run(const struct hoop_schedule *schedule,
                uint32_t stage,
                uint32_t *out_n_live)
{
    const struct hoop_schedule_options *options = &schedule->options;
    const size_t n_forwards = pattern_n_forwards(options);
    CLEANUP(free)
    bool *is_done_of = calloc(N_TASK_KINDS * n_forwards, sizeof(bool));
    CLEANUP(free)
    uint32_t *counts = calloc(2 * (size_t)options->n_chunks, sizeof(*counts));

    if (!is_done_of || !counts)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to check %zu forwards",
                           n_forwards);
    struct stage_check stage_check = {
        .options = options,
        .stage = stage,
        .is_task_done = is_done_of,
        .n_forwards_seen = counts,
        .n_backwards_seen = counts + options->n_chunks,
    };
    const enum hoop_status status =
        stage_check_task_list(&stage_check, schedule);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_n_live = stage_check.n_live_max;
    return HOOP_OK;
}

/* Runs all stages' lists under the strictest rule. */

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
task_partner_on_next_stage(const struct deadlock_check *deadlock_check,
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
    const bool is_next_stage = task->kind == HOOP_TASK_SEND_FORWARD ||
                               task->kind == HOOP_TASK_RECV_BACKWARD;

    return is_next_stage
               ? task_partner_on_next_stage(deadlock_check, stage, task)
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

static enum hoop_status
timetable_units_from_cost(const struct hoop_schedule_cost *cost,
                          struct timetable_units *out)
{
    *out = TIMETABLE_DEFAULT_UNITS;
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
