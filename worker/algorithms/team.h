/*
 * algorithms/team.h - a subset of a communicator's ranks, in an order of its own
 *
 * Teams follow from the nodes of a shape (plan/nodes.h; if shape->nodes is
 * NULL, all ranks are on one node). The place of a member is its index in the
 * team. Pure arithmetic; nothing is allocated.
 */

#ifndef ALGORITHMS_TEAM_H
#define ALGORITHMS_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

enum team_kind {
    TEAM_NODE, /* the ranks of a node, in ascending order */
    /* The ranks of one index in their nodes, one per node, in the order of the
     * nodes; all nodes must have equal sizes. */
    TEAM_SAME_LOCAL_RANK,
    /* The leaders of the nodes, in the order of the nodes: the root on its
     * node, the first rank on the others. */
    TEAM_LEADERS,
};

struct team {
    const struct plan_shape *shape; /* borrowed */
    enum team_kind kind;
    /* TEAM_NODE: the node; TEAM_SAME_LOCAL_RANK: the index; TEAM_LEADERS: the
     * root. */
    uint32_t which;
};

/* The teams of the shape's rank. It need not be a member of the team of
 * leaders. */
struct team
team_of_node(const struct plan_shape *shape);
struct team
team_of_local_rank(const struct plan_shape *shape);
struct team
team_of_leaders(const struct plan_shape *shape, uint32_t root);

uint32_t
team_size(const struct team *team);
uint32_t
team_rank_at(const struct team *team, uint32_t place);
/* The place of the shape's rank; team_size() if it is not a member. */
uint32_t
team_own_place(const struct team *team);

/* The index, within this rank's node, of the node's leader. */
uint32_t
team_leader_place(const struct plan_shape *shape, uint32_t root);

/* Do all nodes have the same number of ranks? */
bool
team_nodes_have_equal_size(const struct plan_shape *shape);

uint32_t
team_n_nodes(const struct plan_shape *shape);
uint32_t
team_node_of(const struct plan_shape *shape, uint32_t rank);

/*
 * A range [first, end) of the list of all ranks in the order of their nodes. It
 * holds the ranks whose blocks some members of a team represent: a leader
 * represents its whole node, a member of a TEAM_NODE represents itself. Not for
 * TEAM_SAME_LOCAL_RANK.
 */
struct team_represented_ranks {
    uint32_t first;
    uint32_t end;
};

struct team_represented_ranks
team_represented_ranks(const struct team *team,
                       uint32_t place,
                       uint32_t n_places);
uint32_t
team_rank_in_node_order(const struct plan_shape *shape, uint32_t index);

#endif
