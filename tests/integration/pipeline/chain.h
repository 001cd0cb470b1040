/*
 * tests/integration/pipeline/chain.h - a model of integers that tells every
 * mistake
 *
 * Each virtual stage computes whole numbers below a prime, in float64, of what
 * it is given, its own number and the micro-batch's; shapes differ from one
 * micro-batch and stage to the next, and some are larger than what travels
 * unasked. Its gradient depends on the order in which micro-batches come back.
 * So any tensor that is lost, taken for another or late changes the sums, and
 * one process that computes in turn knows them.
 */

#ifndef TESTS_CHAIN_H
#define TESTS_CHAIN_H

#include <stdint.h>

#include "hoop/hoop.h"

enum {
    CHAIN_CHUNKS_MAX = 4,
    CHAIN_VIRTUAL_MAX = 4 * CHAIN_CHUNKS_MAX,
};

/* A stage's part of the model; owner of its callbacks. */
struct chain {
    const struct hoop_schedule_options *shape; /* borrowed */
    uint32_t stage;
    uint64_t sums[CHAIN_CHUNKS_MAX]; /* gradients */
    uint64_t losses;                 /* of the last virtual stage */
    /* Sleep up to so long in each callback, by chance. */
    uint32_t delay_us;
    uint64_t chance;
    /* What fails: this task, with this status; HOOP_OK: nothing does. */
    struct hoop_task bad_task;
    enum hoop_status bad_status;
    void (*on_bad)(void); /* instead; NULL: not */
    /* What was reported. */
    uint64_t n_tasks;
    uint64_t last_ns;
    int is_out_of_order;
};

/* Callbacks of a chain. */
struct hoop_stage_work
chain_work(struct chain *chain);

/* What the sums are, of all virtual stages, computed in turn. */
void
chain_reference(const struct hoop_schedule_options *shape,
                uint64_t sums[CHAIN_VIRTUAL_MAX],
                uint64_t *out_losses);

#endif
