/* pipeline/schedule/pattern.c - orders computations: warm up, alternate, drain */

#include "pipeline/schedule/pattern.h"

#include <assert.h>
#include <stddef.h>

const struct pattern *
pattern_find(enum hoop_schedule_kind kind)
{
    switch (kind) {
    case HOOP_GPIPE:
        return &pattern_gpipe;
    case HOOP_1F1B:
        return &pattern_1f1b;
    case HOOP_INTERLEAVED:
        return &pattern_interleaved;
    }
    return NULL;
}

uint32_t
pattern_n_forwards(const struct hoop_schedule_options *options)
{
    return options->n_micro_batches * options->n_chunks;
}

static uint32_t
n_warm_up_forwards(const struct hoop_schedule_options *options, uint32_t stage)
{
    const uint32_t n_forwards = pattern_n_forwards(options);
    const uint64_t n =
        pattern_find(options->kind)->n_warm_up_forwards(options, stage);

    return n < n_forwards ? (uint32_t)n : n_forwards;
}

static struct hoop_task
forward_task(const struct hoop_schedule_options *options, uint32_t number)
{
    return pattern_find(options->kind)->forward_task(options, number);
}

/* Backwards run in the order of the forwards, but with the last chunk first. */
static struct hoop_task
backward_task(const struct hoop_schedule_options *options, uint32_t number)
{
    struct hoop_task task = forward_task(options, number);

    task.kind = HOOP_TASK_BACKWARD;
    task.chunk = options->n_chunks - 1 - task.chunk;
    return task;
}

void
pattern_list_tasks(const struct hoop_schedule_options *options,
                   uint32_t stage,
                   struct hoop_task *out_tasks)
{
    const uint32_t n = pattern_n_forwards(options);
    const uint32_t n_ahead = n_warm_up_forwards(options, stage);
    struct hoop_task *at = out_tasks;

    for (uint32_t i = 0; i < n_ahead; i++)
        *at++ = forward_task(options, i);
    for (uint32_t i = n_ahead; i < n; i++) {
        *at++ = forward_task(options, i);
        *at++ = backward_task(options, i - n_ahead);
    }
    for (uint32_t i = n - n_ahead; i < n; i++)
        *at++ = backward_task(options, i);
    assert(at == out_tasks + 2 * (size_t)n);
}

uint32_t
pattern_n_live_activations(const struct hoop_schedule_options *options,
                           uint32_t stage)
{
    const uint32_t n_ahead = n_warm_up_forwards(options, stage);

    return n_ahead < pattern_n_forwards(options) ? n_ahead + 1 : n_ahead;
}
