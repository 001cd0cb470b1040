/*
 * train_3d/trainer.h - connects the parts of a training in three dimensions
 *
 *   pipeline  train_3d/stage.h: hoop_schedule_run() calls forward and backward
 *             of micro-batches, and moves streams between stages meanwhile
 *   tensor    train_3d/region.h: each layer enters and leaves a region that
 *             the ranks divide, by hoop's mappings
 *   data      train_3d/optimizer.h: hoop_gradients_t or hoop_sharded_t turn
 *             what all replicas have seen into one step
 */

#ifndef TRAIN_3D_TRAINER_H
#define TRAIN_3D_TRAINER_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"

#include "train_3d/axes.h"
#include "train_3d/model.h"
#include "train_3d/optimizer.h"
#include "train_3d/stage.h"
#include "train_3d/text.h"
#include "train_3d/timeline.h"

struct trainer_options {
    struct axes_sizes sizes;
    struct dimensions dimensions; /* the trainer sets part and n_parts */
    enum hoop_schedule_kind schedule;
    uint32_t n_chunks;
    uint32_t n_micro_batches; /* per step, over all replicas */
    enum optimizer_place place;
    float rate; /* the learning rate */
};

/* How this rank has spent its time. */
struct trainer_times {
    uint64_t total_ns;
    uint64_t schedule_ns; /* in hoop_schedule_run(), including the next two */
    uint64_t compute_ns;  /* in forward and backward */
    uint64_t wait_ns;     /* waiting for other stages */
};

struct trainer {
    struct trainer_options options;
    const struct axes *axes; /* borrowed */
    struct model model;
    struct optimizer optimizer;
    struct stage stage;
    struct timeline timeline; /* that of the last step */
    struct trainer_times times;
    uint64_t n_steps; /* steps taken so far */
};

/* All ranks call it. text is borrowed until trainer_deinit(), which must also
 * be called after a failure. */
HOOP_NODISCARD enum hoop_status
trainer_init(struct trainer *trainer,
             const struct trainer_options *options,
             const struct axes *axes,
             const struct text *text);
/* The memory may also be zeroed. */
void
trainer_deinit(struct trainer *trainer);

/* Takes one step. The loss is the mean over all tokens, and the same on all
 * ranks. */
HOOP_NODISCARD enum hoop_status
trainer_step(struct trainer *trainer, double *out_loss);

#endif
