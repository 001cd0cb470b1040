/* pipeline/schedule/pattern.c - orders computations: warm up, alternate,
 * drain */

#include "pipeline/schedule/pattern.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * 1F1B over several chunks of each stage.
 *
 * Micro-batches form groups of as many as there are stages. A group passes
 * through chunk 0, then through chunk 1, which is when its first micro-batch
 * has come round the ring of stages, and so on. The pipeline fills with
 * chunks instead of stages, which takes a fraction of the time; in return a
 * stage holds more activations.
 *
 * The warm-up is Megatron's: all chunks but one of the first group, and two
 * forwards for each later stage, where 1F1B has one. So each message has the
 * time of one computation to arrive. Megatron requires groups of equal size.
 * Here left-over micro-batches enlarge groups, each by as few as possible: a
 * smaller group would have to wait for its own first micro-batch to come
 * round.
 */

/* How many micro-batches a group has; the first n_larger groups have one
 * more. */
struct micro_batch_groups {
    uint32_t size;
    uint32_t n_larger;
};

static struct micro_batch_groups
micro_batch_groups_of(const struct hoop_schedule_options *options)
{
    const uint32_t n_whole = options->n_micro_batches / options->n_stages;
    const uint32_t n_groups = n_whole > 0 ? n_whole : 1;

    return (struct micro_batch_groups){
        .size = options->n_micro_batches / n_groups,
        .n_larger = options->n_micro_batches % n_groups,
    };
}

static uint64_t
interleaved_n_warm_up(const struct hoop_schedule_options *options,
                      uint32_t stage)
{
    const struct micro_batch_groups groups = micro_batch_groups_of(options);
    const uint64_t n_group = groups.size + (groups.n_larger > 0);
    const uint64_t n_behind = options->n_stages - 1 - stage;

    return 2 * n_behind + (options->n_chunks - 1) * n_group;
}

static struct hoop_task
interleaved_forward_task(const struct hoop_schedule_options *options,
                         uint32_t number)
{
    const struct micro_batch_groups groups = micro_batch_groups_of(options);
    const uint32_t n_larger = groups.n_larger * (groups.size + 1);
    const bool is_larger = number < n_larger * options->n_chunks;
    const uint32_t begin = is_larger ? 0 : n_larger;
    const uint32_t n_group = groups.size + is_larger;
    const uint32_t n_behind = number - begin * options->n_chunks;
    const uint32_t n_before = n_behind / (n_group * options->n_chunks);
    const uint32_t place = n_behind % (n_group * options->n_chunks);

    return (struct hoop_task){
        .kind = HOOP_TASK_FORWARD,
        .micro_batch = begin + n_before * n_group + place % n_group,
        .chunk = place / n_group,
    };
}

const struct pattern pattern_interleaved = {
    .name = "interleaved 1F1B",
    .n_warm_up_forwards = interleaved_n_warm_up,
    .forward_task = interleaved_forward_task,
};

/*
 * 1F1B: each backward as early as possible.
 *
 * It takes as long as GPipe, but a stage holds only the micro-batches that
 * are between it and the end of the pipeline: the first backward arrives
 * after as many forwards as there are stages from this one on.
 */

static uint64_t
one_f_one_b_n_warm_up(const struct hoop_schedule_options *options,
                      uint32_t stage)
{
    return options->n_stages - 1 - stage;
}

static struct hoop_task
one_f_one_b_forward_task(const struct hoop_schedule_options *options,
                         uint32_t number)
{
    (void)options;
    return (struct hoop_task){
        .kind = HOOP_TASK_FORWARD,
        .micro_batch = number,
    };
}

const struct pattern pattern_1f1b = {
    .name = "1F1B",
    .n_warm_up_forwards = one_f_one_b_n_warm_up,
    .forward_task = one_f_one_b_forward_task,
};

/*
 * GPipe: all forwards, then all backwards.
 *
 * This is the simplest kind, and the one that holds most: every micro-
 * batch's activations until the forwards have ended. Backwards run in the
 * order of the forwards, as in the other kinds, so that gradients are summed
 * in the same order in every kind.
 */

static uint64_t
gpipe_n_warm_up(const struct hoop_schedule_options *options, uint32_t stage)
{
    (void)stage;
    return options->n_micro_batches;
}

static struct hoop_task
gpipe_forward_task(const struct hoop_schedule_options *options, uint32_t number)
{
    (void)options;
    return (struct hoop_task){
        .kind = HOOP_TASK_FORWARD,
        .micro_batch = number,
    };
}

const struct pattern pattern_gpipe = {
    .name = "GPipe",
    .n_warm_up_forwards = gpipe_n_warm_up,
    .forward_task = gpipe_forward_task,
};

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
