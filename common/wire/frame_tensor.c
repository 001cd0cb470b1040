/*
 * wire/frame_tensor.c - the shape of a tensor in the header of its frames
 *
 * Not in frame.c, where the compiler keeps the encoder in one function only as
 * long as nothing else packs: 30 ns per header instead of 80.
 */

#include "wire/frame_tensor.h"

#include <assert.h>
#include <msgpack/pack.h>
#include <string.h>

#include "base/error.h"
#include "wire/schema.h"
#include "wire/unpack.h"

/* In the shortest msgpack forms. Sizes whose product is below 2^63 take a byte
 * each, plus together at most one for every four bits of the product. */
enum {
    SIZES_BYTES = HOOP_MAX_DIMS + 63 / 4,
    ELEMENT_BYTES = 1 + 5 + SIZES_BYTES,
    /* These fields are zero: signature, step and count. These take one byte:
     * codec, name, dtype and reduce_op. */
    SPARED_BYTES = 8 + 4 + 8 + 4,
};
_Static_assert((int)ARRAY_BYTES_MAX - SPARED_BYTES + ELEMENT_BYTES <=
                   (int)ARRAY_ROOM,
               "a tensor's header with the greatest values must fit");

struct cursor {
    uint8_t *bytes;
    size_t n_bytes;
};

static int
cursor_append(void *owner, const char *bytes, size_t n_bytes)
{
    struct cursor *cursor = owner;

    assert(n_bytes <= ARRAY_ROOM - cursor->n_bytes);
    memcpy(cursor->bytes + cursor->n_bytes, bytes, n_bytes);
    cursor->n_bytes += n_bytes;
    return 0;
}

void
frame_tensor_append(const struct frame_tensor *tensor,
                    uint8_t out[LIMIT_FRAME_HEADER])
{
    struct cursor cursor = {out + PREAMBLE_BYTES, out[PREAMBLE_LENGTH]};
    const uint32_t n_dims = tensor->shape.n_dims;
    msgpack_packer packer;

    assert(n_dims <= HOOP_MAX_DIMS);
    msgpack_packer_init(&packer, &cursor, cursor_append);
    msgpack_pack_array(&packer, 1 + n_dims);
    msgpack_pack_uint64(&packer, tensor->part);
    for (uint32_t i = 0; i < n_dims; i++)
        msgpack_pack_uint64(&packer, tensor->shape.dims[i]);
    /* The array's head is three bytes; the last is the count. */
    out[PREAMBLE_BYTES + ARRAY_HEAD_BYTES - 1] = FRAME_N_FIELDS + 1;
    out[PREAMBLE_LENGTH] = (uint8_t)cursor.n_bytes;
}

/* Reads values one by one; keeps the first error. */
struct reader {
    const uint8_t *at;
    size_t n_left;
    bool is_wrong;
};

static uint64_t
reader_next(struct reader *reader, enum value_type type, uint64_t max)
{
    const struct value value = value_read(reader->at, reader->n_left);

    if (reader->is_wrong || value.type != type || value.number > max) {
        reader->is_wrong = true;
        return 0;
    }
    reader->at += value.n_bytes;
    reader->n_left -= value.n_bytes;
    return value.number;
}

/* Elements in the array beyond the fields; there may be none. */
static uint64_t
reader_find(struct reader *reader)
{
    const uint64_t n_fields = reader_next(reader, VALUE_ARRAY, UINT32_MAX);

    for (size_t i = 0; i < FRAME_N_FIELDS; i++)
        (void)reader_next(reader, VALUE_UINT, UINT64_MAX);
    if (n_fields == FRAME_N_FIELDS)
        reader->is_wrong = true;
    return reader_next(reader, VALUE_ARRAY, 1 + HOOP_MAX_DIMS);
}

enum hoop_status
frame_tensor_read(const uint8_t in[LIMIT_FRAME_HEADER],
                  struct frame_tensor *out_tensor)
{
    struct reader reader = {in + PREAMBLE_BYTES, in[PREAMBLE_LENGTH], false};
    const uint64_t n_elements = reader_find(&reader);
    struct frame_tensor tensor = {0};

    if (n_elements == 0)
        return error_raise(HOOP_E_DATA_LOSS,
                           "the frame of a tensor has no shape of at most %d "
                           "dimensions",
                           HOOP_MAX_DIMS);
    tensor.part = (uint32_t)reader_next(&reader, VALUE_UINT, UINT32_MAX);
    tensor.shape.n_dims = (uint32_t)n_elements - 1;
    for (uint32_t i = 0; i < tensor.shape.n_dims; i++)
        tensor.shape.dims[i] = reader_next(&reader, VALUE_UINT, SIZE_MAX);
    if (reader.is_wrong)
        return error_raise(HOOP_E_DATA_LOSS,
                           "the shape in the frame of a tensor is damaged");
    *out_tensor = tensor;
    return HOOP_OK;
}
