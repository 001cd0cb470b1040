/* schedule/census.c - what one stage's list says, taken alone */

#include "schedule/census.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "schedule/pattern.h"
#include "schedule/schedule.h"

enum {
    N_KINDS = HOOP_TASK_RECV_BACKWARD + 1
};

struct census {
    const struct hoop_schedule_options *options;
    uint32_t stage;
    bool *is_done;       /* [kind][chunk][micro-batch] */
    uint32_t *n_forward; /* [chunk]: forwards that were seen */
    uint32_t *n_backward;
    uint32_t n_live;
    uint32_t n_live_max;
};

static bool *
done_at(const struct census *census, const struct hoop_task *task)
{
    const struct hoop_schedule_options *options = census->options;
    const size_t row = (size_t)task->kind * options->n_chunks + task->chunk;

    return &census->is_done[row * options->n_micro_batches + task->micro_batch];
}

static bool
is_first(const struct census *census, uint32_t chunk)
{
    return census->stage == 0 && chunk == 0;
}

static bool
is_last(const struct census *census, uint32_t chunk)
{
    return census->stage == census->options->n_stages - 1 &&
           chunk == census->options->n_chunks - 1;
}

/* Whether the stage has such a task for a chunk at all. */
static bool
kind_belongs(const struct census *census,
             enum hoop_task_kind kind,
             uint32_t chunk)
{
    const bool is_alone = census->options->n_stages == 1;

    switch (kind) {
    case HOOP_TASK_FORWARD:
    case HOOP_TASK_BACKWARD:
        return true;
    case HOOP_TASK_SEND_FORWARD:
    case HOOP_TASK_RECV_BACKWARD:
        return !is_alone && !is_last(census, chunk);
    case HOOP_TASK_RECV_FORWARD:
    case HOOP_TASK_SEND_BACKWARD:
        return !is_alone && !is_first(census, chunk);
    }
    return false;
}

static enum hoop_status
fault(const struct census *census,
      const struct hoop_task *task,
      const char *what)
{
    char text[TASK_TEXT_MAX];

    return error_raise(HOOP_E_INTERNAL, "stage %u: %s %s", census->stage,
                       task_describe(task, text), what);
}

static bool
is_done(const struct census *census,
        const struct hoop_task *task,
        enum hoop_task_kind kind)
{
    const struct hoop_task other = {kind, task->micro_batch, task->chunk};

    return *done_at(census, &other);
}

/* A stage alone hands on to itself, from chunk to chunk. */
static bool
has_input(const struct census *census, const struct hoop_task *task)
{
    const struct hoop_task before = {HOOP_TASK_FORWARD, task->micro_batch,
                                     task->chunk - 1};

    if (is_first(census, task->chunk))
        return true;
    if (census->options->n_stages == 1)
        return *done_at(census, &before);
    return is_done(census, task, HOOP_TASK_RECV_FORWARD);
}

static bool
has_output_grad(const struct census *census, const struct hoop_task *task)
{
    const struct hoop_task behind = {HOOP_TASK_BACKWARD, task->micro_batch,
                                     task->chunk + 1};

    if (is_last(census, task->chunk))
        return true;
    if (census->options->n_stages == 1)
        return *done_at(census, &behind);
    return is_done(census, task, HOOP_TASK_RECV_BACKWARD);
}

static bool
has_needs(const struct census *census, const struct hoop_task *task)
{
    switch (task->kind) {
    case HOOP_TASK_FORWARD:
        return has_input(census, task);
    case HOOP_TASK_BACKWARD:
        return is_done(census, task, HOOP_TASK_FORWARD) &&
               has_output_grad(census, task);
    case HOOP_TASK_SEND_FORWARD:
        return is_done(census, task, HOOP_TASK_FORWARD);
    case HOOP_TASK_SEND_BACKWARD:
        return is_done(census, task, HOOP_TASK_BACKWARD);
    case HOOP_TASK_RECV_FORWARD:
    case HOOP_TASK_RECV_BACKWARD:
        return true;
    }
    return false;
}

/* Computed in the order of the micro-batches; and what is kept for it. */
static enum hoop_status
census_compute(struct census *census, const struct hoop_task *task)
{
    uint32_t *n = task->kind == HOOP_TASK_FORWARD ? census->n_forward
                                                  : census->n_backward;

    if (n[task->chunk]++ != task->micro_batch)
        return fault(census, task, "comes out of the micro-batches' order");
    if (task->kind == HOOP_TASK_BACKWARD) {
        census->n_live--;
        return HOOP_OK;
    }
    if (++census->n_live > census->n_live_max)
        census->n_live_max = census->n_live;
    return HOOP_OK;
}

static enum hoop_status
census_task(struct census *census, const struct hoop_task *task)
{
    if ((unsigned)task->kind >= N_KINDS ||
        task->chunk >= census->options->n_chunks ||
        task->micro_batch >= census->options->n_micro_batches)
        return fault(census, task, "does not exist");
    if (!kind_belongs(census, task->kind, task->chunk))
        return fault(census, task, "is none of this stage's");
    if (*done_at(census, task))
        return fault(census, task, "stands there twice");
    if (!has_needs(census, task))
        return fault(census, task, "comes before what it needs");
    *done_at(census, task) = true;
    return task_is_computed(task) ? census_compute(census, task) : HOOP_OK;
}

static enum hoop_status
census_missing(const struct census *census)
{
    const struct hoop_schedule_options *options = census->options;
    const size_t n_cells = (size_t)options->n_chunks * options->n_micro_batches;

    for (size_t i = 0; i < N_KINDS * n_cells; i++) {
        const struct hoop_task task = {
            .kind = (enum hoop_task_kind)(i / n_cells),
            .micro_batch = (uint32_t)(i % options->n_micro_batches),
            .chunk =
                (uint32_t)(i / options->n_micro_batches % options->n_chunks),
        };

        if (!census->is_done[i] && kind_belongs(census, task.kind, task.chunk))
            return fault(census, &task, "is missing");
    }
    return HOOP_OK;
}

static enum hoop_status
census_take(struct census *census, const struct hoop_schedule *schedule)
{
    const uint32_t stage = census->stage;
    const uint32_t n_promised = pattern_n_live(census->options, stage);

    for (size_t i = schedule->firsts[stage]; i < schedule->firsts[stage + 1];
         i++) {
        const enum hoop_status status =
            census_task(census, &schedule->tasks[i]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    const enum hoop_status status = census_missing(census);
    if (status != HOOP_OK)
        return error_pass(status);
    if (census->n_live_max > n_promised)
        return error_raise(HOOP_E_INTERNAL,
                           "stage %u keeps the activations of %u micro-batches "
                           "and chunks at a time; %s promises %u",
                           stage, census->n_live_max,
                           pattern_of(census->options->kind)->name, n_promised);
    return HOOP_OK;
}

enum hoop_status
census_check(const struct hoop_schedule *schedule,
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
    struct census census = {
        .options = options,
        .stage = stage,
        .is_done = is_done_of,
        .n_forward = counts,
        .n_backward = counts + options->n_chunks,
    };
    const enum hoop_status status = census_take(&census, schedule);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_n_live = census.n_live_max;
    return HOOP_OK;
}
