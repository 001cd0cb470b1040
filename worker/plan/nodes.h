/*
 * plan/nodes.h - which ranks of a communicator share a node
 *
 * Nodes are numbered by their lowest rank. Within a node, members stand in
 * ascending order; the first is its leader.
 */

#ifndef PLAN_NODES_H
#define PLAN_NODES_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

struct plan_nodes {
    uint32_t n_ranks;
    uint32_t n_nodes;
    uint32_t *node_of;  /* [rank] */
    uint32_t *local_of; /* [rank]: its place within its node */
    uint32_t *members;  /* ranks, node after node */
    uint32_t *begin;    /* [node], and the end: where its members begin */
    bool is_even;       /* all nodes have the same number of ranks */
};

/*
 * names[rank] is any number that the ranks of one node share, and no others.
 * Handle: HOOP_E_EXHAUSTED.
 */
enum hoop_status
plan_nodes_create(const uint32_t *names,
                  uint32_t n_ranks,
                  struct plan_nodes **out_nodes);
void
plan_nodes_destroy(struct plan_nodes *nodes);

uint32_t
plan_nodes_size(const struct plan_nodes *nodes, uint32_t node);
/* The member-th rank of a node. */
uint32_t
plan_nodes_rank(const struct plan_nodes *nodes, uint32_t node, uint32_t member);

#endif
