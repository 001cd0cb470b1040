/*
 * parallel/exchange.h - who gives which elements to whom
 *
 * Pure. Before and after, each place of a mesh has one tile. A rank keeps what
 * it has; what else it wants of a tile it gets from one of the ranks that have
 * the tile. Those who want some of it are numbered, and take turns among those
 * who have it: of N and K, nobody is asked by more than N / K, rounded up.
 *
 * Within one mesh a rank asks those who share its coordinates along all axes
 * that cut nothing, before or after.
 */

#ifndef PARALLEL_EXCHANGE_H
#define PARALLEL_EXCHANGE_H

#include "parallel/redistribution.h"
#include "parallel/tiling.h"

/* A mesh on the channel. */
struct exchange_side {
    struct tiling tiling;
    const uint32_t *places; /* [rank]; HOOP_NO_RANK: not in the mesh */
    const uint32_t *ranks;  /* [place] */
};

enum exchange_meshes {
    EXCHANGE_ONE_MESH,
    EXCHANGE_TWO_MESHES,
};

/* Axes of a side, as a number in mixed radix. */
struct exchange {
    struct exchange_side from;
    struct exchange_side to;
    enum redistribution_way way;
    struct grid_axes kept; /* of one mesh: they cut neither before nor after */
    struct grid_axes havers;  /* of from: tell apart who has the same tile */
    struct grid_axes wanters; /* of to: tell apart who wants the same tile */
};

/* The sides have been set; those of one mesh have the same places. */
void
exchange_init(struct exchange *exchange, enum exchange_meshes meshes);

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

/* How much a rank has to do. What it sends is what those who have the same tile
 * send in the mean: exact would be to ask for all pairs. */
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
