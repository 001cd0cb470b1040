/*
 * train_3d/region.h - enters and leaves the part of a layer that ranks divide
 *
 * Inside, each rank of the tensor-parallel group has all rows (tokens), and
 * computes a part of the columns or a part of a sum. Outside, a rank has either
 * some of the rows with all columns, or all rows and columns, like every other
 * rank:
 *
 *                      sequence parallel        replicated
 *   enter              gather rows              nothing
 *   leave              sum, scatter rows        sum
 *   leave, backward    gather rows              nothing
 *   enter, backward    sum, scatter rows        sum
 *
 * Sequence-parallel ranks do the work outside, and have its memory, only once;
 * replicated ranks repeat both. The amount of data sent is the same.
 */

#ifndef TRAIN_3D_REGION_H
#define TRAIN_3D_REGION_H

#include <stdint.h>

#include "hoop/hoop.h"

#include "train_3d/matrix.h"

enum region_rows {
    ROWS_SEQUENCE_PARALLEL,
    ROWS_REPLICATED,
};

struct region {
    enum region_rows rows; /* what a rank has outside */
    hoop_comm_t *comm;     /* borrowed */
    uint64_t wait_ns;      /* time spent in these calls so far */
};

HOOP_NODISCARD enum hoop_status
region_enter(struct region *region, struct matrix mine, struct matrix all);
HOOP_NODISCARD enum hoop_status
region_leave(struct region *region, struct matrix all, struct matrix mine);

HOOP_NODISCARD enum hoop_status
region_leave_backward(struct region *region,
                      struct matrix mine_grad,
                      struct matrix all_grad);
HOOP_NODISCARD enum hoop_status
region_enter_backward(struct region *region,
                      struct matrix all_grad,
                      struct matrix mine_grad);

#endif
