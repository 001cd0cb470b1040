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

/* Returns the bytes of all spans together. */
size_t
iovec_total_bytes(const struct iovec *spans, size_t n_spans);

/* Move forward by n_bytes, which have been handled. */
void
iovec_cursor_advance(struct cursor *cursor, size_t n_bytes);

/* Write the next n_bytes as at most n_max spans, and return the number of
 * spans. Fewer bytes are covered if n_max spans do not hold them. */
size_t
iovec_cursor_slice(const struct cursor *cursor,
                   size_t n_bytes,
                   struct iovec *out_spans,
                   size_t n_max);

#endif
