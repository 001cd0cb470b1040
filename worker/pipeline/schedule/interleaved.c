/*
 * pipeline/schedule/interleaved.c - 1F1B over several chunks of each stage
 *
 * Micro-batches form groups of as many as there are stages. A group passes
 * through chunk 0, then through chunk 1, which is when its first micro-batch
 * has come round the ring of stages, and so on. The pipeline fills with chunks
 * instead of stages, which takes a fraction of the time; in return a stage
 * holds more activations.
 *
 * The warm-up is Megatron's: all chunks but one of the first group, and two
 * forwards for each later stage, where 1F1B has one. So each message has the
 * time of one computation to arrive. Megatron requires groups of equal size.
 * Here left-over micro-batches enlarge groups, each by as few as possible: a
 * smaller group would have to wait for its own first micro-batch to come round.
 */

#include <stdbool.h>

#include "pipeline/schedule/pattern.h"

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
