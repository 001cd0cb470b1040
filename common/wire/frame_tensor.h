/*
 * wire/frame_tensor.h - what the header of a tensor's frame says besides
 *
 * One more element behind the fields of wire/schema.h. Apart from struct frame,
 * so that frames of everything else cost what they did.
 */

#ifndef WIRE_FRAME_TENSOR_H
#define WIRE_FRAME_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"
#include "hoop/tensor.h"

#include "wire/frame.h"

/* As dtype of a call: any. */
static const uint32_t FRAME_ANY_DTYPE = UINT8_MAX;

/* Its dtype is the call's. */
struct frame_tensor {
    /* Its place in a list: how many tensors in bits 16 to 30, the index of this
     * one in the lower. 0: it is in no list. An index that is not below the
     * number is not a place, but some number that both sides must agree on. */
    uint32_t part;
    struct hoop_shape shape;
};

/* Stands for a list that has no tensors. */
static const uint32_t FRAME_PART_EMPTY = UINT16_MAX;

/* Added to one of a list that travels in shares, on both sides. */
static const uint32_t FRAME_PART_IN_SHARES = (uint32_t)1 << 31;

enum {
    FRAME_LIST_MAX = INT16_MAX, /* tensors */
};

static inline uint32_t
frame_part(size_t n_tensors, size_t index)
{
    return (uint32_t)(n_tensors << 16 | index);
}

enum {
    FRAME_PART_NUMBERS = INT16_MAX,
};

/* Not a place: number index of n, both of them modulo FRAME_PART_NUMBERS, is
 * compared. Those of one list need not be received together. */
static inline uint32_t
frame_part_numbered(size_t n, size_t index)
{
    return (uint32_t)(index % FRAME_PART_NUMBERS << 16 | 0x8000 |
                      n % FRAME_PART_NUMBERS);
}

static inline uint32_t
frame_part_count(uint32_t part)
{
    return (part & ~FRAME_PART_IN_SHARES) >> 16;
}

static inline bool
frame_part_is_empty(uint32_t part)
{
    return (part & ~FRAME_PART_IN_SHARES) == FRAME_PART_EMPTY;
}

static inline uint32_t
frame_part_index(uint32_t part)
{
    return frame_part_is_empty(part) ? 0 : part & UINT16_MAX;
}

/* Whether part is a place in a list. */
static inline bool
frame_part_is_listed(uint32_t part)
{
    return frame_part_is_empty(part) ||
           frame_part_index(part) < frame_part_count(part);
}

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
