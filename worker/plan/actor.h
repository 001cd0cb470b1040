/*
 * plan/actor.h - one rank of a rehearsal: its memory, and how its steps move
 *
 * Bytes are copied when they are handed over, as the engine does: a sent byte
 * leaves with the value that the memory has at that moment, and a combination
 * waits until the bytes of an element are all there.
 */

#ifndef PLAN_ACTOR_H
#define PLAN_ACTOR_H

#include <stdint.h>

#include "hoop/status.h"

#include "plan/checker.h"
#include "plan/ledger.h"
#include "plan/tracker.h"

enum {
    ACTOR_BUFFERS = PLAN_SCRATCH + 1
};

struct actor {
    const struct checker_case *proof;
    struct ledger *ledger;
    struct actor *cast; /* all ranks, by rank */
    uint32_t rank;
    struct tracker tracker;
    uint64_t *memory[ACTOR_BUFFERS];
};

/* How much may move at once, and what a message may keep on its way. */
struct actor_pace {
    uint64_t move_bytes_max;
    uint64_t socket_buffer_bytes;
};

/* actor is zeroed but for the borrowed members and rank; deinit is due also
 * after a failure. Handle: none. */
enum hoop_status
actor_init(struct actor *actor);
void
actor_deinit(struct actor *actor);

/* Back to the start of the collective. */
void
actor_reset(struct actor *actor);

/* Make further steps active. Handle: none. */
enum hoop_status
actor_refill(struct actor *actor);

/* Move one active step as far as may be; returns bytes moved. It may leave the
 * active list, and so may a step of the rank on the other side. */
uint64_t
actor_move(struct actor *actor,
           struct track *track,
           const struct actor_pace *pace);

/* Handle: HOOP_E_INTERNAL (a buffer holds something wrong). */
enum hoop_status
actor_check(const struct actor *actor);

#endif
