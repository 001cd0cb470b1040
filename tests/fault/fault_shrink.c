/* tests/fault/fault_shrink.c - those that are left shrink, and go on */

#include "fault_shrink.h"

#include <stdio.h>

enum {
    N_SUMMED = 5000,
};

int32_t
fault_element(uint32_t rank, size_t at)
{
    return (int32_t)(at * 7 + rank * 1000003);
}

static int32_t
expected_at(const hoop_comm_t *comm, size_t at)
{
    uint32_t sum = 0;

    for (uint32_t rank = 0; rank < hoop_comm_size(comm); rank++)
        sum += (uint32_t)fault_element(hoop_comm_world_rank(comm, rank), at);
    return (int32_t)sum;
}

static enum hoop_status
sum_up(hoop_comm_t *comm, uint32_t world_rank, bool *out_is_wrong)
{
    static int32_t values[N_SUMMED];

    for (size_t i = 0; i < N_SUMMED; i++)
        values[i] = fault_element(world_rank, i);
    const enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, values, N_SUMMED, HOOP_INT32, HOOP_SUM, comm);
    for (size_t i = 0; i < N_SUMMED && status == HOOP_OK; i++)
        *out_is_wrong |= values[i] != expected_at(comm, i);
    return status;
}

void
fault_shrink(hoop_comm_t *world, struct fault_rest *out_rest)
{
    hoop_comm_t *comm = NULL;

    out_rest->has_tried = true;
    out_rest->status = hoop_comm_shrink(world, &comm);
    if (out_rest->status == HOOP_OK) {
        out_rest->size = hoop_comm_size(comm);
        out_rest->status =
            sum_up(comm, hoop_comm_rank(world), &out_rest->is_wrong);
    }
    if (out_rest->status != HOOP_OK)
        snprintf(out_rest->text, sizeof(out_rest->text), "%s",
                 hoop_error_text());
    hoop_comm_free(comm);
}
