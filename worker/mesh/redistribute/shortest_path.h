/*
 * mesh/redistribute/shortest_path.h - the cheapest sequence of steps between shardings
 *
 * Pure: Dijkstra's algorithm over shardings. Within one mesh, steps along lines
 * lead from each sharding to others (mesh/redistribute/mesh_step.h). An exchange leads
 * from a sharding with nothing left to reduce to the target, or to one that a
 * single allgather turns into the target; it may change the mesh. A direct path
 * is known before the search begins, so there is always a result: after
 * LIMIT_PATH_SHARDINGS shardings no new ones are added.
 *
 * The tensor never grows on the way: no part in between is larger than the
 * larger of the parts at both ends.
 */

#ifndef MESH_REDISTRIBUTE_SHORTEST_PATH_H
#define MESH_REDISTRIBUTE_SHORTEST_PATH_H

#include "mesh/redistribute/mesh_step.h"
#include "mesh/redistribute/redistribution.h"

enum shortest_path_kind {
    SHORTEST_PATH_ONE_MESH,   /* steps along lines, and exchanges */
    SHORTEST_PATH_TWO_MESHES, /* reductions, an exchange, an allgather */
    /* steps along lines only, with parts of any size */
    SHORTEST_PATH_MESH_STEPS,
};

struct path_step {
    struct mesh_step mesh_step;
    enum redistribution_mesh mesh;
    struct hoop_sharding before;
};

struct shortest_path_request {
    enum shortest_path_kind kind;
    /* In the canonical form of sharding_canonical(), but
     * SHORTEST_PATH_MESH_STEPS keeps axes of size 1. Axes partial in to are
     * partial in from. */
    struct hoop_sharding from;
    struct hoop_sharding to;
    struct mesh_step_rules from_rules;
    struct mesh_step_rules to_rules; /* not used by SHORTEST_PATH_MESH_STEPS */
    uint32_t n_path_steps;           /* largest number of steps */
    /* Computes the cost of a step, 0 or more. */
    enum hoop_status (*cost)(void *owner,
                             const struct path_step *path_step,
                             double *out_cost);
    void *owner;
};

struct shortest_path {
    uint32_t n_path_steps;
    struct path_step path_steps[HOOP_MAX_STEPS];
    double cost;
};

/* Finds the cheapest path.
 * Handle: HOOP_E_EXHAUSTED (no memory; for SHORTEST_PATH_MESH_STEPS also: no
 * path of n_path_steps was found), and those of cost. */
enum hoop_status
shortest_path_find(const struct shortest_path_request *request,
                   struct shortest_path *out_shortest_path);

#endif
