/*
 * parallel/route.h - the cheapest row of steps from one sharding to another
 *
 * Pure: Dijkstra's search over shardings. Within one mesh, hops lead from each
 * to others (parallel/hop.h). An exchange leads from where nothing is left to
 * be reduced to the target, or to where one allgather makes it the target; it
 * may change the mesh. A direct way is known before the search begins, so that
 * there is an answer however many shardings there are: past
 * LIMIT_ROUTE_SHARDINGS no new ones are looked at.
 *
 * The tensor is never spread out on the way: no part in between is larger than
 * the larger one of those at both ends.
 */

#ifndef PARALLEL_ROUTE_H
#define PARALLEL_ROUTE_H

#include "parallel/hop.h"
#include "parallel/redistribution.h"

enum route_kind {
    ROUTE_ONE_MESH,   /* hops, and exchanges */
    ROUTE_TWO_MESHES, /* reductions, an exchange, an allgather */
    ROUTE_HOPS,       /* hops alone, through parts of any size */
};

struct route_leg {
    struct hop hop;
    enum redistribution_mesh mesh;
    struct hoop_sharding before;
};

struct route_request {
    enum route_kind kind;
    /* Plain (sharding_plain()); all that is partial in to is so in from. */
    struct hoop_sharding from;
    struct hoop_sharding to;
    struct hop_rules from_rules;
    struct hop_rules to_rules; /* ROUTE_HOPS: not looked at */
    uint32_t n_legs;           /* at most */
    /* Of a leg, 0 or more. */
    enum hoop_status (*cost)(void *owner,
                             const struct route_leg *leg,
                             double *out_cost);
    void *owner;
};

struct route {
    uint32_t n_legs;
    struct route_leg legs[HOOP_MAX_STEPS];
    double cost;
};

/*
 * Handle: HOOP_E_EXHAUSTED (no memory; or no row of n_legs was found, of
 * ROUTE_HOPS only), and those of cost.
 */
enum hoop_status
route_find(const struct route_request *request, struct route *out_route);

#endif
