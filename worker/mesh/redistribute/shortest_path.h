/*
 * mesh/redistribute/shortest_path.h - the cheapest sequence of steps between
 * shardings
 *
 * Pure: Dijkstra's algorithm over shardings. Steps along lines lead from each
 * sharding to others (mesh/redistribute/mesh_step.h). A path may end with an
 * exchange from a sharding that differs from the source only by reductions. It
 * leads to the target, or to a sharding that a single allgather turns into the
 * target, and may change the mesh. "Reduce all, then exchange" is always among
 * the paths, so there is a result even if LIMIT_PATH_SHARDINGS shardings have
 * been found and no new ones are added.
 *
 * The tensor never grows on the way: no part in between is larger than the
 * larger of the parts at both ends.
 */

#ifndef MESH_REDISTRIBUTE_SHORTEST_PATH_H
#define MESH_REDISTRIBUTE_SHORTEST_PATH_H

#include "mesh/redistribute/mesh_step.h"
#include "mesh/redistribute/redistribution.h"

enum shortest_path_kind {
    SHORTEST_PATH_ONE_MESH,
    /* Paths end with an exchange; from_rules allow reductions only. */
    SHORTEST_PATH_TWO_MESHES,
    /* without exchanges, and with parts of any size */
    SHORTEST_PATH_MESH_STEPS,
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
    uint32_t n_steps_max;
    /* Sets the time of a step, which is its cost in any unit, 0 or more. It may
     * set the algorithm. */
    enum hoop_status (*cost)(void *owner, struct redistribution_step *step);
    void *owner;
};

/* Finds the cheapest path.
 * Handle: HOOP_E_EXHAUSTED (no memory; for SHORTEST_PATH_MESH_STEPS also: no
 * path of n_steps_max steps was found), and those of cost. */
enum hoop_status
shortest_path_find(const struct shortest_path_request *request,
                   struct redistribution_steps *out_path);

#endif
