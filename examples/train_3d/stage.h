/*
 * train_3d/stage.h - what a stage of the pipeline does in a step
 *
 * hoop_schedule_run() decides when, and has the streams ready; what is here are
 * the forward and the backward that it calls.
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
    struct optimizer *optimizer; /* is told when gradients are ready */
    struct timeline *timeline;
    const struct axes *axes;
    const struct text *text;
    hoop_schedule_t *schedule;
    hoop_pipeline_t *pipeline;
    struct token *tokens;       /* of a micro-batch */
    struct hoop_piece *pieces;  /* room for some parameters */
    size_t *n_backwards;        /* of this step, for each chunk */
    uint64_t first_micro_batch; /* of this step, of all that there ever were */
};

/* With the borrowed members set, and zeros behind them. Undo with
 * stage_deinit(), also after a failure. */
HOOP_NODISCARD enum hoop_status
stage_init(struct stage *stage, enum hoop_schedule_kind schedule);
/* Zeroed memory is fine. */
void
stage_deinit(struct stage *stage);

/* Forward and backward of all micro-batches; the first one's number counts all
 * that there ever were, on all replicas. */
HOOP_NODISCARD enum hoop_status
stage_run(struct stage *stage,
          uint64_t first_micro_batch,
          struct hoop_run_stats *out_stats);

#endif
