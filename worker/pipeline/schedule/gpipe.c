/*
 * pipeline/schedule/gpipe.c - GPipe: all forwards, then all backwards
 *
 * This is the simplest kind, and the one that holds most: every micro-batch's
 * activations until the forwards have ended. Backwards run in the order of the
 * forwards, as in the other kinds, so that gradients are summed in the same
 * order in every kind.
 */

#include "pipeline/schedule/pattern.h"

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
