/*
 * model/simulation_mapping.h - which ranks a simulation follows
 *
 * A simulation follows virtual ranks. In a full mapping each rank is one. If
 * all nodes are alike and do the same, it is enough to follow one node. In a
 * reduced mapping each virtual rank stands for the ranks with the same index on
 * every node, and a message to another node counts as one from another node. If
 * all ranks are on one node, or each has its own, a single virtual rank stands
 * for all.
 */

#ifndef MODEL_SIMULATION_MAPPING_H
#define MODEL_SIMULATION_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/plan.h"

/* Where the sender and the receiver of a message find each other. */
struct simulation_message_address {
    uint32_t from; /* virtual ranks */
    uint32_t to;
    uint32_t message;
    /* from node to node; a virtual rank may stand for both ends. */
    bool crosses;
};

struct simulation_mapping {
    const struct plan_shape *shape; /* borrowed */
    uint32_t n_vranks;
    uint32_t n_nodes; /* nodes that are followed */
    /* Ranks of the same node that a virtual rank stands for. */
    uint32_t n_represented_ranks;
    bool is_reduced;
};

struct simulation_mapping
simulation_mapping_make_full(const struct plan_shape *shape);

/*
 * *out_is_fair says whether the nodes are alike and, as far as a few samples
 * show, do the same. If it is false, *out_mapping is not written.
 * Handle: none (HOOP_E_EXHAUSTED).
 */
enum hoop_status
simulation_mapping_make_reduced(const struct plan_shape *shape,
                                const struct algorithm *algorithm,
                                struct simulation_mapping *out_mapping,
                                bool *out_is_fair);

uint32_t
simulation_mapping_rank_of(const struct simulation_mapping *mapping,
                           uint32_t vrank);
uint32_t
simulation_mapping_vrank_of(const struct simulation_mapping *mapping,
                            uint32_t rank);

/* The index among the nodes that are followed. */
uint32_t
simulation_mapping_node_of(const struct simulation_mapping *mapping,
                           uint32_t vrank);

/* The number of ranks on the virtual rank's node, including itself and those
 * that are not followed. */
uint32_t
simulation_mapping_node_size(const struct simulation_mapping *mapping,
                             uint32_t vrank);

/* Are vrank and the rank peer on two nodes? */
bool
simulation_mapping_crosses_nodes(const struct simulation_mapping *mapping,
                                 uint32_t vrank,
                                 uint32_t peer);

/* Returns the address under which the sender and the receiver of step, a
 * step of vrank, find each other. */
struct simulation_message_address
simulation_mapping_address_of(const struct simulation_mapping *mapping,
                              uint32_t vrank,
                              const struct plan_step *step);

#endif
