/*
 * tests/integration/pipeline/chain.h - a model of integers that shows mistakes
 *
 * From its input, its own number and that of the micro-batch each virtual stage
 * computes integers below a prime, in float64. Shapes differ between
 * micro-batches and stages, and some are larger than what is sent without a
 * request. The gradient depends on the order in which micro-batches come back.
 * A tensor that is lost, mixed up or late therefore changes the sums, which one
 * process can compute in turn.
 */

#ifndef TESTS_CHAIN_H
#define TESTS_CHAIN_H

#include <stdint.h>

#include "hoop/hoop.h"

enum {
    CHAIN_CHUNKS_MAX = 4,
    CHAIN_VIRTUAL_MAX = 4 * CHAIN_CHUNKS_MAX,
};

/* A chain is a stage's part of the model, and the owner of its callbacks. */
struct chain {
    const struct hoop_schedule_options *shape; /* borrowed */
    uint32_t stage;
    uint64_t sums[CHAIN_CHUNKS_MAX]; /* of gradients */
    uint64_t losses;                 /* of the last virtual stage */
    /* Each callback sleeps for a random time up to this one. */
    uint32_t delay_us;
    uint64_t chance;
    /* This task fails with this status; HOOP_OK: none fails. */
    struct hoop_task bad_task;
    enum hoop_status bad_status;
    void (*on_bad)(void); /* called instead of failing, unless NULL */
    /* These come from reports. */
    uint64_t n_tasks;
    uint64_t last_ns;
    int is_out_of_order;
};

/* Returns the callbacks of a chain. */
struct hoop_stage_work
chain_work(struct chain *chain);

/* Computes the sums of all virtual stages in turn. */
void
chain_reference(const struct hoop_schedule_options *shape,
                uint64_t sums[CHAIN_VIRTUAL_MAX],
                uint64_t *out_losses);

#endif
