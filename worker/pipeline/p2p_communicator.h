/*
 * pipeline/p2p_communicator.h - the settings of a P2PCommunicator
 *
 * Also shapes as they are sent.
 */

#ifndef PIPELINE_P2P_COMMUNICATOR_H
#define PIPELINE_P2P_COMMUNICATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/p2p_communicator.h"
#include "hoop/tensor.h"

#include "pipeline/neighbour.h"

struct hoop_p2p {
    struct neighbours neighbours; /* ranks of the stages */
    uint32_t rank;
    uint32_t size; /* 0: this process is not a member */
    bool has_dtype;
    enum hoop_dtype dtype; /* of received tensors */
    bool has_variable_shapes;
    enum neighbour_order order;
};

/* Begins a public call: clears the last error and tells whether this process is
 * a member. A process that is not does nothing in the call.
 * Handle: HOOP_E_INVALID (p2p is NULL). */
enum hoop_status
p2p_communicator_check_member(const struct hoop_p2p *p2p, bool *out_is_member);

/* Sequence, micro-batch and hidden dimension. */
enum {
    P2P_SHAPES_DIMS = 3
};

/* Writes a shape as sizes. Error texts call it name.
 * Handle: HOOP_E_INVALID (not three dimensions, too many elements). */
enum hoop_status
p2p_shapes_pack(const struct hoop_shape *shape,
                const char *name,
                int64_t sizes[P2P_SHAPES_DIMS]);

/* Reads the sizes that came from rank.
 * Handle: HOOP_E_MISMATCH (no tensor can have them). */
enum hoop_status
p2p_shapes_unpack(const int64_t sizes[P2P_SHAPES_DIMS],
                  uint32_t rank,
                  struct hoop_shape *out_shape);

#endif
