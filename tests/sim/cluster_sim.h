/* tests/sim/cluster_sim.h - random clients, the coordinator and the model */

#ifndef SIM_CLUSTER_SIM_H
#define SIM_CLUSTER_SIM_H

#include <stdint.h>

#include "cluster_model.h"

struct sim {
    struct cluster *cluster;
    struct model model;
    uint64_t random;
    uint64_t ticket;
    uint64_t incarnation;
};

/* Returns a random number below n. */
uint64_t
sim_random(struct sim *sim, uint64_t n);

/* Passes the event to the coordinator now, and its actions to the model. */
void
sim_step(struct sim *sim, const struct cluster_event *event);

/* Opens a request that will be answered. The caller fills in its event. */
struct model_ticket *
ticket_open(struct sim *sim, unsigned int job, int client);

/* A member joins or leaves a group, or lists the groups. */
void
group_send(struct sim *sim, int index);

#endif
