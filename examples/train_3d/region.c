/* train_3d/region.c - enters and leaves the divided part of a layer */

#include "train_3d/region.h"

#include "train_3d/clock.h"

enum hoop_status
region_enter(struct region *region, struct matrix mine, struct matrix all)
{
    const uint64_t begin_ns = clock_ns();
    const struct hoop_tensor input = matrix_tensor(mine);
    struct hoop_tensor output = matrix_tensor(all);
    enum hoop_status status = HOOP_OK;

    switch (region->rows) {
    case ROWS_SEQUENCE_PARALLEL:
        status = hoop_gather_from_sp_forward(
            &input, &output, HOOP_CONSUMER_SHARDED, NULL, region->comm);
        break;
    case ROWS_REPLICATED:
        status = hoop_copy_to_tp_forward(&input, &output, region->comm);
        break;
    }
    region->wait_ns += clock_ns() - begin_ns;
    return status;
}

enum hoop_status
region_leave(struct region *region, struct matrix all, struct matrix mine)
{
    const uint64_t begin_ns = clock_ns();
    const struct hoop_tensor input = matrix_tensor(all);
    struct hoop_tensor output = matrix_tensor(mine);
    enum hoop_status status = HOOP_OK;

    switch (region->rows) {
    case ROWS_SEQUENCE_PARALLEL:
        status = hoop_reduce_scatter_to_sp_forward(&input, &output, NULL,
                                                   region->comm);
        break;
    case ROWS_REPLICATED:
        status = hoop_reduce_from_tp_forward(&input, &output, region->comm);
        break;
    }
    region->wait_ns += clock_ns() - begin_ns;
    return status;
}

enum hoop_status
region_leave_backward(struct region *region,
                      struct matrix mine_grad,
                      struct matrix all_grad)
{
    const uint64_t begin_ns = clock_ns();
    const struct hoop_tensor output_grad = matrix_tensor(mine_grad);
    struct hoop_tensor input_grad = matrix_tensor(all_grad);
    enum hoop_status status = HOOP_OK;

    switch (region->rows) {
    case ROWS_SEQUENCE_PARALLEL:
        status = hoop_reduce_scatter_to_sp_backward(&output_grad, &input_grad,
                                                    NULL, region->comm);
        break;
    case ROWS_REPLICATED:
        status = hoop_reduce_from_tp_backward(&output_grad, &input_grad,
                                              region->comm);
        break;
    }
    region->wait_ns += clock_ns() - begin_ns;
    return status;
}

enum hoop_status
region_enter_backward(struct region *region,
                      struct matrix all_grad,
                      struct matrix mine_grad)
{
    const uint64_t begin_ns = clock_ns();
    const struct hoop_tensor output_grad = matrix_tensor(all_grad);
    struct hoop_tensor input_grad = matrix_tensor(mine_grad);
    enum hoop_status status = HOOP_OK;

    switch (region->rows) {
    case ROWS_SEQUENCE_PARALLEL:
        status = hoop_gather_from_sp_backward(&output_grad, &input_grad,
                                              HOOP_CONSUMER_SHARDED, NULL,
                                              region->comm);
        break;
    case ROWS_REPLICATED:
        status =
            hoop_copy_to_tp_backward(&output_grad, &input_grad, region->comm);
        break;
    }
    region->wait_ns += clock_ns() - begin_ns;
    return status;
}
