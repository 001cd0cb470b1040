/*
 * hooprun/stream.h - splits the bytes of a pipe into lines
 *
 * A line ends with \n or \r\n. A line that ends or begins with a single \r is a
 * progress line, which the next one replaces.
 */

#ifndef HOOPRUN_STREAM_H
#define HOOPRUN_STREAM_H

#include <stdbool.h>
#include <stddef.h>

enum {
    STREAM_LINE_MAX = 64 * 1024, /* longer lines are split */
};

enum line_kind {
    LINE_WHOLE,
    LINE_PROGRESS,
};

/* bytes do not include the line's end, and are valid during the call. */
typedef void
line_fn(void *owner, enum line_kind kind, const char *bytes, size_t n_bytes);

/* Zeroed: an empty stream. */
struct stream {
    bool has_return;  /* the last byte was \r, and \n may follow */
    bool in_progress; /* the current line began after a single \r */
    size_t n_bytes;
    char bytes[STREAM_LINE_MAX];
};

void
stream_feed(struct stream *stream,
            const char *bytes,
            size_t n_bytes,
            line_fn *on_line,
            void *owner);

/* The pipe has ended: the rest is a line. */
void
stream_end(struct stream *stream, line_fn *on_line, void *owner);

#endif
