/*
 * plan/nodes.h - which ranks of a communicator share a node
 *
 * Nodes are numbered in the order of their lowest ranks. The members of a node
 * are in ascending order; the first is its leader.
 */

#ifndef PLAN_NODES_H
#define PLAN_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

struct plan_nodes {
    uint32_t n_ranks;
    uint32_t n_nodes;
    uint32_t *node_of;  /* [rank]: the number of its node */
    uint32_t *local_of; /* [rank]: its index within its node */
    uint32_t *members;  /* ranks, node after node */
    /* [node]: index in members of the node's first; n_nodes + 1 entries. */
    uint32_t *begin;
    bool is_even; /* all nodes have the same number of ranks */
};

/*
 * names[rank] may be any number that all ranks of a node share and no other
 * rank has. The caller destroys the result.
 * Handle: HOOP_E_EXHAUSTED.
 */
enum hoop_status
plan_nodes_create(const uint32_t *names,
                  uint32_t n_ranks,
                  struct plan_nodes **out_nodes);
void
plan_nodes_destroy(struct plan_nodes *nodes);

uint32_t
plan_nodes_node_size(const struct plan_nodes *nodes, uint32_t node);
/* The rank of a node's member, counted from 0. */
uint32_t
plan_nodes_member_rank(const struct plan_nodes *nodes,
                       uint32_t node,
                       uint32_t member);

#endif
