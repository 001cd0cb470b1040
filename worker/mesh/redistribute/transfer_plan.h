/*
 * mesh/redistribute/transfer_plan.h - what a rank sends and receives in one
 * step
 *
 * The functions are pure. The participants of a step are the ranks of a plan:
 * those of a line, or all. A block is a box of what the sender has before the
 * step, and of what the receiver has after it. In the buffers of a plan blocks
 * are in the order of its ranks.
 */

#ifndef MESH_REDISTRIBUTE_TRANSFER_PLAN_H
#define MESH_REDISTRIBUTE_TRANSFER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/dtype.h"
#include "hoop/sharding.h"
#include "hoop/tensor.h"

#include "base/cleanup.h"
#include "mesh/redistribute/redistribution.h"
#include "plan/plan.h"

struct transfer_plan {
    /* For a rank that takes no part: one rank, no elements. */
    struct plan_shape shape;
    /* One block, or one for each rank of the plan. They are boxes of what this
     * rank has before the step (out) and after it (in), and empty if nothing is
     * sent. */
    size_t n_out;
    size_t n_in;
    struct hoop_part *out;
    struct hoop_part *in;
    size_t out_count; /* elements, as in_count */
    size_t in_count;
    /* Owned memory. */
    struct hoop_part *boxes;
    uint32_t *members;
    size_t *counts;
    /* [2 * size]: first elements of an exchange's blocks, out and in */
    size_t *firsts;
};

/* One rank's view of a step. */
struct transfer_plan_request {
    const struct redistribution *redistribution;
    uint32_t step;
    uint32_t rank;
    uint32_t n_ranks; /* size of the context */
};

/* Creates the plan of a step in which some rank sends. The caller passes
 * *out_transfer_plan to transfer_plan_destroy(). It borrows nothing.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
transfer_plan_create(const struct transfer_plan_request *place,
                     struct transfer_plan **out_transfer_plan);
/* Returns the rank in the context of each rank of the plan. NULL: the same
 * numbers. The list lives as long as the plan. */
const uint32_t *
transfer_plan_member_ranks(const struct transfer_plan *transfer_plan);
/* Removes what this rank exchanges with rank from the plan of an exchange. */
void
transfer_plan_drop_rank(struct transfer_plan *transfer_plan, uint32_t rank);
/* NULL is allowed. */
void
transfer_plan_destroy(struct transfer_plan *transfer_plan);
DEFINE_CLEANUP(struct transfer_plan *, transfer_plan_destroy)

/*
 * The functions on views are pure: a view has strides, but no memory. A part
 * of a view is a view, so cutting costs nothing until elements are copied.
 */

struct view {
    size_t first; /* index in memory of its first element */
    struct hoop_shape shape;
    size_t strides[HOOP_MAX_DIMS]; /* in elements */
};

/* Returns the view of a whole dense tensor. */
struct view
view_of_shape(const struct hoop_shape *shape);
/* Returns the part of a view that box describes; it must be inside. */
struct view
view_cut(const struct view *view, const struct hoop_part *box);

/* Returns whether those boxes of view that have elements are contiguous and
 * follow each other in order. If so, *out_first is where they begin in memory,
 * in elements. */
bool
view_has_contiguous_boxes(const struct view *view,
                          const struct hoop_part *boxes,
                          size_t n_boxes,
                          size_t *out_first);

/* Returns whether each of the boxes is contiguous by itself. If so, out_firsts
 * are where they begin in memory, in elements, or 0 for an empty box. */
bool
view_has_dense_boxes(const struct view *view,
                     const struct hoop_part *boxes,
                     size_t n_boxes,
                     size_t *out_firsts);

/* The memory of a view. data is borrowed. */
struct view_memory {
    enum hoop_dtype dtype;
    void *data; /* at element 0 */
};

/* Copies between two views of one shape, which must not overlap. */
void
view_copy(const struct view *from,
          const struct view_memory *from_memory,
          const struct view *to,
          const struct view_memory *to_memory);

/* Copy boxes of view to packed, one after the other, or back. The two must not
 * overlap. */
void
view_pack(const struct view *view,
          const struct view_memory *memory,
          const struct hoop_part *boxes,
          size_t n_boxes,
          void *packed);
void
view_unpack(const struct view *view,
            const struct view_memory *memory,
            const struct hoop_part *boxes,
            size_t n_boxes,
            const void *packed);

/*
 * Where a rank's part lies at each step; the functions are pure. A part starts
 * in the input and ends in the output. In between there are two buffers; a
 * copy or a receive goes to the one that does not hold the source. A slice is
 * only a view of what is already there. Blocks that are contiguous where they
 * lie are sent from there, and blocks whose destination is contiguous are
 * received there.
 */

enum buffer {
    BUFFER_NONE, /* the rank has no elements */
    BUFFER_INPUT,
    BUFFER_OUTPUT,
    BUFFER_FIRST,
    BUFFER_SECOND,
};

enum {
    N_STEP_BUFFERS = BUFFER_SECOND + 1
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
    bool is_neutral_fill; /* fill after with the operator's neutral element */
    /* Where blocks are packed by rank, in a step with a transfer plan; NONE:
     * they are sent from before. */
    enum buffer send_buffer;
    size_t first; /* element of the source buffer where blocks begin */
    /* Where blocks arrive by rank; the buffer of after: in their places. */
    enum buffer receive_buffer;
    /* The block that an exchange keeps on this rank. It is copied from before
     * to after and not sent. */
    bool has_own_block;
    struct hoop_part own_block_before;
    struct hoop_part own_block_after;
};

struct buffer_steps {
    uint32_t n_buffer_steps;
    struct local_step buffer_steps[HOOP_MAX_STEPS];
    struct buffer_view last;
    size_t counts[N_STEP_BUFFERS]; /* elements that each buffer must hold */
    bool is_local;                 /* no step sends anything, on any rank */
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
