/*
 * model/simulation_match_queue.h - messages in transit, and steps that wait
 *
 * Either side may come first. Messages with the same address are received in
 * the order in which they were posted.
 */

#ifndef MODEL_SIMULATION_MATCH_QUEUE_H
#define MODEL_SIMULATION_MATCH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

struct simulation_message_address {
    uint32_t from; /* virtual ranks (model/simulation_mapping.h) */
    uint32_t to;
    uint32_t message;
    /* from node to node; a virtual rank may stand for both ends. */
    bool crosses;
};

struct simulation_arrival_times {
    double first_ns; /* of the first piece */
    double last_ns;  /* of the whole message */
};

struct simulation_match_entry;

/* Zeroed memory is an empty queue. */
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

#endif
