/*
 * train_3d/region.h - in and out of the part of a layer that ranks divide
 *
 * Outside, each rank of the tensor-parallel group has some of the rows (tokens)
 * and all columns: sequence parallelism. Inside, it has all rows, and makes a
 * part of the columns, or a part of a sum.
 *
 *   forward:  enter = gather rows           leave = sum, scatter rows
 *   backward: enter = sum, scatter rows     leave = gather rows
 */

#ifndef TRAIN_3D_REGION_H
#define TRAIN_3D_REGION_H

#include <stdint.h>

#include "hoop/hoop.h"

#include "train_3d/matrix.h"

struct region {
    hoop_comm_t *comm; /* borrowed */
    uint64_t wait_ns;  /* time spent here so far */
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
