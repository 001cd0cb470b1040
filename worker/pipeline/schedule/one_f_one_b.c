/*
 * pipeline/schedule/one_f_one_b.c - 1F1B: each backward as early as possible
 *
 * It takes as long as GPipe, but a stage holds only the micro-batches that are
 * between it and the end of the pipeline: the first backward arrives after as
 * many forwards as there are stages from this one on.
 */

#include "pipeline/schedule/pattern.h"

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
