/*
 * plan/vrank.h - one rank of a checker run: its memory, and how its steps move
 *
 * Bytes are copied when they are handed over, as the engine does: a sent byte
 * leaves with the value that the memory has at that moment, and a combination
 * waits until the bytes of an element are all there.
 */

#ifndef PLAN_VRANK_H
#define PLAN_VRANK_H

#include <stdint.h>

#include "hoop/status.h"

#include "plan/checker.h"
#include "plan/checker_messages.h"
#include "plan/tracker.h"

enum {
    VRANK_BUFFERS = PLAN_SCRATCH + 1
};

struct vrank {
    const struct checker_case *scenario;
    struct checker_messages *checker_messages;
    struct vrank *vranks; /* all ranks, by rank */
    uint32_t rank;
    struct tracker tracker;
    uint64_t *memory[VRANK_BUFFERS];
};

/* How much may move at once, and what a message may keep on its way. */
struct vrank_limits {
    uint64_t move_bytes_max;
    uint64_t socket_buffer_bytes;
};

/* vrank is zeroed but for the borrowed members and rank; deinit is due also
 * after a failure. Handle: none. */
enum hoop_status
vrank_init(struct vrank *vrank);
void
vrank_deinit(struct vrank *vrank);

/* Back to the start of the collective. */
void
vrank_reset(struct vrank *vrank);

/* Make further steps active. Handle: none. */
enum hoop_status
vrank_refill(struct vrank *vrank);

/* Move one active step as far as may be; returns bytes moved. It may leave the
 * active list, and so may a step of the rank on the other side. */
uint64_t
vrank_move(struct vrank *vrank,
           struct track *track,
           const struct vrank_limits *pace);

/* Handle: HOOP_E_INTERNAL (a buffer holds something wrong). */
enum hoop_status
vrank_check(const struct vrank *vrank);

#endif
