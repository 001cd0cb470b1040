/*
 * plan/shm_vrank.h - one rank of a shared-memory checker run: its memory, its two slots
 *
 * Goes through the rounds of a shared-memory plan as an executor must: it writes into a
 * slot only when all ranks are through with what lay there, reads another's
 * only when that has published the round, and says when it has read everything.
 * Bytes move a few at a time, so that whatever is not waited for shows.
 *
 * What can be told from a round alone is checked when it begins: spans lie
 * inside their buffers, posts come first and fit the slot, no step stands there
 * twice. What is posted is fetched by somebody, and by nobody twice. What is exposed
 * is read where it is at that time, and not of a rank that has ended: its buffers
 * are its caller's again.
 */

#ifndef PLAN_SHM_VRANK_H
#define PLAN_SHM_VRANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/checker.h"
#include "plan/plan.h"

enum {
    SHM_VRANK_SLOTS = 2,
    SHM_VRANK_BUFFERS = PLAN_SCRATCH + 1,
};

/* What is posted in a round; or, in a direct plan, exposed. */
struct shm_vrank_slot {
    uint64_t *bytes;
    uint64_t *readers; /* of each byte: a bit for each rank modulo 64 */
    size_t n_bytes;    /* posted */
    const uint64_t *exposed[PLAN_EXPOSED_MAX]; /* where it is */
    size_t n_exposed[PLAN_EXPOSED_MAX];        /* bytes */
};

struct shm_vrank {
    const struct checker_case *scenario;
    struct shm_vrank *vranks; /* all ranks, by rank */
    struct plan_shape shape;
    uint32_t n_rounds;
    uint32_t round;     /* that it is in */
    uint32_t published; /* rounds */
    uint32_t finished;  /* rounds */
    bool is_planned;    /* the round is */
    size_t step;
    uint64_t step_bytes; /* of the step that are done */
    struct plan plan;
    struct shm_vrank_slot slots[SHM_VRANK_SLOTS];
    uint64_t *memory[SHM_VRANK_BUFFERS];
    bool *has_synced; /* of each rank: it has awaited or fetched something */
};

/* vrank is zeroed but for scenario and vranks; deinit is due also after a failure.
 * Handle: none. */
enum hoop_status
shm_vrank_init(struct shm_vrank *vrank, uint32_t rank);
void
shm_vrank_deinit(struct shm_vrank *vrank);

/* Back to the start of the collective. */
void
shm_vrank_reset(struct shm_vrank *vrank);

bool
shm_vrank_is_done(const struct shm_vrank *vrank);

/*
 * Goes on with its step, by at most n_bytes_max and at least an element;
 * *out_has_moved: not when it must wait.
 * Handle: HOOP_E_INTERNAL (the plan is wrong).
 */
enum hoop_status
shm_vrank_move(struct shm_vrank *vrank,
               uint64_t n_bytes_max,
               bool *out_has_moved);

/* At the end. Handle: HOOP_E_INTERNAL (a buffer holds something wrong). */
enum hoop_status
shm_vrank_check(const struct shm_vrank *vrank);

#endif
