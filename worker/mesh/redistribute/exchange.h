/*
 * mesh/redistribute/exchange.h - which rank gives which elements to which rank
 *
 * The functions are pure. Each place of a mesh has one tile before the exchange
 * and one after it. A replica is a set of ranks that hold each element once;
 * the source may have several. Replicas are expected to be equal but need not
 * be, for example in data-parallel rows between two steps. So all elements of a
 * rank's result come from one replica (docs/tensors.md states the rule for
 * users):
 *
 * - A rank of the source takes from the replica that it belongs to, which has
 *   every element, and keeps the elements that it already has.
 * - A new rank, one outside the source, takes from the same replica as the first
 *   rank, by place, of its target replica that is in the source. Target replicas
 *   of new ranks only are assigned to source replicas in order: number i of n
 *   takes from number i * m / n of m, rounded down.
 *
 * After a reduction several ranks of one replica have equal tiles, bit by bit.
 * A rank takes from the one that shares its coordinates; new ranks take turns.
 */

#ifndef MESH_REDISTRIBUTE_EXCHANGE_H
#define MESH_REDISTRIBUTE_EXCHANGE_H

#include "mesh/grid.h"
#include "mesh/redistribute/redistribution.h"

/* A layout on a mesh, and the ranks of the context at its places. The context
 * is the communicator of all ranks that take part. */
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
    struct hoop_axes axes; /* axes of from that number its replicas */
    uint32_t n_replicas;
    uint32_t n_ranks; /* size of the context */
    uint32_t *source; /* [n_ranks]; HOOP_NO_RANK: not in the target */
    uint32_t *n_receiving_ranks; /* [n_ranks], of which n_replicas are used */
};

/* Fills *replicas. The caller has set n_ranks and the two lists of *replicas,
 * whose memory it owns, and the tilings of both sides. reduced has a bit for
 * each axis of from that is partial and gets reduced. */
void
replicas_assign_sources(struct replicas *replicas,
                        const struct exchange_side *from,
                        const struct exchange_side *to,
                        unsigned reduced);

/* Returns a bit for each axis of the target's mesh along which all ranks take
 * from the same replica. Only along these axes may received elements be
 * gathered. */
unsigned
replicas_shared_axes(const struct replicas *replicas,
                     const struct exchange_side *side);

/* A request that has been checked. */
struct redistribution_problem {
    const struct redistribution_request *request;
    enum exchange_meshes meshes;
    struct hoop_sharding from; /* backward: without partial axes, as to */
    struct hoop_sharding to;
    /* by mesh; their tilings are those of from and to */
    const struct exchange_side *sides[2];
    const struct replicas *replicas;
};

struct exchange {
    struct exchange_side from;
    struct exchange_side to;
    const struct replicas *replicas; /* borrowed */
    /* axes of from along which ranks of one replica have equal tiles */
    struct hoop_axes copies;
};

/* Returns the exchange between two shardings, which borrows from the
 * problem. */
struct exchange
exchange_between(const struct redistribution_problem *problem,
                 const struct hoop_sharding *before,
                 const struct hoop_sharding *after);

/* Finds what sender gives to receiver, as redistribution_piece() does. */
bool
exchange_find_piece(const struct exchange *exchange,
                    uint32_t sender,
                    uint32_t receiver,
                    struct redistribution_piece *out_piece);

/* Return the number of elements that a rank sends to the others of n_ranks, and
 * the number that it receives. */
size_t
exchange_n_sent(const struct exchange *exchange,
                uint32_t rank,
                uint32_t n_ranks);
size_t
exchange_n_received(const struct exchange *exchange, uint32_t rank);

/* The work of one rank. The sent amounts are estimates from the number of ranks
 * that take from its replica; exact ones would need a look at all pairs. */
struct exchange_rank_work {
    double n_sent; /* elements, as the next two */
    double n_received;
    double n_kept;
    double sends; /* number of messages */
    double receives;
};

/* Estimates the work of a rank in an exchange. */
struct exchange_rank_work
exchange_rank_work(const struct exchange *exchange, uint32_t rank);

#endif
