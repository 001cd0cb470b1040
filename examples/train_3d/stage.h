/*
 * train_3d/stage.h - what a stage of the pipeline does in a step
 *
 * hoop_schedule_run() decides when a stage computes, and moves the streams
 * between stages. The stage provides the forward and the backward.
 */

#ifndef TRAIN_3D_STAGE_H
#define TRAIN_3D_STAGE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"

#include "train_3d/axes.h"
#include "train_3d/model.h"
#include "train_3d/optimizer.h"
#include "train_3d/text.h"
#include "train_3d/timeline.h"

struct stage {
    struct model *model;         /* borrowed, as are the next four */
    struct optimizer *optimizer; /* learns when gradients are ready */
    struct timeline *timeline;
    const struct axes *axes;
    const struct text *text;
    hoop_schedule_t *schedule;
    hoop_pipeline_t *pipeline;
    struct token *tokens;       /* those of one micro-batch */
    struct hoop_piece *pieces;  /* memory to list some parameters */
    size_t *n_backwards;        /* in this step, for each chunk */
    uint64_t first_micro_batch; /* of this step, counted over all steps */
};

/* The caller has set the borrowed members and zeroed the others. Undo it with
 * stage_deinit(), also after a failure. */
HOOP_NODISCARD enum hoop_status
stage_init(struct stage *stage, enum hoop_schedule_kind schedule);
/* The memory may also be zeroed. */
void
stage_deinit(struct stage *stage);

/* Runs forward and backward of all micro-batches of a step. first_micro_batch
 * counts those of all steps so far, on all replicas. */
HOOP_NODISCARD enum hoop_status
stage_run(struct stage *stage,
          uint64_t first_micro_batch,
          struct hoop_run_stats *out_stats);

#endif
