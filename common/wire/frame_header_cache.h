/*
 * wire/frame_header_cache.h - reuses the last header for the next similar one
 *
 * A program that repeats a call sends headers that differ only in the number of
 * the operation. So a connection keeps the last header of each direction,
 * encoded and decoded. A similar header is copied, and only its number is
 * written or read. The bytes are the same as without the cache; other headers
 * are encoded and decoded in full.
 *
 * Thread: the thread that uses the connection. Zeroed: nothing is cached.
 */

#ifndef WIRE_FRAME_HEADER_CACHE_H
#define WIRE_FRAME_HEADER_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

struct frame_header_cache {
    size_t op_at;    /* position of the number's bytes; 0: nothing is cached */
    size_t n_op;     /* number of those bytes */
    uint64_t op_min; /* the numbers that are encoded in so many bytes */
    uint64_t op_max;
    struct frame frame;
    uint8_t bytes[LIMIT_FRAME_HEADER];
};

/* The same as frame_encode(). */
void
frame_header_cache_encode(struct frame_header_cache *cache,
                          const struct frame *frame,
                          uint8_t out[LIMIT_FRAME_HEADER]);

/* The same as frame_decode(). */
enum hoop_status
frame_header_cache_decode(struct frame_header_cache *cache,
                          const uint8_t in[LIMIT_FRAME_HEADER],
                          struct frame *out_frame);

#endif
