/*
 * model/simulation_host.h - processors and networks, and how long they are busy
 *
 * A resource is described by the time until which it has work. New work shares
 * the resource and need not wait for earlier work to finish, but it ends no
 * sooner than all earlier work, and idle time is lost. Only small messages
 * overtake large ones. A rank is one thread. The ranks of a node share its
 * processors and, in each direction, its network interface, where large
 * messages from several nodes slow each other down.
 *
 * Work must be added roughly in the order of its start.
 */

#ifndef MODEL_SIMULATION_HOST_H
#define MODEL_SIMULATION_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "model/simulation.h"
#include "model/simulation_flow.h"
#include "model/simulation_mapping.h"
#include "model/simulation_match_queue.h"

/* Until when the resource has work: messages of one piece, and all messages. */
struct simulation_busy_until {
    double pieces_ns;
    double all_ns;
};

struct simulation_node;

/* Zeroed memory is a valid deinit target. */
struct simulation_hosts {
    const struct simulation_machine *machine; /* borrowed */
    const struct simulation_mapping *mapping; /* borrowed */
    struct simulation_busy_until *threads;    /* [virtual rank] */
    struct simulation_node *nodes;
};

/* Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_hosts_init(struct simulation_hosts *hosts,
                      const struct simulation_machine *machine,
                      const struct simulation_mapping *mapping);
void
simulation_hosts_deinit(struct simulation_hosts *hosts);

/* Let the virtual rank do the flow's work. Sets the time at which it ends. */
void
simulation_hosts_add_work(struct simulation_hosts *hosts,
                          uint32_t vrank,
                          struct simulation_flow *flow);

/* Returns when the data that vrank sends in flow arrives. The flow must be
 * settled. */
struct simulation_arrival_times
simulation_hosts_transmit(struct simulation_hosts *hosts,
                          uint32_t vrank,
                          uint32_t peer,
                          const struct simulation_flow *flow);

#endif
