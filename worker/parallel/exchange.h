/*
 * parallel/exchange.h - who gives which elements to whom
 *
 * Pure. Before and after, each place of a mesh has one tile. The ranks of the
 * source hold the tensor once or several times: a replica is a set of ranks
 * that hold each element once. Replicas are assumed to be the same, but need
 * not be, as those of data-parallel rows between two steps; so all elements of
 * a rank's result come from one replica (docs/tensors.md has the rule for
 * users):
 *
 * - A rank of the source takes from the replica that it is part of, which has
 *   every element; what it has itself it keeps.
 * - A rank that is new takes from the same replica as the first rank, by place,
 *   of its own replica of the target that the source has. Replicas of the
 *   target of which all ranks are new are dealt to those of the source in
 *   order: of n and m, number i takes from number i * m / n, rounded down.
 *
 * Where addends have been reduced several ranks of one replica have the same
 * tile, bit by bit: a rank asks the one that shares its coordinates, those that
 * are new take turns.
 */

#ifndef PARALLEL_EXCHANGE_H
#define PARALLEL_EXCHANGE_H

#include "parallel/redistribution.h"
#include "parallel/tiling.h"

/* A mesh on the context. */
struct exchange_side {
    struct tiling tiling;
    const uint32_t *places; /* [rank]; HOOP_NO_RANK: not in the mesh */
    const uint32_t *ranks;  /* [place] */
};

enum exchange_meshes {
    EXCHANGE_ONE_MESH,
    EXCHANGE_TWO_MESHES,
};

/* Which replica of the source each rank takes from. */
struct replicas {
    struct grid_axes axes; /* of from: tell its replicas apart */
    uint32_t n_replicas;
    uint32_t n_ranks;   /* of the context */
    uint32_t *source;   /* [n_ranks]; HOOP_NO_RANK: not in the target */
    uint32_t *n_takers; /* [n_ranks], used up to n_replicas */
};

/* The tilings of both sides have been set, and n_ranks and the lists of
 * *replicas, whose memory is the caller's. reduced: bits of from's axes that
 * hold addends and are reduced on the way. */
void
replicas_assign(struct replicas *replicas,
                const struct exchange_side *from,
                const struct exchange_side *to,
                unsigned reduced);

/* Bits of the axes of a mesh of the target's ranks along which all ranks take
 * from one replica: what they have got may be gathered along these. */
unsigned
replicas_shared_axes(const struct replicas *replicas,
                     const struct exchange_side *side);

struct exchange {
    struct exchange_side from;
    struct exchange_side to;
    const struct replicas *replicas; /* borrowed */
    struct grid_axes copies; /* of from: ranks of one replica, same tile */
};

/* The sides and the replicas have been set. */
void
exchange_init(struct exchange *exchange);

/* As redistribution_piece(). */
bool
exchange_piece(const struct exchange *exchange,
               uint32_t sender,
               uint32_t receiver,
               struct redistribution_piece *out_piece);

/* Elements that a rank gives to others of n_ranks, and that it gets. */
size_t
exchange_sent(const struct exchange *exchange, uint32_t rank, uint32_t n_ranks);
size_t
exchange_received(const struct exchange *exchange, uint32_t rank);

/* How much a rank has to do. What it sends is estimated from how many ranks
 * take from its replica: exact would be to ask for all pairs. */
struct exchange_load {
    double n_sent; /* elements */
    double n_received;
    double n_kept;
    double sends; /* messages */
    double receives;
};

struct exchange_load
exchange_load(const struct exchange *exchange, uint32_t rank);

#endif
