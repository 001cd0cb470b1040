/*
 * parallel/buffer_steps.h - where one rank's part lies, step by step
 *
 * Pure. A part begins in the input and ends in the output, and in between there
 * are two buffers: whatever is copied or received goes to the one it is not in.
 * A slice stays where it is, as a view; blocks that lie as they are sent or
 * wanted are sent and received where they lie.
 */

#ifndef PARALLEL_BUFFER_STEPS_H
#define PARALLEL_BUFFER_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "parallel/redistribution.h"
#include "parallel/transfer_plan.h"
#include "parallel/view.h"

enum buffer {
    BUFFER_NONE, /* nothing lies there */
    BUFFER_INPUT,
    BUFFER_OUTPUT,
    BUFFER_FIRST,
    BUFFER_SECOND,
};

enum {
    N_BUFFERS = BUFFER_SECOND + 1
};

/* A part, or what is left of it to look at. */
struct placement {
    enum buffer buffer;
    struct view view;
};

/* One step. */
struct buffer_step {
    const struct redistribution_step *step;
    struct placement before;
    struct placement after;
    struct transfer_plan *transfer_plan; /* NULL: nothing is sent */
    bool is_filled; /* after is to be filled with what adds nothing */
    /* Of a transfer_plan. */
    enum buffer
        send_buffer; /* blocks sorted by rank; NONE: they are sent from where
                         they lie */
    size_t first;    /* element of the buffer where they begin */
    enum buffer
        receive_buffer; /* blocks as they come; that of after: in their places */
    /* What an exchange leaves on this rank: from before to after, not sent. */
    bool has_kept;
    struct hoop_part kept_out;
    struct hoop_part kept_in;
};

struct buffer_steps {
    uint32_t n_buffer_steps;
    struct buffer_step buffer_steps[HOOP_MAX_STEPS];
    struct placement last;
    size_t counts[N_BUFFERS]; /* elements that the two buffers must hold */
    bool is_local; /* no buffer_step has a transfer_plan, on any rank */
};

/* buffer_steps is zeroed memory of the caller's, who gives it to buffer_steps_deinit(), also
 * after a failure; redistribution is borrowed for its life. place's step says
 * nothing. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
buffer_steps_init(struct buffer_steps *buffer_steps,
                  const struct transfer_plan_place *place,
                  enum hoop_dtype dtype);
void
buffer_steps_deinit(struct buffer_steps *buffer_steps);

#endif
