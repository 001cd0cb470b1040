/*
 * plan/simulation_mapping.h - who plays which rank
 *
 * A simulation has vranks. In a full mapping each rank is one. Where all nodes are
 * alike and do the same, it is enough to follow one: in a small mapping its ranks
 * stand for those of the same place on every node, and a message to another
 * node is taken for one from another node. Where all ranks are on one node, or
 * each has its own, a single rank stands for all.
 */

#ifndef PLAN_SIMULATION_MAPPING_H
#define PLAN_SIMULATION_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/plan.h"
#include "plan/simulation_match_queue.h"

struct simulation_mapping {
    const struct plan_shape *shape; /* borrowed */
    uint32_t n_vranks;
    uint32_t n_nodes;  /* that are followed */
    uint32_t n_behind; /* ranks of the same node that a vrank stands for */
    bool is_reduced;
};

struct simulation_mapping
simulation_mapping_full(const struct plan_shape *shape);

/*
 * *out_is_fair: the nodes are alike, and so is what some of them do, as far as
 * a few samples show. Not fair: *out_mapping is not written.
 * Handle: none (HOOP_E_EXHAUSTED).
 */
enum hoop_status
simulation_mapping_reduced(const struct plan_shape *shape,
                           const struct algorithm *algorithm,
                           struct simulation_mapping *out_mapping,
                           bool *out_is_fair);

uint32_t
simulation_mapping_rank(const struct simulation_mapping *mapping,
                        uint32_t vrank);
uint32_t
simulation_mapping_vrank(const struct simulation_mapping *mapping,
                         uint32_t rank);

/* Of those that are followed. */
uint32_t
simulation_mapping_node(const struct simulation_mapping *mapping,
                        uint32_t vrank);

/* Ranks of the vrank's node, itself and those that nobody follows included. */
uint32_t
simulation_mapping_mates(const struct simulation_mapping *mapping,
                         uint32_t vrank);

/* Are vrank and the rank that it talks to on two nodes? */
bool
simulation_mapping_crosses(const struct simulation_mapping *mapping,
                           uint32_t vrank,
                           uint32_t peer);

/* Where sender and receiver of step, which is vrank's, look for each other. */
struct simulation_address
simulation_mapping_address(const struct simulation_mapping *mapping,
                           uint32_t vrank,
                           const struct plan_step *step);

#endif
