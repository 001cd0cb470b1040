/*
 * parallel/shortest_path.h - the cheapest row of steps from one sharding to another
 *
 * Pure: Dijkstra's search over shardings. Within one mesh, mesh_steps lead from each
 * to others (parallel/mesh_step.h). An exchange leads from where nothing is left to
 * be reduced to the target, or to where one allgather makes it the target; it
 * may change the mesh. A direct way is known before the search begins, so that
 * there is an answer however many shardings there are: past
 * LIMIT_PATH_SHARDINGS no new ones are looked at.
 *
 * The tensor is never spread out on the way: no part in between is larger than
 * the larger one of those at both ends.
 */

#ifndef PARALLEL_SHORTEST_PATH_H
#define PARALLEL_SHORTEST_PATH_H

#include "parallel/mesh_step.h"
#include "parallel/redistribution.h"

enum shortest_path_kind {
    SHORTEST_PATH_ONE_MESH,   /* mesh_steps, and exchanges */
    SHORTEST_PATH_TWO_MESHES, /* reductions, an exchange, an allgather */
    SHORTEST_PATH_MESH_STEPS, /* mesh_steps alone, through parts of any size */
};

struct path_step {
    struct mesh_step mesh_step;
    enum redistribution_mesh mesh;
    struct hoop_sharding before;
};

struct shortest_path_request {
    enum shortest_path_kind kind;
    /* Plain (sharding_plain()); all that is partial in to is so in from. */
    struct hoop_sharding from;
    struct hoop_sharding to;
    struct mesh_step_rules from_rules;
    struct mesh_step_rules
        to_rules;          /* SHORTEST_PATH_MESH_STEPS: not looked at */
    uint32_t n_path_steps; /* at most */
    /* Of a path_step, 0 or more. */
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

/*
 * Handle: HOOP_E_EXHAUSTED (no memory; or no row of n_path_steps was found, of
 * SHORTEST_PATH_MESH_STEPS only), and those of cost.
 */
enum hoop_status
shortest_path_find(const struct shortest_path_request *request,
                   struct shortest_path *out_shortest_path);

#endif
