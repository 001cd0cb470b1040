/*
 * hooprun/stream.h - the bytes of one pipe, cut into lines
 *
 * A line ends with \n or \r\n. What a lone \r ends or begins is a progress
 * line: a state that the next one replaces.
 */

#ifndef HOOPRUN_STREAM_H
#define HOOPRUN_STREAM_H

#include <stdbool.h>
#include <stddef.h>

enum {
    STREAM_LINE_MAX = 64 * 1024, /* longer lines are cut in pieces */
};

enum line_kind {
    LINE_WHOLE,
    LINE_PROGRESS,
};

/* bytes are without their ending, and valid for the call. */
typedef void
line_fn(void *owner, enum line_kind kind, const char *bytes, size_t n_bytes);

/* Zeroed memory is an empty stream. */
struct stream {
    bool has_return;  /* the last byte was \r: \n may follow */
    bool in_progress; /* the current line began after a lone \r */
    size_t n_bytes;
    char bytes[STREAM_LINE_MAX];
};

void
stream_feed(struct stream *stream,
            const char *bytes,
            size_t n_bytes,
            line_fn *on_line,
            void *owner);

/* The pipe has ended: what is left is a line. */
void
stream_end(struct stream *stream, line_fn *on_line, void *owner);

#endif
