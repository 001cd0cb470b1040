/*
 * wire/frame_tensor.h - the additional header element of a tensor's frame
 *
 * It follows the fields of wire/schema.h. It is not part of struct frame, so
 * that other frames cost nothing more.
 */

#ifndef WIRE_FRAME_TENSOR_H
#define WIRE_FRAME_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"
#include "hoop/tensor.h"

#include "wire/frame.h"

/* As the dtype of a call: any dtype. */
static const uint32_t FRAME_ANY_DTYPE = UINT8_MAX;

/* The dtype is that of the call. */
struct frame_tensor {
    /* Position in a list: bits 16 to 30 are the number of tensors, the lower
     * bits the index of this one. 0: not in a list. If the index is not below
     * the number, it is no position, but a number on which both sides must
     * agree. */
    uint32_t part;
    struct hoop_shape shape;
};

/* Stands for a list without tensors. */
static const uint32_t FRAME_PART_EMPTY = UINT16_MAX;

/* Added, on both sides, to the part of a list that is sent in shares. */
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

/* Not a position: number index of n, both modulo FRAME_PART_NUMBERS, to be
 * compared. The tensors of one list need not be received together. */
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

/* Return whether part is a position in a list. */
static inline bool
frame_part_is_listed(uint32_t part)
{
    return frame_part_is_empty(part) ||
           frame_part_index(part) < frame_part_count(part);
}

/* Return whether frame has FRAME_TENSOR and is of a kind that allows it. */
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
 * Add the tensor's element to out, which frame_encode() has made. The frame has
 * no signature, step, reduce_op and count, which would take its room. The
 * product of the sizes except zeros is below 2^63.
 */
void
frame_tensor_append(const struct frame_tensor *tensor,
                    uint8_t out[LIMIT_FRAME_HEADER]);

/*
 * Read the element of a tensor's frame that frame_decode() has accepted. The
 * sizes are not checked. Handle: HOOP_E_DATA_LOSS (missing or damaged).
 */
enum hoop_status
frame_tensor_read(const uint8_t in[LIMIT_FRAME_HEADER],
                  struct frame_tensor *out_tensor);

#endif
