/*
 * transport/stream/stream_group.c - one stream of bytes over several
 * connections
 *
 * A mark is written after the bytes that it describes, because only then it is
 * known how many the kernel took. There can be no deadlock: the bytes of the
 * earliest unread mark are the first unread bytes of their connection.
 */

#include "transport/stream/stream_group.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/limits.h"
#include "net/socket.h"

/* A place in a list of spans of bytes. */

struct cursor {
    const struct iovec *spans; /* borrowed */
    size_t n_spans;
    size_t n_skipped; /* bytes of the first span */
};

/* Returns the bytes of all spans together. */
static size_t
iovec_total_bytes(const struct iovec *spans, size_t n_spans)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < n_spans; i++)
        n_bytes += spans[i].iov_len;
    return n_bytes;
}

/* Move forward by n_bytes, which have been handled. */
static void
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

/* Write the next n_bytes as at most n_max spans, and return the number of
 * spans. Fewer bytes are covered if n_max spans do not hold them. */
static size_t
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

/* How many streams to a peer pay. */

enum {
    /* Some tenths of a second of a fast link. That is long enough to be
     * measured, and the congestion windows open within a phase. */
    AUTOTUNE_WINDOW_BYTES = 4 * 1024 * 1024,
    AUTOTUNE_WINDOWS_MAX = 16,
    /* A smaller gain may be chance. */
    STREAM_DOUBLING_GAIN_PERCENT = 15,
};

static const double NS_PER_S = 1e9;

void
stream_autotune_begin(struct stream_autotune *stream_autotune,
                      unsigned n_streams)
{
    stream_autotune->n_streams = n_streams;
    stream_autotune->n_windows = 0;
    stream_autotune->began_ns = 0;
    stream_autotune->n_bytes = 0;
    stream_autotune->best_rate_half_streams = stream_autotune->best;
    stream_autotune->best = 0;
}

/* All windows are measured: go on with more streams, or go back. */
static unsigned
stream_autotune_end_phase(struct stream_autotune *stream_autotune)
{
    const double needed = stream_autotune->best_rate_half_streams *
                          (100 + STREAM_DOUBLING_GAIN_PERCENT) / 100;

    if (stream_autotune->best <= needed) {
        stream_autotune->is_settled = true;
        return stream_autotune->n_streams > 1 ? stream_autotune->n_streams / 2
                                              : 1;
    }
    stream_autotune->is_settled = stream_autotune->n_streams >= LIMIT_STREAMS;
    return stream_autotune->is_settled ? stream_autotune->n_streams
                                       : 2 * stream_autotune->n_streams;
}

unsigned
stream_autotune_record_bytes(struct stream_autotune *stream_autotune,
                             uint64_t n_bytes,
                             uint64_t (*clock)(void))
{
    if (stream_autotune->is_settled ||
        stream_autotune->n_windows == AUTOTUNE_WINDOWS_MAX)
        return stream_autotune->n_streams;
    stream_autotune->n_bytes += n_bytes;
    if (stream_autotune->began_ns == 0) {
        stream_autotune->began_ns = clock();
        stream_autotune->n_bytes = 0;
    }
    if (stream_autotune->n_bytes < AUTOTUNE_WINDOW_BYTES)
        return stream_autotune->n_streams;

    const uint64_t now_ns = clock();
    const double rate = now_ns > stream_autotune->began_ns
                            ? (double)stream_autotune->n_bytes * NS_PER_S /
                                  (double)(now_ns - stream_autotune->began_ns)
                            : 0;
    stream_autotune->began_ns = now_ns;
    stream_autotune->n_bytes = 0;
    if (rate > stream_autotune->best)
        stream_autotune->best = rate;
    return ++stream_autotune->n_windows == AUTOTUNE_WINDOWS_MAX
               ? stream_autotune_end_phase(stream_autotune)
               : stream_autotune->n_streams;
}

/* The connections of a group, and what goes over them. */

enum {
    /* Fewer bytes follow their mark on the first connection: one call, and one
     * wake-up. */
    STRIPING_INLINE_BYTES_MAX = 64 * 1024,
    STRIPE_CHUNK_BYTES_MIN = 64 * 1024,
    STRIPE_CHUNK_BYTES_MAX = 256 * 1024,
    /* how many of the given spans one call sends */
    INLINE_SEND_SPANS_MAX = 26,
};

struct stream_group *
stream_group_create(void)
{
    struct stream_group *stream_group = calloc(1, sizeof(*stream_group));

    for (unsigned i = 0; stream_group && i < STREAM_GROUP_N_FDS; i++)
        stream_group->fds[i] = -1;
    return stream_group;
}

void
stream_group_destroy(struct stream_group *stream_group)
{
    if (!stream_group)
        return;
    for (unsigned i = 1; i < STREAM_GROUP_N_FDS; i++) {
        tls_destroy(stream_group->tls[i]);
        socket_close(stream_group->fds[i]);
    }
    free(stream_group);
}

bool
stream_group_add(struct stream_group *stream_group, unsigned stream, int fd)
{
    return stream_group_add_tls(stream_group, stream, fd, NULL);
}

bool
stream_group_add_tls(struct stream_group *stream_group,
                     unsigned stream,
                     int fd,
                     struct tls *tls)
{
    if (stream < 1 || stream > LIMIT_STREAMS || stream_group->fds[stream] != -1)
        return false;
    stream_group->fds[stream] = fd;
    stream_group->tls[stream] = tls;
    return true;
}

bool
stream_group_is_complete(const struct stream_group *stream_group,
                         unsigned n_streams)
{
    for (unsigned i = 1; i <= n_streams; i++) {
        if (stream_group->fds[i] < 0)
            return false;
    }
    return true;
}

static void
put_u32(uint8_t *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t
get_u32(const uint8_t *at)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < 4; i++)
        value |= (uint32_t)at[i] << (8 * i);
    return value;
}

static void
mark_encode(uint8_t out[STREAM_GROUP_MARK_BYTES],
            unsigned stream,
            size_t n_bytes)
{
    memset(out, 0, STREAM_GROUP_MARK_BYTES);
    put_u32(out, stream);
    put_u32(out + 4, (uint32_t)n_bytes);
}

static ssize_t
stream_sendmsg(struct stream_group *stream_group,
               unsigned stream,
               struct iovec *spans,
               size_t n_spans)
{
    const struct msghdr message = {.msg_iov = spans, .msg_iovlen = n_spans};
    ssize_t n_sent;

    if (stream_group->tls[stream]) {
        n_sent = tls_send(stream_group->tls[stream], spans, n_spans);
        if (tls_has_unsent(stream_group->tls[stream]))
            stream_group->blocked |= 1u << stream;
        return n_sent;
    }
    do {
        n_sent = sendmsg(stream_group->fds[stream], &message,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n_sent < 0 && errno == EINTR);
    return n_sent;
}

static bool
has_unsent_marks(const struct stream_group *stream_group)
{
    return stream_group->marks_end > stream_group->marks_first;
}

bool
stream_group_has_unsent(const struct stream_group *stream_group)
{
    for (unsigned i = 0; i < STREAM_GROUP_N_FDS; i++) {
        if (stream_group->tls[i] && tls_has_unsent(stream_group->tls[i]))
            return true;
    }
    return has_unsent_marks(stream_group);
}

/* Send what a tls still holds. Returns false with errno set if a connection
 * failed. */
static bool
stream_group_flush_tls(struct stream_group *stream_group)
{
    for (unsigned i = 0; i < STREAM_GROUP_N_FDS; i++) {
        if (stream_group->tls[i] && tls_has_unsent(stream_group->tls[i]) &&
            stream_sendmsg(stream_group, i, NULL, 0) < 0 && errno != EAGAIN &&
            errno != EWOULDBLOCK)
            return false;
    }
    return true;
}

/* Returns false if some marks are left; errno says why. */
static bool
marks_flush(struct stream_group *stream_group)
{
    while (has_unsent_marks(stream_group)) {
        struct iovec span = {stream_group->marks + stream_group->marks_first,
                             stream_group->marks_end -
                                 stream_group->marks_first};
        const ssize_t n_sent = stream_sendmsg(stream_group, 0, &span, 1);

        if (n_sent < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK)
                stream_group->blocked |= 1;
            return false;
        }
        stream_group->marks_first += (size_t)n_sent;
    }
    stream_group->marks_first = 0;
    stream_group->marks_end = 0;
    return true;
}

/* Send bytes of the current mark, on the first connection. */
static ssize_t
send_inline_rest(struct stream_group *stream_group, const struct cursor *cursor)
{
    struct iovec spans[INLINE_SEND_SPANS_MAX];
    const size_t n_spans =
        iovec_cursor_slice(cursor, stream_group->n_inline_bytes_left, spans,
                           INLINE_SEND_SPANS_MAX);
    const ssize_t n_sent = stream_sendmsg(stream_group, 0, spans, n_spans);

    if (n_sent > 0)
        stream_group->n_inline_bytes_left -= (size_t)n_sent;
    else if (n_sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        stream_group->blocked |= 1;
    return n_sent;
}

/* Send a mark and n_bytes behind it, on the first connection. */
static ssize_t
send_inline(struct stream_group *stream_group,
            const struct cursor *cursor,
            size_t n_bytes)
{
    struct iovec spans[1 + INLINE_SEND_SPANS_MAX] = {
        {stream_group->marks, STREAM_GROUP_MARK_BYTES}};

    mark_encode(stream_group->marks, 0, n_bytes);
    const size_t n_spans =
        iovec_cursor_slice(cursor, n_bytes, spans + 1, INLINE_SEND_SPANS_MAX);
    const ssize_t n_sent = stream_sendmsg(stream_group, 0, spans, 1 + n_spans);
    if (n_sent < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            stream_group->blocked |= 1;
        return -1;
    }
    stream_group->n_inline_bytes_left = n_bytes;
    if ((size_t)n_sent < STREAM_GROUP_MARK_BYTES) {
        stream_group->marks_first = (size_t)n_sent;
        stream_group->marks_end = STREAM_GROUP_MARK_BYTES;
        stream_group->blocked |= 1;
        errno = EAGAIN;
        return -1;
    }
    stream_group->n_inline_bytes_left -=
        (size_t)n_sent - STREAM_GROUP_MARK_BYTES;
    if ((size_t)n_sent > STREAM_GROUP_MARK_BYTES)
        return n_sent - STREAM_GROUP_MARK_BYTES;
    stream_group->blocked |= 1;
    errno = EAGAIN;
    return -1;
}

/* Returns the next stream that may have room, or 0. */
static unsigned
stream_next_writable(const struct stream_group *stream_group)
{
    for (unsigned i = 0; i < stream_group->n_streams; i++) {
        const unsigned stream = 1 + (stream_group->last_striped_stream + i) %
                                        stream_group->n_streams;

        if (!(stream_group->blocked & 1u << stream))
            return stream;
    }
    return 0;
}

/* Returns an equal part for each stream, if that is worth a call. */
static size_t
chunk_size(const struct stream_group *stream_group, size_t n_bytes)
{
    const size_t n_chunk = n_bytes / stream_group->n_streams;

    if (n_chunk > STRIPE_CHUNK_BYTES_MAX)
        return STRIPE_CHUNK_BYTES_MAX;
    if (n_chunk < STRIPE_CHUNK_BYTES_MIN)
        return n_bytes < STRIPE_CHUNK_BYTES_MIN ? n_bytes
                                                : STRIPE_CHUNK_BYTES_MIN;
    return n_chunk;
}

/* Send to one connection and add a mark for it. Returns -1 if the connection
 * has no room or is broken. */
static ssize_t
send_chunk(struct stream_group *stream_group,
           unsigned stream,
           const struct cursor *cursor,
           size_t n_bytes)
{
    struct iovec spans[INLINE_SEND_SPANS_MAX];
    const size_t n_spans =
        iovec_cursor_slice(cursor, n_bytes, spans, INLINE_SEND_SPANS_MAX);
    const ssize_t n_sent = stream_sendmsg(stream_group, stream, spans, n_spans);

    stream_group->last_striped_stream = stream;
    if (n_sent < (ssize_t)iovec_total_bytes(spans, n_spans) &&
        (n_sent >= 0 || errno == EAGAIN || errno == EWOULDBLOCK))
        stream_group->blocked |= 1u << stream;
    if (n_sent <= 0)
        return -1;
    mark_encode(stream_group->marks + stream_group->marks_end, stream,
                (size_t)n_sent);
    stream_group->marks_end += STREAM_GROUP_MARK_BYTES;
    return n_sent;
}

static ssize_t
send_striped(struct stream_group *stream_group,
             struct cursor *cursor,
             size_t n_bytes)
{
    const size_t n_chunk = chunk_size(stream_group, n_bytes);
    size_t n_total = 0;
    unsigned stream;

    while (n_total < n_bytes &&
           stream_group->marks_end < sizeof(stream_group->marks) &&
           (stream = stream_next_writable(stream_group))) {
        const size_t n_left = n_bytes - n_total;
        const ssize_t n_sent = send_chunk(stream_group, stream, cursor,
                                          n_left < n_chunk ? n_left : n_chunk);

        if (n_sent > 0) {
            iovec_cursor_advance(cursor, (size_t)n_sent);
            n_total += (size_t)n_sent;
        } else if (!(stream_group->blocked & 1u << stream)) {
            return n_total > 0 ? (ssize_t)n_total : -1;
        }
    }
    if (n_total == 0) {
        errno = EAGAIN;
        return -1;
    }
    /* Marks that cannot be written now are kept for the next call. */
    (void)marks_flush(stream_group);
    return (ssize_t)n_total;
}

ssize_t
stream_group_send(struct stream_group *stream_group,
                  const struct iovec *spans,
                  size_t n_spans)
{
    struct cursor cursor = {spans, n_spans, 0};
    const size_t n_bytes = iovec_total_bytes(spans, n_spans);

    stream_group->blocked = 0;
    if (!stream_group_flush_tls(stream_group) || !marks_flush(stream_group))
        return -1;
    if (n_bytes == 0 && stream_group->blocked) {
        errno = EAGAIN;
        return -1;
    }
    if (n_bytes == 0)
        return 0;
    if (stream_group->n_inline_bytes_left > 0)
        return send_inline_rest(stream_group, &cursor);
    if (n_bytes <= STRIPING_INLINE_BYTES_MAX)
        return send_inline(stream_group, &cursor, n_bytes);
    return send_striped(stream_group, &cursor, n_bytes);
}

void
stream_group_start_receiving(struct stream_group *stream_group,
                             const uint8_t *bytes,
                             size_t n_bytes)
{
    if (n_bytes > 0)
        memcpy(stream_group->ahead, bytes, n_bytes);
    stream_group->read_ahead_first = 0;
    stream_group->read_ahead_end = n_bytes;
    stream_group->is_receiving = true;
}

static size_t
read_ahead_bytes(const struct stream_group *stream_group)
{
    return stream_group->read_ahead_end - stream_group->read_ahead_first;
}

bool
stream_group_is_readable(const struct stream_group *stream_group)
{
    const struct tls *tls =
        stream_group->tls[stream_group_next_read(stream_group)];

    if (tls && tls_has_buffered(tls))
        return true;
    if (stream_group->n_left == 0)
        return read_ahead_bytes(stream_group) >= STREAM_GROUP_MARK_BYTES;
    return stream_group->stream == 0 && read_ahead_bytes(stream_group) > 0;
}

unsigned
stream_group_next_read(const struct stream_group *stream_group)
{
    return stream_group->n_left > 0 ? stream_group->stream : 0;
}

static ssize_t
stream_readv(struct stream_group *stream_group,
             unsigned stream,
             struct iovec *spans,
             size_t n_spans)
{
    ssize_t n_read;

    if (stream_group->tls[stream])
        return tls_receive(stream_group->tls[stream], spans, n_spans);
    do {
        n_read = readv(stream_group->fds[stream], spans, (int)n_spans);
    } while (n_read < 0 && errno == EINTR);
    return n_read;
}

/* Read the next mark. Returns 1 if n_left is set, 0 if the stream has ended,
 * and -1 with errno set. */
static ssize_t
striping_mark_read(struct stream_group *stream_group)
{
    while (read_ahead_bytes(stream_group) < STREAM_GROUP_MARK_BYTES) {
        const size_t n_ahead = read_ahead_bytes(stream_group);

        memmove(stream_group->ahead,
                stream_group->ahead + stream_group->read_ahead_first, n_ahead);
        stream_group->read_ahead_first = 0;
        stream_group->read_ahead_end = n_ahead;
        struct iovec room = {stream_group->ahead + n_ahead,
                             STREAM_GROUP_READ_AHEAD_BYTES - n_ahead};
        const ssize_t n_read = stream_readv(stream_group, 0, &room, 1);

        if (n_read <= 0)
            return n_read;
        stream_group->read_ahead_end += (size_t)n_read;
    }
    const uint8_t *mark = stream_group->ahead + stream_group->read_ahead_first;
    const uint32_t stream = get_u32(mark);
    const uint32_t n_bytes = get_u32(mark + 4);
    if (stream > LIMIT_STREAMS || n_bytes == 0) {
        errno = EBADMSG;
        return -1;
    }
    stream_group->read_ahead_first += STREAM_GROUP_MARK_BYTES;
    stream_group->stream = stream;
    stream_group->n_left = n_bytes;
    return 1;
}

/* Copy bytes that were read ahead on the first connection. */
static size_t
read_ahead_copy(struct stream_group *stream_group,
                const struct cursor *cursor,
                size_t n_bytes)
{
    size_t n_here = read_ahead_bytes(stream_group);
    size_t n_taken = 0;
    struct iovec spans[INLINE_SEND_SPANS_MAX];

    n_here = n_here < n_bytes ? n_here : n_bytes;
    const size_t n_spans =
        iovec_cursor_slice(cursor, n_here, spans, INLINE_SEND_SPANS_MAX);
    for (size_t i = 0; i < n_spans; i++) {
        memcpy(spans[i].iov_base,
               stream_group->ahead + stream_group->read_ahead_first,
               spans[i].iov_len);
        stream_group->read_ahead_first += spans[i].iov_len;
        n_taken += spans[i].iov_len;
    }
    return n_taken;
}

/* Read bytes of the current mark, at most n_bytes. Returns 0 if the stream has
 * ended. */
static ssize_t
striping_chunk_read(struct stream_group *stream_group,
                    const struct cursor *cursor,
                    size_t n_bytes)
{
    const int fd = stream_group->fds[stream_group->stream];
    struct iovec spans[INLINE_SEND_SPANS_MAX];

    if (stream_group->stream == 0 && read_ahead_bytes(stream_group) > 0)
        return (ssize_t)read_ahead_copy(stream_group, cursor, n_bytes);
    /* The handshake of that connection is over on the other side, and soon
     * will be here. */
    if (fd < 0) {
        errno = fd == STREAM_GROUP_BROKEN ? ECONNRESET : EAGAIN;
        return -1;
    }
    const size_t n_spans =
        iovec_cursor_slice(cursor, n_bytes, spans, INLINE_SEND_SPANS_MAX);
    const ssize_t n_read =
        stream_readv(stream_group, stream_group->stream, spans, n_spans);
    if (n_read != 0 || stream_group->stream == 0)
        return n_read;
    errno = ECONNRESET;
    return -1;
}

ssize_t
stream_group_receive(struct stream_group *stream_group,
                     const struct iovec *spans,
                     size_t n_spans)
{
    struct cursor cursor = {spans, n_spans, 0};
    size_t n_room = iovec_total_bytes(spans, n_spans);
    size_t n_total = 0;

    while (n_room > 0) {
        ssize_t n_read =
            stream_group->n_left > 0 ? 1 : striping_mark_read(stream_group);

        if (n_read > 0)
            n_read = striping_chunk_read(
                stream_group, &cursor,
                n_room < stream_group->n_left ? n_room : stream_group->n_left);
        if (n_read <= 0)
            return n_total > 0 ? (ssize_t)n_total : n_read;
        iovec_cursor_advance(&cursor, (size_t)n_read);
        stream_group->n_left -= (size_t)n_read;
        n_room -= (size_t)n_read;
        n_total += (size_t)n_read;
    }
    return (ssize_t)n_total;
}

uint32_t
stream_group_find_broken(const struct stream_group *stream_group)
{
    struct pollfd ends[STREAM_GROUP_N_FDS];
    uint32_t breaks = 0;

    for (unsigned i = 0; i < STREAM_GROUP_N_FDS; i++)
        ends[i] = (struct pollfd){.fd = stream_group->fds[i]};
    if (poll(ends, STREAM_GROUP_N_FDS, 0) <= 0)
        return 0;
    for (unsigned i = 0; i < STREAM_GROUP_N_FDS; i++) {
        /* Both sides may have shut down the first connection, so its end is no
         * break. */
        const int signs = POLLERR | POLLNVAL | (i > 0 ? POLLHUP : 0);

        breaks |= ends[i].revents & signs ? 1u << i : 0;
    }
    return breaks;
}

void
stream_group_close_stream(struct stream_group *stream_group, unsigned stream)
{
    tls_destroy(stream_group->tls[stream]);
    stream_group->tls[stream] = NULL;
    socket_close(stream_group->fds[stream]);
    stream_group->fds[stream] = STREAM_GROUP_BROKEN;
}
