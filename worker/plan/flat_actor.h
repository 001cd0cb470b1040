/*
 * plan/flat_actor.h - one rank of a flat rehearsal: its memory, its two slots
 *
 * Goes through the rounds of a flat plan as an executor must: it writes into a
 * slot only when all ranks are through with what lay there, reads another's
 * only when that has published the round, and says when it has read everything.
 * Bytes move a few at a time, so that whatever is not waited for shows.
 *
 * What can be told from a round alone is checked when it begins: spans lie
 * inside their buffers, posts come first and fit the slot, no step stands there
 * twice. What is posted is fetched by somebody, and by nobody twice. What is shown
 * is read where it is at that time, and not of a rank that has ended: its buffers
 * are its caller's again.
 */

#ifndef PLAN_FLAT_ACTOR_H
#define PLAN_FLAT_ACTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/checker.h"
#include "plan/plan.h"

enum {
    FLAT_SLOTS = 2,
    FLAT_BUFFERS = PLAN_SCRATCH + 1,
};

/* What is posted in a round; or, in a direct plan, shown. */
struct flat_slot {
    uint64_t *bytes;
    uint64_t *readers; /* of each byte: a bit for each rank modulo 64 */
    size_t n_bytes;    /* posted */
    const uint64_t *shown[PLAN_SHOWN]; /* where it is */
    size_t n_shown[PLAN_SHOWN];        /* bytes */
};

struct flat_actor {
    const struct checker_case *proof;
    struct flat_actor *cast; /* all ranks, by rank */
    struct plan_shape shape;
    uint32_t n_rounds;
    uint32_t round;     /* that it is in */
    uint32_t published; /* rounds */
    uint32_t finished;  /* rounds */
    bool is_planned;    /* the round is */
    size_t step;
    uint64_t step_bytes; /* of the step that are done */
    struct plan plan;
    struct flat_slot slots[FLAT_SLOTS];
    uint64_t *memory[FLAT_BUFFERS];
    bool *has_heard; /* of each rank: it has awaited or fetched something */
};

/* actor is zeroed but for proof and cast; deinit is due also after a failure.
 * Handle: none. */
enum hoop_status
flat_actor_init(struct flat_actor *actor, uint32_t rank);
void
flat_actor_deinit(struct flat_actor *actor);

/* Back to the start of the collective. */
void
flat_actor_reset(struct flat_actor *actor);

bool
flat_actor_is_done(const struct flat_actor *actor);

/*
 * Goes on with its step, by at most n_bytes_max and at least an element;
 * *out_has_moved: not when it must wait.
 * Handle: HOOP_E_INTERNAL (the plan is wrong).
 */
enum hoop_status
flat_actor_move(struct flat_actor *actor,
                uint64_t n_bytes_max,
                bool *out_has_moved);

/* At the end. Handle: HOOP_E_INTERNAL (a buffer holds something wrong). */
enum hoop_status
flat_actor_check(const struct flat_actor *actor);

#endif
