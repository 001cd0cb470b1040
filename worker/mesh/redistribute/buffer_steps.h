/*
 * mesh/redistribute/buffer_steps.h - where a rank's part lies at each step
 *
 * The functions are pure. A part starts in the input and ends in the output. In
 * between there are two buffers; a copy or a receive goes to the one that does
 * not hold the source. A slice is only a view of what is already there. Blocks
 * that are contiguous where they lie are sent from there, and blocks whose
 * destination is contiguous are received there.
 */

#ifndef MESH_REDISTRIBUTE_BUFFER_STEPS_H
#define MESH_REDISTRIBUTE_BUFFER_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mesh/redistribute/redistribution.h"
#include "mesh/redistribute/transfer_plan.h"
#include "mesh/redistribute/view.h"

enum buffer {
    BUFFER_NONE, /* the rank has no elements */
    BUFFER_INPUT,
    BUFFER_OUTPUT,
    BUFFER_FIRST,
    BUFFER_SECOND,
};

enum {
    N_BUFFERS = BUFFER_SECOND + 1
};

/* Where a part lies, as a view of a buffer. */
struct buffer_view {
    enum buffer buffer;
    struct view view;
};

/* One step on this rank. */
struct local_step {
    const struct redistribution_step *step;
    struct buffer_view before;
    struct buffer_view after;
    struct transfer_plan *transfer_plan; /* NULL: nothing is sent */
    bool is_filled; /* fill after with the operator's neutral element */
    /* Where blocks are packed by rank, in a step with a transfer plan; NONE:
     * they are sent from before. */
    enum buffer send_buffer;
    size_t first; /* element of the source buffer where blocks begin */
    /* Where blocks arrive by rank; the buffer of after: in their places. */
    enum buffer receive_buffer;
    /* The block that an exchange keeps on this rank. It is copied from before
     * to after and not sent. */
    bool has_kept;
    struct hoop_part kept_out;
    struct hoop_part kept_in;
};

struct buffer_steps {
    uint32_t n_buffer_steps;
    struct local_step buffer_steps[HOOP_MAX_STEPS];
    struct buffer_view last;
    size_t counts[N_BUFFERS]; /* elements that each buffer must hold */
    bool is_local;            /* no step sends anything, on any rank */
};

/* Derives the steps of one rank; place->step is ignored. The caller passes
 * zeroed memory and calls buffer_steps_deinit() also after a failure. The
 * redistribution is borrowed and must outlive the result.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
buffer_steps_init(struct buffer_steps *buffer_steps,
                  const struct transfer_plan_request *place,
                  enum hoop_dtype dtype);
void
buffer_steps_deinit(struct buffer_steps *buffer_steps);

#endif
