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
    /* msgpack's head of an unsigned number of one byte; those of 2, 4 and 8
     * bytes follow */
    HEAD_UINT8 = 0xcc,
};

/* The forms of unsigned numbers, and the largest number whose shortest form it
 * is. A number of the first form is its own head. */
static const struct number_form {
    uint64_t max;
    size_t n_bytes; /* after the head, if there is one */
} number_forms[] = {
    {INT8_MAX, 1},   {UINT8_MAX, 1},  {UINT16_MAX, 2},
    {UINT32_MAX, 4}, {UINT64_MAX, 8},
};

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
    size_t form = 0;

    cache->op_at = 0;
    for (int i = 0; i <= FIELDS_BEFORE_OP; i++)
        at += value_read(at, (size_t)(end - at)).n_bytes;
    while (frame->op > number_forms[form].max)
        form++;
    /* A peer may send a longer form, or a signed number. */
    if (*at != (form == 0 ? frame->op : HEAD_UINT8 + form - 1))
        return;
    cache->op_at = (size_t)(at - header) + (form > 0);
    cache->n_op = number_forms[form].n_bytes;
    cache->op_min = form == 0 ? 0 : number_forms[form - 1].max + 1;
    cache->op_max = number_forms[form].max;
    cache->frame = *frame;
    memcpy(cache->bytes, header, LIMIT_FRAME_HEADER);
}

/* The caller has made the numbers equal. */
static bool
frame_is_like(const struct frame_header_cache *cache, const struct frame *frame)
{
    const struct frame *old = &cache->frame;
    uint64_t difference = 0;

#define FIELD_COMPARE(field, type, max) difference |= old->field ^ frame->field;
    FRAME_FIELDS(FIELD_COMPARE)
    return difference == 0;
}

/* Returns whether the cached header has a number of the same form. */
static bool
is_of_cached_form(const struct frame_header_cache *cache, uint64_t op)
{
    return cache->op_at > 0 && op >= cache->op_min && op <= cache->op_max;
}

void
frame_header_cache_encode(struct frame_header_cache *cache,
                          const struct frame *frame,
                          uint8_t out[LIMIT_FRAME_HEADER])
{
    const uint64_t op = frame->op;

    /* With its number replaced, only other fields can differ. */
    if (is_of_cached_form(cache, op)) {
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

/* Compare all but the number. */
static bool
header_is_like(const struct frame_header_cache *cache,
               const uint8_t in[LIMIT_FRAME_HEADER])
{
    const size_t after = cache->op_at + cache->n_op;

    return memcmp(in, cache->bytes, cache->op_at) == 0 &&
           memcmp(in + after, cache->bytes + after,
                  LIMIT_FRAME_HEADER - after) == 0;
}

enum hoop_status
frame_header_cache_decode(struct frame_header_cache *cache,
                          const uint8_t in[LIMIT_FRAME_HEADER],
                          struct frame *out_frame)
{
    const uint64_t op = value_number(in + cache->op_at, cache->n_op);

    if (is_of_cached_form(cache, op) && header_is_like(cache, in)) {
        *out_frame = cache->frame;
        out_frame->op = op;
        return HOOP_OK;
    }
    const enum hoop_status status = frame_decode(in, out_frame);
    if (status != HOOP_OK)
        return error_pass(status);
    remember(cache, out_frame, in);
    return HOOP_OK;
}
