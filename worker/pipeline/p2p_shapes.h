/* pipeline/p2p_shapes.h - a shape as three int64, Megatron's wire format */

#ifndef PIPELINE_P2P_SHAPES_H
#define PIPELINE_P2P_SHAPES_H

#include <stdint.h>

#include "hoop/tensor.h"

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
