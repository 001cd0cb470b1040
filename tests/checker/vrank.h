/*
 * tests/checker/vrank.h - one rank of a checker run: its memory, and how its
 * steps move
 *
 * Bytes are copied when they are handed over, as the engine does: a byte is
 * sent with the value that the memory holds at that moment, and a combination
 * waits until all bytes of an element have arrived.
 */

#ifndef CHECKER_VRANK_H
#define CHECKER_VRANK_H

#include <stdint.h>

#include "hoop/status.h"

#include "checker/checker.h"
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

/* How many bytes may move at once, and how many a message may hold in
 * transit. */
struct vrank_move_limits {
    uint64_t move_bytes_max;
    uint64_t socket_buffer_bytes;
};

/* vrank must be zeroed except for the borrowed members and rank. Call deinit
 * after a failure, too. Handle: none. */
enum hoop_status
vrank_init(struct vrank *vrank);
void
vrank_deinit(struct vrank *vrank);

/* Go back to the start of the collective. */
void
vrank_reset(struct vrank *vrank);

/* Activate further steps. Handle: none. */
enum hoop_status
vrank_activate_steps(struct vrank *vrank);

/* Move one active step as far as it can; returns the bytes moved. The step may
 * leave the active list, and so may the matching step of the other rank. */
uint64_t
vrank_advance_step(struct vrank *vrank,
                   struct tracked_step *tracked_step,
                   const struct vrank_move_limits *limits);

/* Check the results. Handle: HOOP_E_INTERNAL (a buffer holds something
 * wrong). */
enum hoop_status
vrank_check_result(const struct vrank *vrank);

#endif
