/* pipeline/schedule/stage_check.c - checks the list of one stage by itself */

#include "pipeline/schedule/stage_check.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "pipeline/schedule/pattern.h"
#include "pipeline/schedule/schedule.h"

enum {
    N_KINDS = HOOP_TASK_RECV_BACKWARD + 1
};

struct stage_check {
    const struct hoop_schedule_options *options;
    uint32_t stage;
    bool *is_task_done;  /* [kind][chunk][micro-batch] */
    uint32_t *n_forward; /* [chunk]: forwards seen so far */
    uint32_t *n_backward;
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
chunk_is_first(const struct stage_check *stage_check, uint32_t chunk)
{
    return stage_check->stage == 0 && chunk == 0;
}

static bool
chunk_is_last(const struct stage_check *stage_check, uint32_t chunk)
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
        return !is_alone && !chunk_is_last(stage_check, chunk);
    case HOOP_TASK_RECV_FORWARD:
    case HOOP_TASK_SEND_BACKWARD:
        return !is_alone && !chunk_is_first(stage_check, chunk);
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

    if (chunk_is_first(stage_check, task->chunk))
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

    if (chunk_is_last(stage_check, task->chunk))
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
    uint32_t *n = task->kind == HOOP_TASK_FORWARD ? stage_check->n_forward
                                                  : stage_check->n_backward;

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
    if ((unsigned)task->kind >= N_KINDS ||
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

    for (size_t i = 0; i < N_KINDS * n_cells; i++) {
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
    CLEANUP(free) bool *is_done_of = calloc(N_KINDS * n_forwards, sizeof(bool));
    CLEANUP(free)
    uint32_t *counts = calloc(2 * (size_t)options->n_chunks, sizeof(*counts));

    if (!is_done_of || !counts)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to check %zu forwards",
                           n_forwards);
    struct stage_check stage_check = {
        .options = options,
        .stage = stage,
        .is_task_done = is_done_of,
        .n_forward = counts,
        .n_backward = counts + options->n_chunks,
    };
    const enum hoop_status status =
        stage_check_task_list(&stage_check, schedule);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_n_live = stage_check.n_live_max;
    return HOOP_OK;
}
