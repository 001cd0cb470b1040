/* train_3d/region.c - in and out of the part of a layer that ranks divide */

#include "train_3d/region.h"

#include "train_3d/clock.h"

enum hoop_status
region_enter(struct region *region, struct matrix mine, struct matrix all)
{
    const uint64_t begin_ns = clock_ns();
    const enum hoop_status status = hoop_allgather(
        mine.at, all.at, matrix_count(mine), HOOP_FLOAT32, region->comm);

    region->wait_ns += clock_ns() - begin_ns;
    return status;
}

enum hoop_status
region_leave_backward(struct region *region,
                      struct matrix mine_grad,
                      struct matrix all_grad)
{
    const uint64_t begin_ns = clock_ns();
    const enum hoop_status status =
        hoop_allgather(mine_grad.at, all_grad.at, matrix_count(mine_grad),
                       HOOP_FLOAT32, region->comm);

    region->wait_ns += clock_ns() - begin_ns;
    return status;
}

enum hoop_status
region_leave(struct region *region, struct matrix all, struct matrix mine)
{
    const uint64_t begin_ns = clock_ns();
    const enum hoop_status status =
        hoop_reduce_scatter(all.at, mine.at, matrix_count(mine), HOOP_FLOAT32,
                            HOOP_SUM, region->comm);

    region->wait_ns += clock_ns() - begin_ns;
    return status;
}

enum hoop_status
region_enter_backward(struct region *region,
                      struct matrix all_grad,
                      struct matrix mine_grad)
{
    const uint64_t begin_ns = clock_ns();
    const enum hoop_status status =
        hoop_reduce_scatter(all_grad.at, mine_grad.at, matrix_count(mine_grad),
                            HOOP_FLOAT32, HOOP_SUM, region->comm);

    region->wait_ns += clock_ns() - begin_ns;
    return status;
}
