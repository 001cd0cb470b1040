/*
 * parallel/redistribution.h - how a tensor gets from one layout to another
 *
 * Pure, and the same on every rank: from two layouts over the ranks of one
 * context to steps in a row. A step on lines is a collective among the ranks
 * that differ along some axes only, on all such lines at once; an exchange is
 * one alltoallv of the whole context, in which every rank gets each element
 * that it has not from one of those who have it.
 *
 * Whatever the steps are, all elements of a rank's result come from one replica
 * of the source (parallel/exchange.h): nothing is gathered or exchanged along
 * axes whose ranks take from different ones. So along axes that neither layout
 * of one mesh uses, nothing moves. An axis of size 1 counts as none.
 */

#ifndef PARALLEL_REDISTRIBUTION_H
#define PARALLEL_REDISTRIBUTION_H

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
#include "tune/tuner.h"

/* A layout, and where the places of its mesh are in the context. */
struct redistribution_side {
    const uint32_t *ranks; /* [place], each once; NULL: 0, 1, ... */
    struct hoop_mesh_shape mesh;
    struct hoop_sharding sharding;
};

enum redistribution_way {
    REDISTRIBUTION_FORWARD,
    /* Of a gradient: addends count as whole, on either side. */
    REDISTRIBUTION_BACKWARD,
};

struct redistribution_request {
    struct redistribution_side from;
    struct redistribution_side to;
    uint32_t n_ranks; /* of the context */
    struct hoop_shape shape;
    enum hoop_dtype dtype;
    enum redistribution_way way;
    /* What is fast: the machine, and the context's ranks in its world. NULL:
     * a machine is made up, and all ranks are on one node. */
    struct tuner *tuner;
    const uint32_t *world_ranks; /* [n_ranks]; NULL: 0, 1, ... */
};

enum redistribution_mesh {
    REDISTRIBUTION_FROM, /* the mesh of from, which may be that of to */
    REDISTRIBUTION_TO,
};

struct redistribution_step {
    enum hoop_step_kind kind;
    /* Whose ranks take part; of an exchange: before is on from's mesh, after
     * on to's. Where both are one mesh, FROM. */
    enum redistribution_mesh mesh;
    /* Of lines, and of a fill; the first counts most in the order of a line's
     * ranks and blocks. */
    struct hoop_axes axes;
    uint32_t gather_dim; /* ALLGATHER, ALL_TO_ALL: blocks are joined along it */
    uint32_t shard_dim;  /* SLICE, REDUCE_SCATTER, ALL_TO_ALL: cut along it */
    struct hoop_sharding before;
    struct hoop_sharding after;
    /* What does it on each line, or the exchange; NULL: nothing is sent. */
    const struct algorithm *algorithm;
    double time_ns; /* estimate */
};

/* Owns copies of all that it needs but the tuner. */
struct redistribution;

/*
 * *out_redistribution is the caller's. No steps: every rank of to's mesh has
 * what it needs, where it needs it.
 *
 * Handle: HOOP_E_INVALID (either sharding, as hoop_sharding_check(); dtype;
 * the ranks of a side: out of the context, or one twice; a partial operator
 * that is none of dtype), with the same text on every rank; HOOP_E_EXHAUSTED.
 */
enum hoop_status
redistribution_create(const struct redistribution_request *request,
                      struct redistribution **out_redistribution);
/* NULL is fine. */
void
redistribution_destroy(struct redistribution *redistribution);
DEFINE_CLEANUP(struct redistribution *, redistribution_destroy)

uint32_t
redistribution_n_steps(const struct redistribution *redistribution);
const struct redistribution_step *
redistribution_step(const struct redistribution *redistribution, uint32_t step);

/* Where a rank of the context is on a mesh; HOOP_NO_RANK: it is not. */
uint32_t
redistribution_place(const struct redistribution *redistribution,
                     enum redistribution_mesh mesh,
                     uint32_t rank);

/* What a rank has before a step, on that step's mesh; before step n_steps: in
 * the end. False: it is not in that mesh. */
bool
redistribution_part(const struct redistribution *redistribution,
                    uint32_t step,
                    uint32_t rank,
                    struct hoop_part *out_part);

/* Steps on lines, for a rank that takes part: the shape of its plan (not in
 * place, without nodes; in elements), whose size is the line's and whose rank
 * is its number in it; and the rank in the context of the line's n-th. */
struct plan_shape
redistribution_shape(const struct redistribution *redistribution,
                     uint32_t step,
                     uint32_t rank);
uint32_t
redistribution_member(const struct redistribution *redistribution,
                      uint32_t step,
                      uint32_t rank,
                      uint32_t n);

/* A box of elements, and where it lies in the parts of two ranks. */
struct redistribution_piece {
    struct hoop_shape shape;
    size_t in_sender[HOOP_MAX_DIMS]; /* offset along each dimension */
    size_t in_receiver[HOOP_MAX_DIMS];
};

/*
 * What sender gives to receiver in an exchange; both ranks of the context, and
 * maybe the same: what it keeps. False: nothing, *out_piece is not written.
 * The pieces of one receiver have each element of its part once.
 */
bool
redistribution_piece(const struct redistribution *redistribution,
                     uint32_t step,
                     uint32_t sender,
                     uint32_t receiver,
                     struct redistribution_piece *out_piece);

/* Payload that a rank sends to others in a step, and that all send together.
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

/* The same numbers on ranks that mean the same redistribution, for a call's
 * signature: what was asked for and the steps. */
const size_t *
redistribution_signature(const struct redistribution *redistribution,
                         uint32_t *out_n_numbers);

#endif
