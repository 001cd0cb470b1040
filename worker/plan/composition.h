/*
 * plan/composition.h - a plan made of other plans, each run by a team of ranks
 *
 * An algorithm for several nodes consists of algorithms that run inside the
 * nodes and between them; algorithms/hierarchical.c lists them as data.
 */

#ifndef PLAN_COMPOSITION_H
#define PLAN_COMPOSITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"

/*
 * A team is a subset of the ranks. Teams follow from the nodes of a shape
 * (plan/nodes.h; if shape->nodes is NULL, all ranks are on one node). The
 * place of a member is its index in the team. Pure arithmetic; nothing is
 * allocated.
 */

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
team_own_index(const struct team *team);

/* The index, within this rank's node, of the node's leader. */
uint32_t
team_leader_local_index(const struct plan_shape *shape, uint32_t root);

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

/*
 * A composition is a plan made of parts. A part is an algorithm that a team of
 * ranks runs. The algorithm plans its steps as if the team were the whole
 * communicator. The composition then translates them:
 *
 *     peer      from an index in the team to the rank
 *     message   * COMPOSITION_PARTS_MAX + the part's number, so that ranks which
 *               meet in several parts never use a number twice
 *     spans     input and output move to where the part says, scratch moves
 *               behind the elements that the composition itself keeps there
 *     is_final  only where the part says so: the sum of some of the ranks is
 *               not final
 *
 * A rank runs its parts one after another; a part whose team it is not in
 * has no rounds for it. Ranks do not synchronize between parts: as in any
 * plan, data orders the steps. Parts that are each free of deadlock stay so
 * together, because no part waits for a later one. For the same reason all
 * parts can use the same scratch.
 *
 * Every rank composes the same parts in the same order. Composing is cheap
 * and is repeated for every query; nothing is cached.
 */

enum {
    COMPOSITION_PARTS_MAX = 3
};

/* Is the combination that ends the part also the last one of its block? */
enum composition_finality {
    COMPOSITION_PARTIAL,
    COMPOSITION_FINAL,
};

/* What one element of the part stands for in the whole plan. */
enum composition_element_unit {
    COMPOSITION_UNIT_ELEMENT,
    /* All blocks that a member of the team represents
     * (team_represented_ranks), in the output. The algorithm must be a
     * gather or an all-gather of one block per member. Blocks that are not
     * contiguous make several messages. */
    COMPOSITION_UNIT_RANK_BLOCKS,
};

struct composition_part {
    const struct algorithm *algorithm;
    struct team team;
    /* The shape that the team sees; root is an index in the team.
     * composition_add_part() fills in size and rank. */
    struct plan_shape shape;
    /* Where element 0 of the part's input and output stands in the whole
     * plan. With COMPOSITION_UNIT_RANK_BLOCKS, input is the rank's own
     * block, and output is not used. */
    struct plan_span input;
    struct plan_span output;
    enum composition_finality end;
    enum composition_element_unit unit;
    /* The part runs rounds [begin, end) of the algorithm; a larger end is
     * reduced to the algorithm's number of rounds. */
    uint32_t round_begin;
    uint32_t round_end;
};

struct composition {
    const struct plan_shape *shape; /* borrowed */
    /* Elements at the start of scratch that the parts' own scratch follows. */
    size_t n_reserved_scratch;
    uint32_t n_parts;
    struct composition_part parts[COMPOSITION_PARTS_MAX];
};

/* Add a part. Before the first call, composition must be zeroed except for
 * shape. */
void
composition_add_part(struct composition *composition,
                     const struct composition_part *part);

/* Answer the queries of struct algorithm. composition_plan_round() appends the
 * round's steps to plan. */
uint32_t
composition_n_rounds(const struct composition *composition);
size_t
composition_n_scratch(const struct composition *composition);
void
composition_plan_round(const struct composition *composition,
                       struct plan *plan,
                       uint32_t round);

/* An all-reduce that can be interrupted: after its rounds before the middle
 * round, each rank holds one finished block. */
struct halved_allreduce {
    const struct algorithm *algorithm;
    uint32_t (*middle_round)(const struct plan_shape *shape);
    /* This rank's finished block, in the output. */
    struct plan_span (*own_block)(const struct plan_shape *shape);
};

/* The algorithms that run inside nodes and between them, and the order in which
 * they do. Members that a collective does not need are NULL. */
struct hierarchy {
    /* Adds the parts to a composition that is zeroed except for its shape. */
    void (*add_parts)(struct composition *composition,
                      const struct hierarchy *hierarchy);
    const struct algorithm *inside_first;
    const struct algorithm *between;
    const struct algorithm *inside_last;
    /* An all-reduce for nodes of equal sizes; it and between do everything. */
    const struct halved_allreduce *halves;
    /* On a single node, this algorithm does everything. */
    const struct algorithm *single_node;
};

#endif
