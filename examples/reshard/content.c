/* reshard/content.c - fills a tensor with bytes that depend on the position */

#include "reshard/content.h"

#include <stdint.h>
#include <string.h>

/* The finalizer of splitmix64, in which every bit of the input affects all bits
 * of the output. */
static uint64_t
mix(uint64_t number)
{
    number += UINT64_C(0x9e3779b97f4a7c15);
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return number ^ number >> 31;
}

static void
element_write(unsigned char *at, size_t n_bytes, uint64_t index)
{
    for (size_t done = 0; done < n_bytes; done += sizeof(uint64_t)) {
        const uint64_t bits = mix(2 * index + (done > 0));
        const size_t n_left = n_bytes - done;

        memcpy(at + done, &bits, n_left < sizeof(bits) ? n_left : sizeof(bits));
    }
}

/* Returns the index in the whole tensor of the first element of a row of the
 * part. A row extends along the last dimension. */
static uint64_t
row_index(const struct hoop_part *part,
          const struct hoop_shape *shape,
          size_t row)
{
    uint64_t index = 0;
    uint64_t weight = 1;

    for (uint32_t i = shape->n_dims; i-- > 0;) {
        const bool is_last = i + 1 == shape->n_dims;
        const size_t at = is_last ? 0 : row % part->shape.dims[i];

        index += weight * (part->offset[i] + at);
        weight *= shape->dims[i];
        row = is_last ? row : row / part->shape.dims[i];
    }
    return index;
}

void
content_fill(const struct hoop_part *part,
             const struct hoop_shape *shape,
             const struct hoop_tensor *local)
{
    const size_t n_bytes = hoop_dtype_size(local->dtype);
    const size_t n_in_row =
        shape->n_dims > 0 ? part->shape.dims[shape->n_dims - 1] : 1;
    unsigned char *at = local->data;
    size_t count = 0;

    if (hoop_shape_count(&part->shape, &count) != HOOP_OK || count == 0)
        return;
    for (size_t row = 0; row < count / n_in_row; row++) {
        const uint64_t index = row_index(part, shape, row);

        for (size_t i = 0; i < n_in_row; i++, at += n_bytes)
            element_write(at, n_bytes, index + i);
    }
}
