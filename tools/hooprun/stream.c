/* hooprun/stream.c - splits the bytes of a pipe into lines */

#include "hooprun/stream.h"

#include <string.h>

/* "Erase to the end of the line", with which progress lines often begin. */
static const char erase[] = "\033[K";

/* Return how many bytes at the beginning only erase. */
static size_t
erase_span(const struct stream *stream)
{
    const size_t n_erase = sizeof(erase) - 1;
    size_t n = 0;

    while (n + n_erase <= stream->n_bytes &&
           memcmp(stream->bytes + n, erase, n_erase) == 0)
        n += n_erase;
    return n;
}

static void
line_emit(struct stream *stream,
          enum line_kind kind,
          line_fn *on_line,
          void *owner)
{
    const size_t n_erased = erase_span(stream);

    on_line(owner, kind, stream->bytes + n_erased, stream->n_bytes - n_erased);
}

static void
byte_feed(struct stream *stream, char byte, line_fn *on_line, void *owner)
{
    if (stream->has_return && byte != '\n') {
        if (stream->n_bytes > 0)
            line_emit(stream, LINE_PROGRESS, on_line, owner);
        stream->n_bytes = 0;
        stream->in_progress = true;
    }
    stream->has_return = byte == '\r';
    if (byte == '\r')
        return;

    if (byte == '\n' || stream->n_bytes == sizeof(stream->bytes)) {
        line_emit(stream, LINE_WHOLE, on_line, owner);
        stream->n_bytes = 0;
        stream->in_progress = false;
    }
    if (byte != '\n')
        stream->bytes[stream->n_bytes++] = byte;
}

void
stream_feed(struct stream *stream,
            const char *bytes,
            size_t n_bytes,
            line_fn *on_line,
            void *owner)
{
    for (size_t i = 0; i < n_bytes; i++)
        byte_feed(stream, bytes[i], on_line, owner);

    /* A progress line is shown when written, not when replaced. */
    const bool is_shown = stream->in_progress || stream->has_return;
    if (is_shown && stream->n_bytes > 0)
        line_emit(stream, LINE_PROGRESS, on_line, owner);
}

void
stream_end(struct stream *stream, line_fn *on_line, void *owner)
{
    const bool is_text = stream->n_bytes > erase_span(stream);

    if (stream->n_bytes > 0)
        line_emit(stream, is_text ? LINE_WHOLE : LINE_PROGRESS, on_line, owner);
    stream->n_bytes = 0;
    stream->in_progress = false;
    stream->has_return = false;
}
