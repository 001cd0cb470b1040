/*
 * wire/frame.c - encodes and decodes a frame's header
 *
 * Used for every message, even of 8 bytes, so it has no branches on names, no
 * allocation, and one pass. The fields are those of wire/schema.h. A static
 * assertion checks that the longest header fits.
 */

#include "wire/frame.h"

#include <assert.h>
#include <msgpack/pack.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "wire/schema.h"
#include "wire/unpack.h"

enum {
    CODEC_RAW = 0,
};

_Static_assert((int)ARRAY_BYTES_MAX <= (int)ARRAY_ROOM,
               "a header with the greatest values must fit");

static const uint8_t magic[4] = {'H', 'O', 'O', 'P'};

/* The bytes that are written or read, and how many so far. */
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

static void
field_encode(msgpack_packer *packer, uint64_t value, uint64_t max)
{
    assert(value <= max);
    msgpack_pack_uint64(packer, value);
}

static bool
kind_carries_payload(uint32_t kind)
{
    return kind == FRAME_COLLECTIVE || kind == FRAME_MESSAGE ||
           kind == FRAME_FAILURE_NOTICE;
}

static bool
kind_is_part_of_message(uint32_t kind)
{
    return kind == FRAME_COLLECTIVE || kind == FRAME_MESSAGE;
}

/* Return what is wrong with the combination of fields, or NULL. */
static const char *
frame_problem(const struct frame *frame)
{
    if (frame->kind == 0)
        return "kind is 0";
    if (!kind_carries_payload(frame->kind)) {
        const bool is_empty = frame->raw == 0 && frame->stored == 0;

        return is_empty ? NULL : "this kind has no payload";
    }
    if (frame->codec == CODEC_RAW && frame->stored != frame->raw)
        return "an uncoded payload has two sizes";
    if (frame->kind == FRAME_FAILURE_NOTICE && frame->codec != CODEC_RAW)
        return "a failure notice's text is compressed";
    if (!kind_is_part_of_message(frame->kind))
        return NULL;
    if (frame->offset > frame->total ||
        frame->raw > frame->total - frame->offset)
        return "the payload ends behind its message";
    return NULL;
}

void
frame_encode(const struct frame *frame, uint8_t out[LIMIT_FRAME_HEADER])
{
    struct cursor cursor = {out + PREAMBLE_BYTES, 0};
    msgpack_packer packer;

    assert(!frame_problem(frame));
    msgpack_packer_init(&packer, &cursor, cursor_append);
    msgpack_pack_array(&packer, FRAME_N_FIELDS);

#define FIELD_ENCODE(field, type, max)                                         \
    field_encode(&packer, frame->field, (max));
    FRAME_FIELDS(FIELD_ENCODE)

    memcpy(out, magic, sizeof(magic));
    out[PREAMBLE_VERSION] = FRAME_VERSION;
    out[PREAMBLE_RESERVED] = 0;
    out[PREAMBLE_LENGTH] = (uint8_t)cursor.n_bytes;
    out[PREAMBLE_LENGTH + 1] = 0;
    memset(cursor.bytes + cursor.n_bytes, 0, ARRAY_ROOM - cursor.n_bytes);
}

static enum hoop_status
preamble_decode(const uint8_t *in, size_t *out_n_array)
{
    const size_t n_array = in[PREAMBLE_LENGTH] | (size_t)in[PREAMBLE_LENGTH + 1]
                                                     << 8;

    if (memcmp(in, magic, sizeof(magic)) != 0)
        return error_raise(HOOP_E_DATA_LOSS,
                           "no frame begins with %02x %02x %02x %02x: the "
                           "stream is damaged or not hoop's",
                           in[0], in[1], in[2], in[3]);
    if (in[PREAMBLE_VERSION] != FRAME_VERSION)
        return error_raise(HOOP_E_UNIMPLEMENTED,
                           "the frame has version %u, this side speaks %d",
                           in[PREAMBLE_VERSION], FRAME_VERSION);
    if (in[PREAMBLE_RESERVED] != 0 || n_array > ARRAY_ROOM)
        return error_raise(HOOP_E_DATA_LOSS,
                           "the frame's preamble is damaged: reserved byte "
                           "%u, header of %zu bytes",
                           in[PREAMBLE_RESERVED], n_array);
    *out_n_array = n_array;
    return HOOP_OK;
}

/* Reads the array's elements one by one; keeps the first error. */
struct field_reader {
    const uint8_t *at;
    size_t n_left;
    size_t n_read;
    bool is_wrong;
};

/* Most fields are small: one byte, which is their value. */
static inline bool
field_is_small(const struct field_reader *reader, uint64_t max)
{
    return reader->n_left > 0 && reader->at[0] <= INT8_MAX &&
           reader->at[0] <= max;
}

static uint64_t
field_decode_any(struct field_reader *reader, uint64_t max)
{
    const struct value value = value_read(reader->at, reader->n_left);

    if (reader->is_wrong || value.type != VALUE_UINT || value.number > max) {
        reader->is_wrong = true;
        return 0;
    }
    reader->at += value.n_bytes;
    reader->n_left -= value.n_bytes;
    reader->n_read++;
    return value.number;
}

static inline uint64_t
field_decode(struct field_reader *reader, uint64_t max)
{
    if (reader->is_wrong || !field_is_small(reader, max))
        return field_decode_any(reader, max);
    reader->n_left--;
    reader->n_read++;
    return *reader->at++;
}

/* Fields that a later version adds at the end are ignored. */
static enum hoop_status
fields_decode(const uint8_t *in, size_t n_array, struct frame *out_frame)
{
    const struct value array = value_read(in, n_array);

    if (array.type != VALUE_ARRAY || array.number < FRAME_N_FIELDS)
        return error_raise(HOOP_E_DATA_LOSS,
                           "the frame's header is no array of %d fields",
                           FRAME_N_FIELDS);

    struct field_reader reader = {
        .at = in + array.n_bytes,
        .n_left = n_array - array.n_bytes,
    };

#define FIELD_DECODE(field, type, max)                                         \
    out_frame->field = (type)field_decode(&reader, (max));
    FRAME_FIELDS(FIELD_DECODE)

    if (reader.is_wrong)
        return error_raise(HOOP_E_DATA_LOSS,
                           "field %zu of the frame's header is damaged or out "
                           "of range",
                           reader.n_read);
    return HOOP_OK;
}

enum hoop_status
frame_decode(const uint8_t in[LIMIT_FRAME_HEADER], struct frame *out_frame)
{
    struct frame frame = {0};
    size_t n_array = 0;

    enum hoop_status status = preamble_decode(in, &n_array);
    if (status != HOOP_OK)
        return error_pass(status);

    status = fields_decode(in + PREAMBLE_BYTES, n_array, &frame);
    if (status != HOOP_OK)
        return error_pass(status);

    const char *problem = frame_problem(&frame);
    if (problem)
        return error_raise(HOOP_E_DATA_LOSS, "the frame contradicts itself: %s",
                           problem);

    *out_frame = frame;
    return HOOP_OK;
}
