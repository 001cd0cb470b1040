/*
 * wire/frame_tensor.h - what the header of a tensor's frame says besides
 *
 * One more element behind the fields of wire/schema.h. Apart from struct frame,
 * so that frames of everything else cost what they did.
 */

#ifndef WIRE_FRAME_TENSOR_H
#define WIRE_FRAME_TENSOR_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"
#include "hoop/tensor.h"

#include "wire/frame.h"

/* As dtype of a call: any. */
static const uint32_t FRAME_ANY_DTYPE = UINT8_MAX;

/* Its dtype is the call's. */
struct frame_tensor {
    uint32_t part; /* of a list: which, and of how many; 0: of none */
    struct hoop_shape shape;
};

/* Whether frame has FRAME_TENSOR where that says something. */
static inline bool
frame_is_tensor(const struct frame *frame)
{
    const uint32_t announces = FRAME_POINT_TO_POINT | FRAME_WITHDRAWN;

    if (!(frame->flags & FRAME_TENSOR))
        return false;
    return frame->kind == FRAME_MESSAGE ||
           (frame->kind == FRAME_ANNOUNCE &&
            (frame->flags & announces) == FRAME_POINT_TO_POINT);
}

/*
 * Behind the other fields of out, which frame_encode() has made of a tensor's
 * frame, without signature, step, reduce_op and count: those would take its
 * room. The product of the sizes but zeros is below 2^63.
 */
void
frame_tensor_append(const struct frame_tensor *tensor,
                    uint8_t out[LIMIT_FRAME_HEADER]);

/*
 * Of a tensor's frame, which frame_decode() has accepted. The sizes may be
 * anything. Handle: HOOP_E_DATA_LOSS (it has none, or it is damaged).
 */
enum hoop_status
frame_tensor_read(const uint8_t in[LIMIT_FRAME_HEADER],
                  struct frame_tensor *out_tensor);

#endif
