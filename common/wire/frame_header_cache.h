/*
 * wire/frame_header_cache.h - the header before, which the next is mostly like
 *
 * Who calls the same again and again sends headers that differ in the number of
 * the operation alone. So a connection keeps the last header of each direction,
 * and what it says: one like it is copied, and its number written or read. The
 * bytes are the same as without; what is not like the last goes the long way.
 *
 * Thread: whoever has the connection. Zeroed memory remembers nothing.
 */

#ifndef WIRE_FRAME_HEADER_CACHE_H
#define WIRE_FRAME_HEADER_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

struct frame_header_cache {
    size_t op_at; /* where the number's bytes begin; 0: there is nothing */
    size_t n_op;  /* and how many they are */
    struct frame frame;
    uint8_t bytes[LIMIT_FRAME_HEADER];
};

/* As frame_encode(). */
void
frame_header_cache_encode(struct frame_header_cache *cache,
                          const struct frame *frame,
                          uint8_t out[LIMIT_FRAME_HEADER]);

/* As frame_decode(). */
enum hoop_status
frame_header_cache_decode(struct frame_header_cache *cache,
                          const uint8_t in[LIMIT_FRAME_HEADER],
                          struct frame *out_frame);

#endif
