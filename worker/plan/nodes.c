/* plan/nodes.c - which ranks of a communicator share a node */

#include "plan/nodes.h"

#include <assert.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"

DEFINE_CLEANUP(struct plan_nodes *, plan_nodes_destroy)

struct rank_node_name {
    uint32_t name;
    uint32_t rank;
};

static int
rank_node_name_compare(const void *left, const void *right)
{
    const struct rank_node_name *one = left;
    const struct rank_node_name *other = right;

    if (one->name != other->name)
        return one->name < other->name ? -1 : 1;
    return one->rank < other->rank ? -1 : one->rank > other->rank;
}

/* Stores in node_of, for the time being, the lowest rank of each rank's
 * node. */
static void
node_leaders_find(struct plan_nodes *nodes, const struct rank_node_name *sorted)
{
    uint32_t leader = 0;

    for (uint32_t i = 0; i < nodes->n_ranks; i++) {
        if (i == 0 || sorted[i].name != sorted[i - 1].name)
            leader = sorted[i].rank;
        nodes->node_of[sorted[i].rank] = leader;
    }
}

/* Ranks are visited in ascending order, so a leader is numbered before its
 * members. */
static void
nodes_assign_numbers(struct plan_nodes *nodes)
{
    for (uint32_t rank = 0; rank < nodes->n_ranks; rank++) {
        const uint32_t leader = nodes->node_of[rank];

        nodes->node_of[rank] =
            leader == rank ? nodes->n_nodes++ : nodes->node_of[leader];
        /* begin first counts the members, one index too late. */
        nodes->local_of[rank] = nodes->begin[nodes->node_of[rank] + 1]++;
    }
    for (uint32_t node = 0; node < nodes->n_nodes; node++)
        nodes->begin[node + 1] += nodes->begin[node];
    for (uint32_t rank = 0; rank < nodes->n_ranks; rank++)
        nodes->members[nodes->begin[nodes->node_of[rank]] +
                       nodes->local_of[rank]] = rank;
}

static bool
node_sizes_are_equal(const struct plan_nodes *nodes)
{
    for (uint32_t node = 1; node < nodes->n_nodes; node++)
        if (plan_nodes_node_size(nodes, node) != plan_nodes_node_size(nodes, 0))
            return false;
    return true;
}

enum hoop_status
plan_nodes_create(const uint32_t *names,
                  uint32_t n_ranks,
                  struct plan_nodes **out_nodes)
{
    CLEANUP(plan_nodes_destroy)
    struct plan_nodes *nodes = calloc(1, sizeof(*nodes));
    CLEANUP(free)
    struct rank_node_name *sorted = calloc(n_ranks, sizeof(*sorted));

    assert(n_ranks > 0);
    if (nodes) {
        nodes->n_ranks = n_ranks;
        nodes->node_of = calloc(n_ranks, sizeof(*nodes->node_of));
        nodes->local_of = calloc(n_ranks, sizeof(*nodes->local_of));
        nodes->members = calloc(n_ranks, sizeof(*nodes->members));
        nodes->begin = calloc((size_t)n_ranks + 1, sizeof(*nodes->begin));
    }
    if (!nodes || !sorted || !nodes->node_of || !nodes->local_of ||
        !nodes->members || !nodes->begin)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the nodes of %u "
                           "ranks",
                           n_ranks);
    for (uint32_t rank = 0; rank < n_ranks; rank++)
        sorted[rank] = (struct rank_node_name){names[rank], rank};
    qsort(sorted, n_ranks, sizeof(*sorted), rank_node_name_compare);
    node_leaders_find(nodes, sorted);
    nodes_assign_numbers(nodes);
    nodes->is_even = node_sizes_are_equal(nodes);
    *out_nodes = STEAL(nodes);
    return HOOP_OK;
}

void
plan_nodes_destroy(struct plan_nodes *nodes)
{
    if (!nodes)
        return;
    free(nodes->node_of);
    free(nodes->local_of);
    free(nodes->members);
    free(nodes->begin);
    free(nodes);
}

uint32_t
plan_nodes_node_size(const struct plan_nodes *nodes, uint32_t node)
{
    assert(node < nodes->n_nodes);
    return nodes->begin[node + 1] - nodes->begin[node];
}

uint32_t
plan_nodes_member_rank(const struct plan_nodes *nodes,
                       uint32_t node,
                       uint32_t member)
{
    assert(member < plan_nodes_node_size(nodes, node));
    return nodes->members[nodes->begin[node] + member];
}
