/* algorithms/team.c - a subset of a communicator's ranks, in an order of its own */

#include "algorithms/team.h"

#include <assert.h>

#include "plan/nodes.h"

uint32_t
team_n_nodes(const struct plan_shape *shape)
{
    return shape->nodes ? shape->nodes->n_nodes : 1;
}

uint32_t
team_node_of(const struct plan_shape *shape, uint32_t rank)
{
    return shape->nodes ? shape->nodes->node_of[rank] : 0;
}

static uint32_t
local_of(const struct plan_shape *shape, uint32_t rank)
{
    return shape->nodes ? shape->nodes->local_of[rank] : rank;
}

static uint32_t
node_first_index(const struct plan_shape *shape, uint32_t node)
{
    if (shape->nodes)
        return shape->nodes->begin[node];
    return node == 0 ? 0 : shape->size;
}

uint32_t
team_rank_in_node_order(const struct plan_shape *shape, uint32_t index)
{
    assert(index < shape->size);
    return shape->nodes ? shape->nodes->members[index] : index;
}

struct team
team_of_node(const struct plan_shape *shape)
{
    assert(!shape->nodes || shape->nodes->n_ranks == shape->size);

    return (struct team){
        .shape = shape,
        .kind = TEAM_NODE,
        .which = team_node_of(shape, shape->rank),
    };
}

struct team
team_of_local_rank(const struct plan_shape *shape)
{
    assert(team_nodes_have_equal_size(shape));

    return (struct team){
        .shape = shape,
        .kind = TEAM_SAME_LOCAL_RANK,
        .which = local_of(shape, shape->rank),
    };
}

struct team
team_of_leaders(const struct plan_shape *shape, uint32_t root)
{
    assert(root < shape->size);

    return (struct team){
        .shape = shape,
        .kind = TEAM_LEADERS,
        .which = root,
    };
}

uint32_t
team_size(const struct team *team)
{
    if (team->kind != TEAM_NODE)
        return team_n_nodes(team->shape);
    return node_first_index(team->shape, team->which + 1) -
           node_first_index(team->shape, team->which);
}

uint32_t
team_rank_at(const struct team *team, uint32_t place)
{
    const struct plan_shape *shape = team->shape;

    assert(place < team_size(team));
    switch (team->kind) {
    case TEAM_NODE:
        return team_rank_in_node_order(
            shape, node_first_index(shape, team->which) + place);
    case TEAM_SAME_LOCAL_RANK:
        return team_rank_in_node_order(shape, node_first_index(shape, place) +
                                                  team->which);
    case TEAM_LEADERS:
        if (place == team_node_of(shape, team->which))
            return team->which;
        return team_rank_in_node_order(shape, node_first_index(shape, place));
    }
    return shape->rank;
}

uint32_t
team_own_place(const struct team *team)
{
    const struct plan_shape *shape = team->shape;
    const uint32_t place = team->kind == TEAM_NODE
                               ? local_of(shape, shape->rank)
                               : team_node_of(shape, shape->rank);

    return team_rank_at(team, place) == shape->rank ? place : team_size(team);
}

uint32_t
team_leader_place(const struct plan_shape *shape, uint32_t root)
{
    const bool root_is_here =
        team_node_of(shape, root) == team_node_of(shape, shape->rank);

    return root_is_here ? local_of(shape, root) : 0;
}

bool
team_nodes_have_equal_size(const struct plan_shape *shape)
{
    return !shape->nodes || shape->nodes->is_even;
}

struct team_represented_ranks
team_represented_ranks(const struct team *team,
                       uint32_t place,
                       uint32_t n_places)
{
    const struct plan_shape *shape = team->shape;
    const uint32_t begin = node_first_index(shape, team->which);

    assert(team->kind != TEAM_SAME_LOCAL_RANK);
    if (team->kind == TEAM_LEADERS)
        return (struct team_represented_ranks){
            node_first_index(shape, place),
            node_first_index(shape, place + n_places)};
    return (struct team_represented_ranks){begin + place,
                                           begin + place + n_places};
}
