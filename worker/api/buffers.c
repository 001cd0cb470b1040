/* api/buffers.c - what a collective reads and writes on this rank */

#include "api/buffers.h"

#include <stdint.h>

#include "base/error.h"
#include "dtype/dtype.h"
#include "session/comm.h"

static size_t
counts_sum(const size_t *counts, uint32_t n_counts)
{
    size_t sum = 0;

    for (uint32_t rank = 0; rank < n_counts; rank++)
        sum += counts[rank];
    return sum;
}

size_t
collective_total_count(const struct collective *collective,
                       const hoop_comm_t *comm)
{
    const uint32_t size = context_size(comm->context);
    const unsigned all = COLL_SEND_ALL | COLL_RECV_ALL;

    if (collective->counts)
        return counts_sum(collective->counts, size);
    return collective->parts & all ? collective->count * size
                                   : collective->count;
}

static void
buffers_count_elements(const struct collective *collective,
                       const hoop_comm_t *comm,
                       struct collective_buffers *buffers)
{
    const uint32_t rank = context_rank(comm->context);
    const uint32_t size = context_size(comm->context);
    const size_t total = collective_total_count(collective, comm);
    const size_t own =
        collective->counts ? collective->counts[rank] : collective->count;

    buffers->n_input = collective->parts & COLL_SEND_ALL ? total : own;
    buffers->n_output = collective->parts & COLL_RECV_ALL ? total : own;
    if (collective->recv_counts)
        buffers->n_output = counts_sum(collective->recv_counts, size);
}

void
buffers_set_pointers(const struct collective *collective,
                     const hoop_comm_t *comm,
                     struct collective_buffers *buffers)
{
    const bool is_root = context_rank(comm->context) == collective->root;

    buffers->input = collective->send;
    buffers->output = collective->recv;
    if (collective->send == HOOP_IN_PLACE)
        buffers->input = collective->recv;
    if (collective->recv == HOOP_IN_PLACE)
        buffers->output = (void *)(uintptr_t)collective->send;
    buffers->is_in_place = buffers->input == buffers->output;
    /* On this rank only one buffer matters: the plan must not touch the
     * other. */
    if ((collective->parts & COLL_SEND_AT_ROOT) && !is_root) {
        buffers->input = buffers->output;
        buffers->n_input = 0;
    }
    if ((collective->parts & COLL_RECV_AT_ROOT) && !is_root) {
        buffers->output = (void *)(uintptr_t)buffers->input;
        buffers->n_output = 0;
    }
}

struct collective_buffers
buffers_from_collective(const struct collective *collective,
                        const hoop_comm_t *comm)
{
    struct collective_buffers buffers;

    buffers_count_elements(collective, comm, &buffers);
    buffers_set_pointers(collective, comm, &buffers);
    return buffers;
}

static bool
buffers_overlap(const struct collective_buffers *buffers, size_t element_size)
{
    const uintptr_t input = (uintptr_t)buffers->input;
    const uintptr_t output = (uintptr_t)buffers->output;

    return input != output && buffers->n_input > 0 && buffers->n_output > 0 &&
           input < output + buffers->n_output * element_size &&
           output < input + buffers->n_input * element_size;
}

enum hoop_status
buffers_check(const struct collective *collective,
              const hoop_comm_t *comm,
              const struct collective_buffers *buffers)
{
    const uint32_t rank = context_rank(comm->context);

    if (collective->parts & COLL_NO_BUFFERS)
        return HOOP_OK;
    if (collective->send == HOOP_IN_PLACE && collective->recv == HOOP_IN_PLACE)
        return error_raise(HOOP_E_INVALID,
                           "send and recv cannot both be HOOP_IN_PLACE");
    if (!buffers->input && buffers->n_input > 0)
        return error_raise(HOOP_E_INVALID, "send is NULL on rank %u", rank);
    if (!buffers->output && buffers->n_output > 0)
        return error_raise(HOOP_E_INVALID, "recv is NULL on rank %u", rank);
    if (buffers_overlap(buffers, dtype_size(collective->dtype)))
        return error_raise(HOOP_E_INVALID,
                           "send and recv overlap on rank %u and are not the "
                           "same: use HOOP_IN_PLACE or two buffers",
                           rank);
    return HOOP_OK;
}
