/*
 * mesh/redistribute/redistribution.h - plans how a tensor changes its layout
 *
 * The functions are pure and return the same on every rank. From two layouts
 * over the ranks of one context they derive a sequence of steps. A step on
 * lines is a collective among ranks that differ along some axes only, on all
 * such lines at once. An exchange is one alltoallv over the whole context, in
 * which each rank gets every element that it lacks from one rank that has it.
 *
 * Whatever the steps are, all elements of a rank's result come from one replica
 * of the source (mesh/redistribute/exchange.h): nothing is gathered or
 * exchanged along axes whose ranks take from different replicas. So nothing
 * moves along axes that neither layout of one mesh uses. Axes of size 1 are
 * ignored.
 */

#ifndef MESH_REDISTRIBUTE_REDISTRIBUTION_H
#define MESH_REDISTRIBUTE_REDISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/dtype.h"
#include "hoop/redistribute.h"
#include "hoop/sharding.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

#include "base/cleanup.h"
#include "plan/plan.h"
#include "select/tuner.h"
#include "session/comm.h"

/* A layout, and the ranks of the context at the places of its mesh. */
struct redistribution_side {
    const uint32_t *ranks; /* [place], each rank once; NULL: 0, 1, ... */
    struct hoop_mesh_shape mesh;
    struct hoop_sharding sharding;
};

enum redistribution_direction {
    REDISTRIBUTION_FORWARD,
    /* Of a gradient: partial axes count as whole on both sides. */
    REDISTRIBUTION_BACKWARD,
};

struct redistribution_request {
    struct redistribution_side from;
    struct redistribution_side to;
    uint32_t n_ranks; /* size of the context */
    struct hoop_shape shape;
    enum hoop_dtype dtype;
    enum redistribution_direction way;
    /* Source of the machine's speeds and of the overrides. NULL: a typical
     * machine, with all ranks on one node. */
    struct tuner *tuner;
    /* [n_ranks]: the context's ranks in the world; NULL: 0, 1, ... */
    const uint32_t *world_ranks;
};

enum redistribution_mesh {
    REDISTRIBUTION_MESH_FROM, /* the mesh of from, which may also be that of to */
    REDISTRIBUTION_MESH_TO,
};

struct redistribution_step {
    enum hoop_step_kind kind;
    /* The mesh of the ranks that take part. For an exchange before is on from's
     * mesh and after is on to's. FROM if both are one mesh. */
    enum redistribution_mesh mesh;
    /* Of lines and of a fill. The first axis is the most significant in the
     * order of a line's ranks and blocks. */
    struct hoop_axes axes;
    /* ALLGATHER, ALL_TO_ALL: blocks are joined along it */
    uint32_t gather_dim;
    uint32_t shard_dim; /* SLICE, REDUCE_SCATTER, ALL_TO_ALL: cut along it */
    struct hoop_sharding before;
    struct hoop_sharding after;
    /* The algorithm for each line, or for the exchange. NULL: nothing is
     * sent. */
    const struct algorithm *algorithm;
    double time_ns; /* estimate */
};

struct redistribution_steps {
    uint32_t n_steps;
    struct redistribution_step steps[HOOP_MAX_STEPS];
};

/* A plan, with counted references. It owns copies of all that it needs but the
 * tuner. */
struct redistribution;

/* Plans a redistribution. The caller passes *out_redistribution to
 * redistribution_unref(). It has no steps if every rank of to's mesh already
 * has its part where it must be.
 * Handle: HOOP_E_INVALID (either sharding, as hoop_sharding_check(); dtype; a
 * rank of a side outside the context, or twice in it; a partial operator that
 * dtype does not have), with the same text on every rank; HOOP_E_EXHAUSTED. */
enum hoop_status
redistribution_create(const struct redistribution_request *request,
                      struct redistribution **out_redistribution);
/* Take a reference, and drop one; the last one frees the plan. NULL may be
 * dropped. Thread: any. */
struct redistribution *
redistribution_ref(struct redistribution *redistribution);
void
redistribution_unref(struct redistribution *redistribution);
DEFINE_CLEANUP(struct redistribution *, redistribution_unref)

/* Returns whether a request is the one of this plan. */
bool
redistribution_is_of_request(const struct redistribution *redistribution,
                             const struct redistribution_request *request);

/* Returns the world ranks of the context. */
struct rank_list
redistribution_world_ranks(const struct redistribution *redistribution);

uint32_t
redistribution_n_steps(const struct redistribution *redistribution);
const struct redistribution_step *
redistribution_step(const struct redistribution *redistribution, uint32_t step);

/* Returns the place of a rank of the context on a mesh, or HOOP_NO_RANK. */
uint32_t
redistribution_place_of_rank(const struct redistribution *redistribution,
                             enum redistribution_mesh mesh,
                             uint32_t rank);

/* Finds what a rank has before a step, on the mesh of that step; step n_steps
 * stands for the end. Returns false if the rank is not in that mesh. */
bool
redistribution_part_before(const struct redistribution *redistribution,
                           uint32_t step,
                           uint32_t rank,
                           struct hoop_part *out_part);

/* For a step on lines and a rank that takes part. redistribution_plan_shape()
 * returns the shape of the rank's plan in elements, not in place and without
 * nodes; its size is that of the line and its rank the number in the line.
 * redistribution_line_member() returns the rank in the context of the line's
 * n-th member. */
struct plan_shape
redistribution_plan_shape(const struct redistribution *redistribution,
                          uint32_t step,
                          uint32_t rank);
uint32_t
redistribution_line_member(const struct redistribution *redistribution,
                           uint32_t step,
                           uint32_t rank,
                           uint32_t n);

/* A box of elements in the parts of two ranks. */
struct redistribution_piece {
    struct hoop_part sent;     /* offset in the sender's part */
    struct hoop_part received; /* of the same shape, in the receiver's part */
};

/* Finds what sender gives to receiver in an exchange. Both are ranks of the
 * context; if they are the same, it is what the rank keeps. Returns false and
 * leaves *out_piece as it was if that is nothing. The pieces of a receiver have
 * each element of its part once. */
bool
redistribution_piece(const struct redistribution *redistribution,
                     uint32_t step,
                     uint32_t sender,
                     uint32_t receiver,
                     struct redistribution_piece *out_piece);

/* Compute the payload in bytes that a rank sends to others in a step, and that
 * all ranks send together.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
redistribution_bytes_sent(const struct redistribution *redistribution,
                          uint32_t step,
                          uint32_t rank,
                          uint64_t *out_n_bytes);
enum hoop_status
redistribution_bytes_total(const struct redistribution *redistribution,
                           uint32_t step,
                           uint64_t *out_n_bytes);

/* Returns numbers for the signature of a call: the request and the steps. They
 * are equal on ranks that run the same redistribution. */
const size_t *
redistribution_signature(const struct redistribution *redistribution,
                         uint32_t *out_n_numbers);

#endif
