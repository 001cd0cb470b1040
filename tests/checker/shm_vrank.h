/*
 * tests/checker/shm_vrank.h - one rank of a shared-memory checker run, and its
 * slots
 *
 * A virtual rank runs the rounds of a shared-memory plan as an executor must:
 * it writes into a slot only when all ranks have finished reading it, reads
 * another rank's slot only when that rank has published the round, and reports
 * when it has read everything. The model has only two slots, the fewest that
 * any region may have. Bytes move a few at a time, so that a missing wait
 * shows.
 *
 * The checks that need only one round are made when the round begins: spans lie
 * inside their buffers, posts come first and fit the slot, and no step occurs
 * twice. Every posted byte must be fetched by some rank, and by no rank twice.
 * Exposed bytes are read with the values that they have at that time, and never
 * from a rank that has finished, because its buffers belong to its caller
 * again.
 */

#ifndef CHECKER_SHM_VRANK_H
#define CHECKER_SHM_VRANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "checker/checker.h"
#include "plan/plan.h"

enum {
    SHM_VRANK_SLOTS = 2,
    SHM_VRANK_BUFFERS = PLAN_SCRATCH + 1,
};

/* What a rank posts in a round or, in a direct plan, exposes. */
struct shm_vrank_slot {
    uint64_t *bytes;
    uint64_t *readers; /* [byte]: one bit for each rank modulo 64 */
    size_t n_bytes;    /* bytes posted */
    /* Where the exposed span begins. */
    const uint64_t *exposed[PLAN_EXPOSED_MAX];
    size_t n_exposed[PLAN_EXPOSED_MAX]; /* its size in bytes */
};

struct shm_vrank {
    const struct checker_case *scenario;
    struct shm_vrank *vranks; /* all ranks, by rank */
    struct plan_shape shape;
    uint32_t n_rounds;
    uint32_t round;     /* the round that it is in */
    uint32_t published; /* number of rounds published */
    uint32_t finished;  /* number of rounds finished */
    bool is_planned;    /* plan holds the steps of the round */
    size_t step;
    uint64_t step_bytes; /* bytes of the step that are done */
    struct plan plan;
    struct shm_vrank_slot slots[SHM_VRANK_SLOTS];
    uint64_t *memory[SHM_VRANK_BUFFERS];
    bool *has_synced; /* [rank]: this rank has awaited it or fetched from it */
};

/* vrank must be zeroed except for scenario and vranks. Call deinit after a
 * failure, too. Handle: none. */
enum hoop_status
shm_vrank_init(struct shm_vrank *vrank, uint32_t rank);
void
shm_vrank_deinit(struct shm_vrank *vrank);

/* Go back to the start of the collective. */
void
shm_vrank_reset(struct shm_vrank *vrank);

bool
shm_vrank_is_done(const struct shm_vrank *vrank);

/*
 * Continue with the current step, by at most n_bytes_max bytes but at least one
 * element. *out_has_moved is false if the rank must wait or is done.
 * Handle: HOOP_E_INTERNAL (the plan is wrong).
 */
enum hoop_status
shm_vrank_advance(struct shm_vrank *vrank,
                  uint64_t n_bytes_max,
                  bool *out_has_moved);

/* Check the results at the end. Handle: HOOP_E_INTERNAL (a buffer holds
 * something wrong). */
enum hoop_status
shm_vrank_check_result(const struct shm_vrank *vrank);

/*
 * A checker run for plans without messages. A schedule chooses at random which
 * rank moves and how far; in some schedules one rank moves only when no other
 * rank can.
 */

/* Run all schedules of a case. Handle: HOOP_E_INTERNAL (the plan is wrong). */
enum hoop_status
checker_shm_run_verify_algorithm(const struct checker_case *scenario);

#endif
