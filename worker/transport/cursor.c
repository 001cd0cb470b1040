/* transport/cursor.c - a place in a list of spans of bytes */

#include "transport/cursor.h"

#include <stdint.h>

size_t
iovec_total_bytes(const struct iovec *spans, size_t n_spans)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < n_spans; i++)
        n_bytes += spans[i].iov_len;
    return n_bytes;
}

void
iovec_cursor_advance(struct cursor *cursor, size_t n_bytes)
{
    n_bytes += cursor->n_skipped;
    while (cursor->n_spans > 0 && n_bytes >= cursor->spans->iov_len) {
        n_bytes -= cursor->spans->iov_len;
        cursor->spans++;
        cursor->n_spans--;
    }
    cursor->n_skipped = n_bytes;
}

size_t
iovec_cursor_slice(const struct cursor *cursor,
                   size_t n_bytes,
                   struct iovec *out_spans,
                   size_t n_max)
{
    size_t n_spans = 0;
    size_t n_skipped = cursor->n_skipped;

    for (size_t i = 0; i < cursor->n_spans && n_spans < n_max && n_bytes > 0;
         i++) {
        const struct iovec *span = &cursor->spans[i];
        const size_t n_span = span->iov_len - n_skipped;
        const size_t n_here = n_span < n_bytes ? n_span : n_bytes;

        if (n_here > 0)
            out_spans[n_spans++] =
                (struct iovec){(uint8_t *)span->iov_base + n_skipped, n_here};
        n_bytes -= n_here;
        n_skipped = 0;
    }
    return n_spans;
}
