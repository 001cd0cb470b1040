/* wire/frame_header_cache.c - reuses the last header for the next similar
 * one */

#include "wire/frame_header_cache.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "wire/schema.h"
#include "wire/unpack.h"

enum {
    /* kind, flags, epoch, comm */
    FIELDS_BEFORE_OP = 4,
    /* msgpack heads of unsigned numbers of 1 to 8 bytes */
    HEAD_UINT8 = 0xcc,
    HEAD_UINT64 = 0xcf,
};

/* Bytes after the head in the shortest form of a number above one byte. */
static size_t
n_bytes_of(uint64_t number)
{
    if (number <= UINT16_MAX)
        return number <= UINT8_MAX ? 1 : 2;
    return number <= UINT32_MAX ? 4 : 8;
}

static void
number_write(uint8_t *at, size_t n_bytes, uint64_t number)
{
    for (size_t i = n_bytes; i-- > 0; number >>= 8)
        at[i] = (uint8_t)number;
}

/* Keep header, the encoding of frame, to compare the next one with. */
static void
remember(struct frame_header_cache *cache,
         const struct frame *frame,
         const uint8_t header[LIMIT_FRAME_HEADER])
{
    const uint8_t *at = header + PREAMBLE_BYTES;
    const uint8_t *end = header + LIMIT_FRAME_HEADER;

    cache->op_at = 0;
    for (int i = 0; i <= FIELDS_BEFORE_OP; i++)
        at += value_read(at, (size_t)(end - at)).n_bytes;
    /* Small numbers have no separate head, and are soon exceeded. */
    if (*at < HEAD_UINT8 || *at > HEAD_UINT64)
        return;
    cache->n_op = value_read(at, (size_t)(end - at)).n_bytes - 1;
    cache->op_at = (size_t)(at - header) + 1;
    cache->frame = *frame;
    memcpy(cache->bytes, header, LIMIT_FRAME_HEADER);
}

/* Compare all but the number. */
static bool
frame_is_like(const struct frame_header_cache *cache, const struct frame *frame)
{
    const struct frame *old = &cache->frame;
    uint64_t difference = 0;

#define FIELD_COMPARE(field, type, max) difference |= old->field ^ frame->field;
    FRAME_FIELDS(FIELD_COMPARE)
    return difference == 0;
}

void
frame_header_cache_encode(struct frame_header_cache *cache,
                          const struct frame *frame,
                          uint8_t out[LIMIT_FRAME_HEADER])
{
    const uint64_t op = frame->op;

    /* With its number replaced, only other fields can differ. */
    if (cache->op_at > 0 && op > INT8_MAX && n_bytes_of(op) == cache->n_op) {
        cache->frame.op = op;
        if (frame_is_like(cache, frame)) {
            memcpy(out, cache->bytes, LIMIT_FRAME_HEADER);
            number_write(out + cache->op_at, cache->n_op, op);
            return;
        }
    }
    frame_encode(frame, out);
    remember(cache, frame, out);
}

static bool
header_is_like(const struct frame_header_cache *cache,
               const uint8_t in[LIMIT_FRAME_HEADER])
{
    const size_t after = cache->op_at + cache->n_op;

    return cache->op_at > 0 && memcmp(in, cache->bytes, cache->op_at) == 0 &&
           memcmp(in + after, cache->bytes + after,
                  LIMIT_FRAME_HEADER - after) == 0;
}

enum hoop_status
frame_header_cache_decode(struct frame_header_cache *cache,
                          const uint8_t in[LIMIT_FRAME_HEADER],
                          struct frame *out_frame)
{
    if (header_is_like(cache, in)) {
        *out_frame = cache->frame;
        out_frame->op = value_number(in + cache->op_at, cache->n_op);
        return HOOP_OK;
    }
    const enum hoop_status status = frame_decode(in, out_frame);
    if (status != HOOP_OK)
        return error_pass(status);
    remember(cache, out_frame, in);
    return HOOP_OK;
}
