/* transport/cursor.h - a place in a list of spans of bytes */

#ifndef TRANSPORT_CURSOR_H
#define TRANSPORT_CURSOR_H

#include <stddef.h>
#include <sys/uio.h>

struct cursor {
    const struct iovec *spans; /* borrowed */
    size_t n_spans;
    size_t n_skipped; /* bytes of the first span */
};

/* Of all spans together. */
size_t
cursor_bytes(const struct iovec *spans, size_t n_spans);

/* So many bytes are done. */
void
cursor_move(struct cursor *cursor, size_t n_bytes);

/* The next n_bytes as spans, or as many as n_max spans hold. */
size_t
cursor_take(const struct cursor *cursor,
            size_t n_bytes,
            struct iovec *out_spans,
            size_t n_max);

#endif
