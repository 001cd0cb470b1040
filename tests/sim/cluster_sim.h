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

/* Below n. */
uint64_t
sim_random(struct sim *sim, uint64_t n);

/* The event, now, and what comes of it. */
void
sim_step(struct sim *sim, const struct cluster_event *event);

/* A request that will be answered; its event is filled in by the caller. */
struct model_ticket *
ticket_open(struct sim *sim, unsigned int job, int client);

/* A member joins or leaves a group, or lists them. */
void
group_send(struct sim *sim, int index);

#endif
