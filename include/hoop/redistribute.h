/* hoop/redistribute.h - how a tensor gets from one layout to another
 *
 * A redistribution is a row of steps: collectives along axes of a mesh, and
 * exchanges, in which every rank fetches what it has not from a rank of its
 * replica that has it. The cheapest row is found by a search, the same on every
 * rank: by the times that steps are estimated to take, or by ColossalAI's costs.
 */

#ifndef HOOP_REDISTRIBUTE_H
#define HOOP_REDISTRIBUTE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "hoop/api.h"
#include "hoop/comm_spec.h"
#include "hoop/dtensor.h"
#include "hoop/sharding.h"
#include "hoop/status.h"

HOOP_BEGIN

enum hoop_step_kind {
    HOOP_STEP_SLICE, /* a part of what is here: nothing is sent */
    HOOP_STEP_ALLGATHER,
    HOOP_STEP_ALL_TO_ALL,
    HOOP_STEP_REDUCE_SCATTER,
    HOOP_STEP_ALLREDUCE,
    /* Every rank fetches what it has not from the one of its replica that has
     * it (hoop_dtensor_redistribute()). */
    HOOP_STEP_EXCHANGE,
    /* From whole to addends: the first along the axes keeps what it has, the
     * others have what changes nothing. Nothing is sent. */
    HOOP_STEP_FILL,
};

enum {
    HOOP_MAX_STEPS = 16
};

struct hoop_step {
    enum hoop_step_kind kind;
    /* Whose axes these are: the source's or the target's. Of two meshes of the
     * same ranks: one that is cut finer than both (2 x 4 and 4 x 2: 2 x 2 x 2).
     */
    struct hoop_mesh_shape mesh;
    struct hoop_axes axes; /* along which ranks differ; of an exchange: none */
    uint32_t gather_dim;   /* ALLGATHER, ALL_TO_ALL */
    uint32_t shard_dim;    /* SLICE, REDUCE_SCATTER, ALL_TO_ALL */
    struct hoop_sharding after; /* how the tensor lies on mesh then */
    /* What goes from rank to rank, without headers; what a rank has itself does
     * not. */
    uint64_t bytes_sent;  /* by this rank */
    uint64_t bytes_total; /* by all */
    double time_us;       /* estimate */
};

struct hoop_redistribution {
    uint32_t n_steps; /* 0: all have what they need */
    struct hoop_step steps[HOOP_MAX_STEPS];
    uint64_t bytes_sent; /* of all steps, as below */
    uint64_t bytes_total;
    double time_us;
};

/*
 * What hoop_dtensor_redistribute() does. Nothing is sent, and no communicator
 * is formed; a rank outside of both meshes gets the same, and sends nothing
 * itself. Which steps are fast depends on what the world has measured.
 *
 * Handle: HOOP_E_INVALID (as hoop_dtensor_redistribute()), HOOP_E_EXHAUSTED.
 * Thread (this and the next): any, while the tensor is not changed.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_redistribute_plan(const hoop_dtensor_t *dtensor,
                       const struct hoop_tensor_spec *spec,
                       struct hoop_redistribution *out_plan);

/*
 * The same as text, for people: what goes where, a line for each step, and the
 * sum.
 * Handle: HOOP_E_INVALID (also: out is NULL), HOOP_E_EXHAUSTED.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_redistribute_explain(const hoop_dtensor_t *dtensor,
                          const struct hoop_tensor_spec *spec,
                          FILE *out);

/* On one mesh; all is borrowed for the call. */
struct hoop_path_request {
    const struct hoop_sharding *from;
    const struct hoop_sharding *to;
    const struct hoop_mesh_shape *mesh;
    const struct hoop_shape *shape;
    const struct hoop_mesh_links *links; /* NULL: all 1 */
    bool is_forward_only;                /* backward costs nothing */
};

struct hoop_comm_path {
    uint32_t n_steps;
    /* Each along one axis; a spec's sharding is how the tensor lies before. */
    struct hoop_comm_spec steps[HOOP_MAX_STEPS];
    struct hoop_sharding after; /* the last of them: as to */
    struct hoop_comm_cost cost; /* of all */
};

/*
 * The cheapest row of specs from one sharding to another by
 * hoop_comm_spec_cost(), forward and backward together. ColossalAI's shape
 * consistency, whose rows may cost more. As there, ranks that have the same
 * elements count as the same: a row may gather along an axis that does not cut
 * from. Where there are many axes and dimensions, the search ends before it has
 * seen all.
 *
 * Pure. Handle: HOOP_E_INVALID (NULL; either sharding, as
 * hoop_sharding_check(); uneven parts; addends that are no sum, or that from
 * has not), HOOP_E_EXHAUSTED. Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_sharding_path(const struct hoop_path_request *request,
                   struct hoop_comm_path *out_path);

HOOP_END

#endif
