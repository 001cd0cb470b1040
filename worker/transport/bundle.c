/*
 * transport/bundle.c - several connections that carry one stream of bytes
 *
 * A mark is written after the bytes that it speaks of: only then is it known
 * how many the kernel took. Nothing can lock up: the bytes of the earliest
 * mark that is not read are the first unread ones of their connection.
 */

#include "transport/bundle.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "net/socket.h"
#include "transport/cursor.h"

enum {
    /* Less goes behind its mark: one call, and one wake-up. */
    INLINE_MAX = 64 * 1024,
    CHUNK_MIN = 64 * 1024,
    CHUNK_MAX = 256 * 1024,
    /* Of the bytes given, so many in one call. */
    SPANS_MAX = 26,
};

struct bundle *
bundle_create(void)
{
    struct bundle *bundle = calloc(1, sizeof(*bundle));

    for (unsigned i = 0; bundle && i < BUNDLE_FDS; i++)
        bundle->fds[i] = -1;
    return bundle;
}

void
bundle_destroy(struct bundle *bundle)
{
    if (!bundle)
        return;
    for (unsigned i = 1; i < BUNDLE_FDS; i++) {
        tls_destroy(bundle->tls[i]);
        socket_close(bundle->fds[i]);
    }
    free(bundle);
}

bool
bundle_add(struct bundle *bundle, unsigned stream, int fd)
{
    return bundle_add_tls(bundle, stream, fd, NULL);
}

bool
bundle_add_tls(struct bundle *bundle, unsigned stream, int fd, struct tls *tls)
{
    if (stream < 1 || stream > LIMIT_STREAMS || bundle->fds[stream] != -1)
        return false;
    bundle->fds[stream] = fd;
    bundle->tls[stream] = tls;
    return true;
}

bool
bundle_has(const struct bundle *bundle, unsigned n_streams)
{
    for (unsigned i = 1; i <= n_streams; i++) {
        if (bundle->fds[i] < 0)
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
mark_put(uint8_t out[BUNDLE_MARK], unsigned stream, size_t n_bytes)
{
    memset(out, 0, BUNDLE_MARK);
    put_u32(out, stream);
    put_u32(out + 4, (uint32_t)n_bytes);
}

static ssize_t
spans_send(struct bundle *bundle,
           unsigned stream,
           struct iovec *spans,
           size_t n_spans)
{
    const struct msghdr message = {.msg_iov = spans, .msg_iovlen = n_spans};
    ssize_t n_sent;

    if (bundle->tls[stream]) {
        n_sent = tls_send(bundle->tls[stream], spans, n_spans);
        if (tls_owes(bundle->tls[stream]))
            bundle->blocked |= 1u << stream;
        return n_sent;
    }
    do {
        n_sent =
            sendmsg(bundle->fds[stream], &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n_sent < 0 && errno == EINTR);
    return n_sent;
}

static bool
marks_wait(const struct bundle *bundle)
{
    return bundle->marks_end > bundle->marks_first;
}

bool
bundle_owes(const struct bundle *bundle)
{
    for (unsigned i = 0; i < BUNDLE_FDS; i++) {
        if (bundle->tls[i] && tls_owes(bundle->tls[i]))
            return true;
    }
    return marks_wait(bundle);
}

/* What was given to a tls and not to its socket. False: errno. */
static bool
tls_flush(struct bundle *bundle)
{
    for (unsigned i = 0; i < BUNDLE_FDS; i++) {
        if (bundle->tls[i] && tls_owes(bundle->tls[i]) &&
            spans_send(bundle, i, NULL, 0) < 0 && errno != EAGAIN &&
            errno != EWOULDBLOCK)
            return false;
    }
    return true;
}

/* False: errno says why some are left. */
static bool
marks_flush(struct bundle *bundle)
{
    while (marks_wait(bundle)) {
        struct iovec span = {bundle->marks + bundle->marks_first,
                             bundle->marks_end - bundle->marks_first};
        const ssize_t n_sent = spans_send(bundle, 0, &span, 1);

        if (n_sent < 0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK)
                bundle->blocked |= 1;
            return false;
        }
        bundle->marks_first += (size_t)n_sent;
    }
    bundle->marks_first = 0;
    bundle->marks_end = 0;
    return true;
}

/* Behind the mark that has begun. */
static ssize_t
send_inline_rest(struct bundle *bundle, const struct cursor *cursor)
{
    struct iovec spans[SPANS_MAX];
    const size_t n_spans =
        cursor_take(cursor, bundle->n_inline, spans, SPANS_MAX);
    const ssize_t n_sent = spans_send(bundle, 0, spans, n_spans);

    if (n_sent > 0)
        bundle->n_inline -= (size_t)n_sent;
    else if (n_sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        bundle->blocked |= 1;
    return n_sent;
}

/* A mark, and n_bytes behind it. */
static ssize_t
send_inline(struct bundle *bundle, const struct cursor *cursor, size_t n_bytes)
{
    struct iovec spans[1 + SPANS_MAX] = {{bundle->marks, BUNDLE_MARK}};

    mark_put(bundle->marks, 0, n_bytes);
    const size_t n_spans = cursor_take(cursor, n_bytes, spans + 1, SPANS_MAX);
    const ssize_t n_sent = spans_send(bundle, 0, spans, 1 + n_spans);
    if (n_sent < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK)
            bundle->blocked |= 1;
        return -1;
    }
    bundle->n_inline = n_bytes;
    if ((size_t)n_sent < BUNDLE_MARK) {
        bundle->marks_first = (size_t)n_sent;
        bundle->marks_end = BUNDLE_MARK;
        bundle->blocked |= 1;
        errno = EAGAIN;
        return -1;
    }
    bundle->n_inline -= (size_t)n_sent - BUNDLE_MARK;
    if ((size_t)n_sent > BUNDLE_MARK)
        return n_sent - BUNDLE_MARK;
    bundle->blocked |= 1;
    errno = EAGAIN;
    return -1;
}

/* The next that may have room; 0: none. */
static unsigned
stream_next(const struct bundle *bundle)
{
    for (unsigned i = 0; i < bundle->n_streams; i++) {
        const unsigned stream =
            1 + (bundle->stream_last + i) % bundle->n_streams;

        if (!(bundle->blocked & 1u << stream))
            return stream;
    }
    return 0;
}

/* An equal part for each, if that is worth a call. */
static size_t
chunk_of(const struct bundle *bundle, size_t n_bytes)
{
    const size_t n_chunk = n_bytes / bundle->n_streams;

    if (n_chunk > CHUNK_MAX)
        return CHUNK_MAX;
    if (n_chunk < CHUNK_MIN)
        return n_bytes < CHUNK_MIN ? n_bytes : CHUNK_MIN;
    return n_chunk;
}

/* To one connection. -1: it has no room, or is broken. */
static ssize_t
send_chunk(struct bundle *bundle,
           unsigned stream,
           const struct cursor *cursor,
           size_t n_bytes)
{
    struct iovec spans[SPANS_MAX];
    const size_t n_spans = cursor_take(cursor, n_bytes, spans, SPANS_MAX);
    const ssize_t n_sent = spans_send(bundle, stream, spans, n_spans);

    bundle->stream_last = stream;
    if (n_sent < (ssize_t)cursor_bytes(spans, n_spans) &&
        (n_sent >= 0 || errno == EAGAIN || errno == EWOULDBLOCK))
        bundle->blocked |= 1u << stream;
    if (n_sent <= 0)
        return -1;
    mark_put(bundle->marks + bundle->marks_end, stream, (size_t)n_sent);
    bundle->marks_end += BUNDLE_MARK;
    return n_sent;
}

static ssize_t
send_spread(struct bundle *bundle, struct cursor *cursor, size_t n_bytes)
{
    const size_t n_chunk = chunk_of(bundle, n_bytes);
    size_t n_total = 0;
    unsigned stream;

    while (n_total < n_bytes && bundle->marks_end < sizeof(bundle->marks) &&
           (stream = stream_next(bundle))) {
        const size_t n_left = n_bytes - n_total;
        const ssize_t n_sent = send_chunk(bundle, stream, cursor,
                                          n_left < n_chunk ? n_left : n_chunk);

        if (n_sent > 0) {
            cursor_move(cursor, (size_t)n_sent);
            n_total += (size_t)n_sent;
        } else if (!(bundle->blocked & 1u << stream)) {
            return n_total > 0 ? (ssize_t)n_total : -1;
        }
    }
    if (n_total == 0) {
        errno = EAGAIN;
        return -1;
    }
    /* What cannot be written now is owed. */
    (void)marks_flush(bundle);
    return (ssize_t)n_total;
}

ssize_t
bundle_send(struct bundle *bundle, const struct iovec *spans, size_t n_spans)
{
    struct cursor cursor = {spans, n_spans, 0};
    const size_t n_bytes = cursor_bytes(spans, n_spans);

    bundle->blocked = 0;
    if (!tls_flush(bundle) || !marks_flush(bundle))
        return -1;
    if (n_bytes == 0 && bundle->blocked) {
        errno = EAGAIN;
        return -1;
    }
    if (n_bytes == 0)
        return 0;
    if (bundle->n_inline > 0)
        return send_inline_rest(bundle, &cursor);
    if (n_bytes <= INLINE_MAX)
        return send_inline(bundle, &cursor, n_bytes);
    return send_spread(bundle, &cursor, n_bytes);
}

void
bundle_receive_first(struct bundle *bundle,
                     const uint8_t *bytes,
                     size_t n_bytes)
{
    if (n_bytes > 0)
        memcpy(bundle->ahead, bytes, n_bytes);
    bundle->ahead_first = 0;
    bundle->ahead_end = n_bytes;
    bundle->is_receiving = true;
}

static size_t
ahead_bytes(const struct bundle *bundle)
{
    return bundle->ahead_end - bundle->ahead_first;
}

bool
bundle_is_ready(const struct bundle *bundle)
{
    const struct tls *tls = bundle->tls[bundle_awaited(bundle)];

    if (tls && tls_is_ready(tls))
        return true;
    if (bundle->n_left == 0)
        return ahead_bytes(bundle) >= BUNDLE_MARK;
    return bundle->stream == 0 && ahead_bytes(bundle) > 0;
}

unsigned
bundle_awaited(const struct bundle *bundle)
{
    return bundle->n_left > 0 ? bundle->stream : 0;
}

static ssize_t
spans_read(struct bundle *bundle,
           unsigned stream,
           struct iovec *spans,
           size_t n_spans)
{
    ssize_t n_read;

    if (bundle->tls[stream])
        return tls_receive(bundle->tls[stream], spans, n_spans);
    do {
        n_read = readv(bundle->fds[stream], spans, (int)n_spans);
    } while (n_read < 0 && errno == EINTR);
    return n_read;
}

/* 1: n_left says of how much; 0: the stream has ended; -1: errno. */
static ssize_t
mark_next(struct bundle *bundle)
{
    while (ahead_bytes(bundle) < BUNDLE_MARK) {
        const size_t n_ahead = ahead_bytes(bundle);

        memmove(bundle->ahead, bundle->ahead + bundle->ahead_first, n_ahead);
        bundle->ahead_first = 0;
        bundle->ahead_end = n_ahead;
        struct iovec room = {bundle->ahead + n_ahead, BUNDLE_AHEAD - n_ahead};
        const ssize_t n_read = spans_read(bundle, 0, &room, 1);

        if (n_read <= 0)
            return n_read;
        bundle->ahead_end += (size_t)n_read;
    }
    const uint8_t *mark = bundle->ahead + bundle->ahead_first;
    const uint32_t stream = get_u32(mark);
    const uint32_t n_bytes = get_u32(mark + 4);
    if (stream > LIMIT_STREAMS || n_bytes == 0) {
        errno = EBADMSG;
        return -1;
    }
    bundle->ahead_first += BUNDLE_MARK;
    bundle->stream = stream;
    bundle->n_left = n_bytes;
    return 1;
}

/* What was read ahead of a mark's own bytes. */
static size_t
ahead_take(struct bundle *bundle, const struct cursor *cursor, size_t n_bytes)
{
    size_t n_here = ahead_bytes(bundle);
    size_t n_taken = 0;
    struct iovec spans[SPANS_MAX];

    n_here = n_here < n_bytes ? n_here : n_bytes;
    const size_t n_spans = cursor_take(cursor, n_here, spans, SPANS_MAX);
    for (size_t i = 0; i < n_spans; i++) {
        memcpy(spans[i].iov_base, bundle->ahead + bundle->ahead_first,
               spans[i].iov_len);
        bundle->ahead_first += spans[i].iov_len;
        n_taken += spans[i].iov_len;
    }
    return n_taken;
}

/* Some of the mark's bytes, up to n_bytes. 0: the stream has ended. */
static ssize_t
marked_read(struct bundle *bundle, const struct cursor *cursor, size_t n_bytes)
{
    const int fd = bundle->fds[bundle->stream];
    struct iovec spans[SPANS_MAX];

    if (bundle->stream == 0 && ahead_bytes(bundle) > 0)
        return (ssize_t)ahead_take(bundle, cursor, n_bytes);
    /* Its handshake is over at the other side, and soon will be here. */
    if (fd < 0) {
        errno = fd == BUNDLE_BROKEN ? ECONNRESET : EAGAIN;
        return -1;
    }
    const size_t n_spans = cursor_take(cursor, n_bytes, spans, SPANS_MAX);
    const ssize_t n_read = spans_read(bundle, bundle->stream, spans, n_spans);
    if (n_read != 0 || bundle->stream == 0)
        return n_read;
    errno = ECONNRESET;
    return -1;
}

ssize_t
bundle_receive(struct bundle *bundle, const struct iovec *spans, size_t n_spans)
{
    struct cursor cursor = {spans, n_spans, 0};
    size_t n_room = cursor_bytes(spans, n_spans);
    size_t n_total = 0;

    while (n_room > 0) {
        ssize_t n_read = bundle->n_left > 0 ? 1 : mark_next(bundle);

        if (n_read > 0)
            n_read =
                marked_read(bundle, &cursor,
                            n_room < bundle->n_left ? n_room : bundle->n_left);
        if (n_read <= 0)
            return n_total > 0 ? (ssize_t)n_total : n_read;
        cursor_move(&cursor, (size_t)n_read);
        bundle->n_left -= (size_t)n_read;
        n_room -= (size_t)n_read;
        n_total += (size_t)n_read;
    }
    return (ssize_t)n_total;
}

uint32_t
bundle_breaks(const struct bundle *bundle)
{
    struct pollfd ends[BUNDLE_FDS];
    uint32_t breaks = 0;

    for (unsigned i = 0; i < BUNDLE_FDS; i++)
        ends[i] = (struct pollfd){.fd = bundle->fds[i]};
    if (poll(ends, BUNDLE_FDS, 0) <= 0)
        return 0;
    for (unsigned i = 0; i < BUNDLE_FDS; i++) {
        /* The first may have been shut by both. */
        const int signs = POLLERR | POLLNVAL | (i > 0 ? POLLHUP : 0);

        breaks |= ends[i].revents & signs ? 1u << i : 0;
    }
    return breaks;
}

void
bundle_drop(struct bundle *bundle, unsigned stream)
{
    tls_destroy(bundle->tls[stream]);
    bundle->tls[stream] = NULL;
    socket_close(bundle->fds[stream]);
    bundle->fds[stream] = BUNDLE_BROKEN;
}
