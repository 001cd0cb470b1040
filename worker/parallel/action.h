/*
 * parallel/action.h - what a communication spec has a rank do
 *
 * Pure: from a spec and the sizes of a mesh to who takes part, what is cut of
 * the input and what is joined to the output.
 */

#ifndef PARALLEL_ACTION_H
#define PARALLEL_ACTION_H

#include "hoop/comm_spec.h"

#include "parallel/blocks.h"

enum action_kind {
    ACTION_COPY,
    ACTION_TAKE, /* this rank's block of the input */
    ACTION_GATHER,
    ACTION_SCATTER, /* reduced */
    ACTION_EXCHANGE,
    ACTION_SUM,
};

struct action {
    enum action_kind kind;
    struct hoop_axes line; /* who takes part, in the order of block numbers */
    uint32_t n_ranks;
    struct cuts cut;  /* of the input: TAKE, SCATTER, EXCHANGE */
    struct cuts join; /* of the output: GATHER, EXCHANGE */
};

enum action_way {
    ACTION_FORWARD,
    ACTION_BACKWARD,
};

/* For tensors of n_dims. The whole spec is checked, both ways.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
action_init(struct action *action,
            const struct hoop_comm_spec *spec,
            const struct hoop_mesh_shape *mesh,
            uint32_t n_dims,
            enum action_way way);

/* From the shape of the input to that of the output, in place.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
action_reshape(const struct action *action, struct hoop_shape *shape);

/* Who takes part in either way. Handle: HOOP_E_INVALID. */
enum hoop_status
action_line(const struct hoop_comm_spec *spec,
            const struct hoop_mesh_shape *mesh,
            struct hoop_axes *out_line);

/* Of the block of the rank at coordinates. */
uint32_t
action_number(const struct action *action,
              const struct hoop_mesh_shape *mesh,
              const uint32_t *coordinates);

#endif
