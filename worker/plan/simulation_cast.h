/*
 * plan/simulation_cast.h - who plays which rank
 *
 * A simulation has actors. In a full cast each rank is one. Where all nodes are
 * alike and do the same, it is enough to follow one: in a small cast its ranks
 * stand for those of the same place on every node, and a message to another
 * node is taken for one from another node. Where all ranks are on one node, or
 * each has its own, a single rank stands for all.
 */

#ifndef PLAN_SIMULATION_CAST_H
#define PLAN_SIMULATION_CAST_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/plan.h"
#include "plan/simulation_mail.h"

struct simulation_cast {
    const struct plan_shape *shape; /* borrowed */
    uint32_t n_actors;
    uint32_t n_nodes;  /* that are followed */
    uint32_t n_behind; /* ranks of the same node that an actor stands for */
    bool is_small;
};

struct simulation_cast
simulation_cast_full(const struct plan_shape *shape);

/*
 * *out_is_fair: the nodes are alike, and so is what some of them do, as far as
 * a few samples show. Not fair: *out_cast is not written.
 * Handle: none (HOOP_E_EXHAUSTED).
 */
enum hoop_status
simulation_cast_small(const struct plan_shape *shape,
                      const struct algorithm *algorithm,
                      struct simulation_cast *out_cast,
                      bool *out_is_fair);

uint32_t
simulation_cast_rank(const struct simulation_cast *cast, uint32_t actor);
uint32_t
simulation_cast_actor(const struct simulation_cast *cast, uint32_t rank);

/* Of those that are followed. */
uint32_t
simulation_cast_node(const struct simulation_cast *cast, uint32_t actor);

/* Ranks of the actor's node, itself and those that nobody follows included. */
uint32_t
simulation_cast_mates(const struct simulation_cast *cast, uint32_t actor);

/* Are actor and the rank that it talks to on two nodes? */
bool
simulation_cast_crosses(const struct simulation_cast *cast,
                        uint32_t actor,
                        uint32_t peer);

/* Where sender and receiver of step, which is actor's, look for each other. */
struct simulation_address
simulation_cast_address(const struct simulation_cast *cast,
                        uint32_t actor,
                        const struct plan_step *step);

#endif
