/*
 * train_3d/region.h - in and out of the part of a layer that ranks divide
 *
 * Inside, each rank of the tensor-parallel group has all rows (tokens), and
 * makes a part of the columns, or a part of a sum. Outside, it has either some
 * of the rows and all columns, or all of both, as every other rank has:
 *
 *                      sequence parallel        replicated
 *   enter              gather rows              nothing
 *   leave              sum, scatter rows        sum
 *   leave, backward    gather rows              nothing
 *   enter, backward    sum, scatter rows        sum
 *
 * The first does the work outside, and has the memory for it, only once; what is
 * sent is the same.
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
    enum region_rows rows; /* outside */
    hoop_comm_t *comm;     /* borrowed */
    uint64_t wait_ns;      /* time spent here so far */
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
