/* hoop/redistribute.h - how a tensor gets from one layout to another
 *
 * A redistribution is a row of steps: collectives along axes of a mesh, and
 * exchanges, in which every rank fetches what it has not from who has it.
 * Which row is found by search, for the cheapest.
 */

#ifndef HOOP_REDISTRIBUTE_H
#define HOOP_REDISTRIBUTE_H

#include <stdint.h>

#include "hoop/api.h"
#include "hoop/sharding.h"

HOOP_BEGIN

enum hoop_step_kind {
    HOOP_STEP_SLICE, /* a part of what is here: nothing is sent */
    HOOP_STEP_ALLGATHER,
    HOOP_STEP_ALL_TO_ALL,
    HOOP_STEP_REDUCE_SCATTER,
    HOOP_STEP_ALLREDUCE,
    /* Every rank fetches what it has not from one of those who have it. */
    HOOP_STEP_EXCHANGE,
    /* From whole to addends: the first along the axes keeps what it has, the
     * others have what changes nothing. Nothing is sent. */
    HOOP_STEP_FILL,
};

enum {
    HOOP_MAX_STEPS = 16
};

/* What a rank does, along axes of a mesh. */
struct hoop_step {
    enum hoop_step_kind kind;
    struct hoop_axes axes;      /* none: an exchange */
    uint32_t gather_dim;        /* ALLGATHER, ALL_TO_ALL */
    uint32_t shard_dim;         /* SLICE, REDUCE_SCATTER, ALL_TO_ALL */
    struct hoop_sharding after; /* how the tensor lies then */
    uint64_t bytes_sent;        /* by this rank */
    uint64_t bytes_total;       /* by all */
    double time_us;             /* estimate */
};

HOOP_END

#endif
