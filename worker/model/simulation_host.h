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
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "model/simulation.h"
#include "model/simulation_graph.h"
#include "model/simulation_mapping.h"

struct simulation_arrival_times {
    double first_ns; /* of the first piece */
    double last_ns;  /* of the whole message */
};

struct simulation_match_entry;

/* Messages that one side has posted or waits for. Either side may come first.
 * Messages with the same address are received in the order in which they were
 * posted. Zeroed memory is an empty queue. */
struct simulation_match_queue {
    struct simulation_match_entry *entries;
    uint32_t *buckets;
    uint32_t n_entries;
    uint32_t n_buckets;
    uint32_t n_used; /* entries in use or on the free list */
    uint32_t capacity;
    uint32_t spare;
    uint32_t sweep; /* the bucket of the step that was released last */
};

static const uint32_t SIMULATION_NO_STEP = UINT32_MAX;

void
simulation_match_queue_deinit(struct simulation_match_queue *match_queue);

/* Post a message. *out_step is the step that waited for it, or
 * SIMULATION_NO_STEP: the message then stays in the queue. Handle: none
 * (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_match_queue_post(struct simulation_match_queue *match_queue,
                            const struct simulation_message_address *address,
                            const struct simulation_arrival_times *arrival,
                            uint32_t *out_step);

/* Receive a message. If it has been posted, *out_is_here is true, and the
 * message moves from the queue to *out_arrival. Otherwise step waits in the
 * queue. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_match_queue_await(struct simulation_match_queue *match_queue,
                             const struct simulation_message_address *address,
                             uint32_t step,
                             struct simulation_arrival_times *out_arrival,
                             bool *out_is_here);

/* Removes and returns one step that waits; SIMULATION_NO_STEP if none does. */
uint32_t
simulation_match_queue_pop_waiter(struct simulation_match_queue *match_queue);

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
