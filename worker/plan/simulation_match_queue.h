/*
 * plan/simulation_match_queue.h - messages under way, and who waits for one
 *
 * Either side may come first. Messages of one address are taken in the order
 * in which they were posted.
 */

#ifndef PLAN_SIMULATION_MATCH_QUEUE_H
#define PLAN_SIMULATION_MATCH_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

struct simulation_address {
    uint32_t from; /* vranks (plan/simulation_mapping.h) */
    uint32_t to;
    uint32_t message;
    bool crosses; /* from node to node: one vrank may stand for both ends */
};

struct simulation_arrival {
    double first_ns; /* the first piece */
    double last_ns;  /* all of it */
};

struct simulation_match_entry;

/* Zeroed memory holds nothing. */
struct simulation_match_queue {
    struct simulation_match_entry *entries;
    uint32_t *buckets;
    uint32_t n_entries;
    uint32_t n_buckets;
    uint32_t n_used; /* of entries, spare ones included */
    uint32_t capacity;
    uint32_t spare;
    uint32_t sweep; /* the bucket where the last one was released */
};

static const uint32_t SIMULATION_NO_STEP = UINT32_MAX;

void
simulation_match_queue_deinit(struct simulation_match_queue *match_queue);

/* *out_step is who waited for it, or SIMULATION_NO_STEP: then it is kept.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_match_queue_post(struct simulation_match_queue *match_queue,
                            const struct simulation_address *address,
                            const struct simulation_arrival *arrival,
                            uint32_t *out_step);

/* *out_is_here: it had been posted, is in *out_arrival and forgotten here.
 * Otherwise step waits. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_match_queue_await(struct simulation_match_queue *match_queue,
                             const struct simulation_address *address,
                             uint32_t step,
                             struct simulation_arrival *out_arrival,
                             bool *out_is_here);

/* One that waits, and does no longer; SIMULATION_NO_STEP: none does. */
uint32_t
simulation_match_queue_release(struct simulation_match_queue *match_queue);

#endif
