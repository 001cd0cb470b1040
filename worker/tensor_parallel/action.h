/*
 * tensor_parallel/action.h - what a communication spec requires of a rank
 *
 * The functions are pure. From a spec and the sizes of a mesh they derive which
 * ranks take part, how the input is cut and how the output is joined.
 */

#ifndef TENSOR_PARALLEL_ACTION_H
#define TENSOR_PARALLEL_ACTION_H

#include "hoop/comm_spec.h"

#include "tensor_parallel/blocks.h"

enum comm_action_kind {
    ACTION_COPY,
    ACTION_SLICE, /* copy this rank's block of the input */
    ACTION_ALL_GATHER,
    ACTION_REDUCE_SCATTER, /* reduce-scatter with HOOP_SUM */
    ACTION_ALL_TO_ALL,
    ACTION_ALL_REDUCE,
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
    ACTION_FORWARD,
    ACTION_BACKWARD,
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
