/*
 * coll/barrier.c - the public barrier
 *
 * Only what is its own; the rest is coll/collective.c.
 */

#include "coll/collective.h"

enum hoop_status
hoop_barrier(hoop_comm_t *comm)
{
    const struct collective collective = {
        .name = CALL_BARRIER,
        .parts = COLL_NO_BUFFERS,
        .comm = comm,
    };

    return collective_run(&collective);
}

enum hoop_status
hoop_barrier_start(hoop_comm_t *comm, hoop_op_t **out_op)
{
    const struct collective collective = {
        .name = CALL_BARRIER,
        .parts = COLL_NO_BUFFERS,
        .comm = comm,
    };

    return collective_start(&collective, out_op);
}
