/*
 * plan/team.h - some ranks of a communicator, in an order of their own
 *
 * Teams follow from the nodes of a shape (plan/nodes.h; where shape->nodes is
 * NULL, all ranks are on one node). A member is known within its team by its
 * place. Pure arithmetic, nothing is allocated.
 */

#ifndef PLAN_TEAM_H
#define PLAN_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

enum team_kind {
    TEAM_NODE,            /* the ranks of a node, in ascending order */
    TEAM_SAME_LOCAL_RANK, /* of each node, in the order of the nodes, the one with the
                    same place there; all nodes have equal sizes */
    TEAM_LEADERS, /* of each node, in the order of the nodes, the root if it is
                    there, else the first */
};

struct team {
    const struct plan_shape *shape; /* borrowed */
    enum team_kind kind;
    uint32_t which; /* the node; the place in each node; the root */
};

/* Those that the shape's rank is in; it may be no leader. */
struct team
team_of_node(const struct plan_shape *shape);
struct team
team_of_local_rank(const struct plan_shape *shape);
struct team
team_of_leaders(const struct plan_shape *shape, uint32_t root);

uint32_t
team_size(const struct team *team);
uint32_t
team_rank(const struct team *team, uint32_t place);
/* Of the shape's rank; the size if it is none of them. */
uint32_t
team_place(const struct team *team);

/* The place of the rank's node's leader among those of its node. */
uint32_t
team_leader_place(const struct plan_shape *shape, uint32_t root);

/* Do all nodes have the same number of ranks? */
bool
team_nodes_are_equal(const struct plan_shape *shape);

uint32_t
team_n_nodes(const struct plan_shape *shape);
uint32_t
team_node_of(const struct plan_shape *shape, uint32_t rank);

/*
 * All ranks, node after node. What the members of a team stand for is [first,
 * end) of them: a leader for its whole node, a member of a node for itself.
 * Equals stand for nothing.
 */
struct team_share {
    uint32_t first;
    uint32_t end;
};

struct team_share
team_share(const struct team *team, uint32_t place, uint32_t n_places);
uint32_t
team_rank_by_node(const struct plan_shape *shape, uint32_t index);

#endif
