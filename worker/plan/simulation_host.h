/*
 * plan/simulation_host.h - processors and networks, and who has used them
 *
 * Each is known by until when it has work. What is added waits for nobody, it
 * shares; but it ends no sooner than all that was added before, and idle time
 * is lost. Only small messages pass by large ones. A rank is one thread, a
 * node's ranks share its processors and, each way, its network interface, where
 * large messages of several nodes hinder each other.
 *
 * Work must be added in the order of its begin, more or less.
 */

#ifndef PLAN_SIMULATION_HOST_H
#define PLAN_SIMULATION_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/simulation.h"
#include "plan/simulation_flow.h"
#include "plan/simulation_mapping.h"
#include "plan/simulation_match_queue.h"

/* Until when there is work: messages of one piece, and all. */
struct simulation_queue {
    double pieces_ns;
    double all_ns;
};

struct simulation_node;

/* Zeroed memory is a valid deinit target. */
struct simulation_hosts {
    const struct simulation_machine *machine; /* borrowed */
    const struct simulation_mapping *mapping; /* borrowed */
    struct simulation_queue *threads;         /* [vrank] */
    struct simulation_node *nodes;
};

/* Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_hosts_init(struct simulation_hosts *hosts,
                      const struct simulation_machine *machine,
                      const struct simulation_mapping *mapping);
void
simulation_hosts_deinit(struct simulation_hosts *hosts);

/* The vrank does the flow's work. Settles when it ends. */
void
simulation_hosts_work(struct simulation_hosts *hosts,
                      uint32_t vrank,
                      struct simulation_flow *flow);

/* When what vrank sends, in a settled flow, is there. */
struct simulation_arrival
simulation_hosts_transmit(struct simulation_hosts *hosts,
                          uint32_t vrank,
                          uint32_t peer,
                          const struct simulation_flow *flow);

#endif
