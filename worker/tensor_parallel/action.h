/*
 * tensor_parallel/action.h - what a communication spec requires of a rank
 *
 * The functions are pure. From a spec and the sizes of a mesh they derive which
 * ranks take part, how the input is cut and how the output is joined.
 */

#ifndef TENSOR_PARALLEL_ACTION_H
#define TENSOR_PARALLEL_ACTION_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/comm_spec.h"
#include "hoop/tensor.h"

/*
 * The functions are pure. One or two dimensions are cut into equal parts; a
 * block is one part along each of them. Block numbers are in mixed radix:
 * the first cut's part varies fastest.
 */

enum {
    CUT_DIMS_MAX = 2,
};

struct cuts {
    uint32_t n_cuts;
    struct cut {
        uint32_t dim;
        uint32_t n_parts;
    } cuts[CUT_DIMS_MAX];
};

/* Returns the number of blocks. */
uint32_t
cuts_n_blocks(const struct cuts *cuts);

/* Replaces the shape of the whole tensor by that of a block, or the other way
 * round.
 * Handle: HOOP_E_INVALID (a size does not divide; more than 2^64 elements). */
enum hoop_status
cuts_divide_shape(const struct cuts *cuts, struct hoop_shape *shape);
enum hoop_status
cuts_multiply_shape(const struct cuts *cuts, struct hoop_shape *shape);

/* Returns whether blocks are not contiguous in the whole tensor, one after the
 * other in order. The result has no meaning for a tensor without elements. */
bool
cuts_is_noncontiguous(const struct cuts *cuts, const struct hoop_shape *whole);

/* Copy the block of that number from whole to part, where it is dense, or back.
 * The two must not overlap. */
void
cuts_copy_block_to_part(const struct cuts *cuts,
                        const struct hoop_tensor *whole,
                        uint32_t number,
                        void *part);
void
cuts_copy_block_from_part(const struct cuts *cuts,
                          const struct hoop_tensor *whole,
                          uint32_t number,
                          const void *part);

/* Copy all blocks from whole to parts, where they are dense and one after the
 * other, or back. The two must not overlap. */
void
cuts_pack_all_blocks(const struct cuts *cuts,
                     const struct hoop_tensor *whole,
                     void *parts);
void
cuts_unpack_all_blocks(const struct cuts *cuts,
                       const struct hoop_tensor *whole,
                       const void *parts);

enum comm_action_kind {
    COMM_ACTION_COPY,
    COMM_ACTION_SLICE, /* copy this rank's block of the input */
    COMM_ACTION_ALL_GATHER,
    COMM_ACTION_REDUCE_SCATTER, /* reduce-scatter with HOOP_SUM */
    COMM_ACTION_ALL_TO_ALL,
    COMM_ACTION_ALL_REDUCE,
};

struct action {
    enum comm_action_kind kind;
    /* axes that the participants differ along, in the order of block numbers */
    struct hoop_axes line;
    uint32_t n_ranks;
    struct cuts cut;  /* of the input: TAKE, SCATTER, EXCHANGE */
    struct cuts join; /* of the output: GATHER, EXCHANGE */
};

enum comm_action_direction {
    COMM_ACTION_FORWARD,
    COMM_ACTION_BACKWARD,
};

/* Derives the action for tensors of n_dims dimensions. Checks the whole spec in
 * either way, not only the part that this way uses.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
comm_action_init(struct action *action,
                 const struct hoop_comm_spec *spec,
                 const struct hoop_mesh_shape *mesh,
                 uint32_t n_dims,
                 enum comm_action_direction way);

/* Replaces the shape of the input by that of the output.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
comm_action_output_shape(const struct action *action, struct hoop_shape *shape);

/* Finds the axes along which ranks take part; they are the same in both
 * ways.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
comm_action_axes_find(const struct hoop_comm_spec *spec,
                      const struct hoop_mesh_shape *mesh,
                      struct hoop_axes *out_line);

/* Returns the number of the block that belongs to the rank at coordinates. */
uint32_t
comm_action_block_index(const struct action *action,
                        const struct hoop_mesh_shape *mesh,
                        const uint32_t *coordinates);

#endif
