/*
 * transport/tcp_send.c - from flows to frames to the socket
 *
 * A frame is cut from what is ready when the socket can take it, never
 * before: what is queued can still be cancelled. One sendmsg(2) carries
 * headers and payloads of several frames, straight from the user's buffer.
 */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/error.h"
#include "transport/peer.h"

enum {
    FRAME_COST = LIMIT_FRAME_HEADER,
    /* Coding smaller payloads costs more than it saves. */
    CODED_MIN = 1024,
    IOV_PER_FRAME = 3,
};

static const uint8_t padding[LIMIT_FRAME_PAD];

static struct outframe *
frame_at(struct peer *peer, unsigned i)
{
    return &peer->frames[(peer->frame_first + i) % PEER_FRAMES_MAX];
}

static size_t
padded(size_t n_bytes)
{
    return (n_bytes + LIMIT_FRAME_PAD - 1) / LIMIT_FRAME_PAD * LIMIT_FRAME_PAD;
}

void
peer_control(struct peer *peer, const struct frame *frame, const char *text)
{
    const size_t n_text = text ? strlen(text) : 0;
    struct control *control = malloc(sizeof(*control) + n_text);

    if (!control) {
        peer_lose(peer, "no memory for a control frame");
        return;
    }
    control->frame = *frame;
    control->frame.raw = (uint32_t)n_text;
    control->frame.stored = (uint32_t)n_text;
    if (n_text)
        control->frame.total = n_text;
    control->n_text = n_text;
    if (n_text)
        memcpy(control->text, text, n_text);
    TAILQ_INSERT_TAIL(&peer->controls, control, link);
    peer_touch(peer);
}

/* Room of an outframe's own for a payload of n_bytes. */
static uint8_t *
owned_room(struct outframe *out, size_t n_bytes)
{
    if (out->owned_capacity < n_bytes) {
        free(out->owned);
        out->owned = malloc(n_bytes);
        out->owned_capacity = out->owned ? n_bytes : 0;
    }
    return out->owned;
}

static bool
cut_control(struct peer *peer, struct outframe *out)
{
    struct control *control = TAILQ_FIRST(&peer->controls);

    if (!control)
        return false;
    if (control->n_text) {
        uint8_t *text = owned_room(out, control->n_text);

        if (!text)
            return false;
        memcpy(text, control->text, control->n_text);
    }
    frame_encode(&control->frame, out->header);
    out->payload = out->owned;
    out->n_stored = control->n_text;
    out->n_raw = 0;
    out->flow = NULL;
    TAILQ_REMOVE(&peer->controls, control, link);
    free(control);
    return true;
}

/* Bytes of flow that may leave unasked now, 0 if the window is too small. */
static uint64_t
eager_bytes(const struct peer *peer, const struct outflow *flow)
{
    const bool fits_whole = flow->total <= LIMIT_EAGER_MESSAGE;
    const uint64_t end = fits_whole ? flow->total : LIMIT_EAGER_MESSAGE;
    /* Later frames of a message must fit, too: ask for all of it at once. */
    const uint64_t n_left = flow->framed < end ? end - flow->framed : 0;

    if (flow->framed > end || (flow->framed == end && flow->total > 0))
        return 0;
    if (peer->credit < n_left + FRAME_COST)
        return 0;
    const uint64_t ready = flow->ready < end ? flow->ready : end;
    return ready > flow->framed ? ready - flow->framed : 0;
}

struct cut {
    uint64_t n_bytes;
    bool is_eager;
    bool is_wanted;
};

static struct cut
cut_size(const struct peer *peer, const struct outflow *flow)
{
    struct cut cut = {0};
    const uint64_t granted =
        flow->ready < flow->granted ? flow->ready : flow->granted;

    if (granted > flow->framed) {
        cut.n_bytes = granted - flow->framed;
    } else {
        cut.n_bytes = eager_bytes(peer, flow);
        cut.is_eager = true;
    }
    if (cut.n_bytes > LIMIT_FRAME_PAYLOAD)
        cut.n_bytes = LIMIT_FRAME_PAYLOAD;
    cut.is_wanted = cut.n_bytes > 0;
    if (flow->total == 0 && !flow->is_opened) {
        cut.is_eager = !flow->is_granted;
        cut.is_wanted = flow->is_granted || peer->credit >= FRAME_COST;
    }
    return cut;
}

struct frame
outflow_frame(const struct outflow *flow)
{
    return (struct frame){
        .kind =
            flow->key.kind == FLOW_MESSAGE ? FRAME_MESSAGE : FRAME_COLLECTIVE,
        .epoch = flow->label->epoch,
        .comm = flow->key.comm,
        .op = flow->key.op,
        .signature = flow->label->signature,
        .tag = flow->label->tag,
        .step = flow->key.step,
        .offset = flow->framed,
        .total = flow->total,
        .call = flow->label->call,
    };
}

/* Coded into the frame's own room, or where it lies. */
static void
cut_payload(struct peer *peer,
            struct outframe *out,
            struct frame *frame,
            const struct outflow *flow)
{
    struct transport *transport = peer->transport;
    const uint8_t *bytes = flow->bytes + flow->framed;
    size_t n_stored = 0;

    if (transport->codec_id != CODEC_NONE && out->n_raw >= CODED_MIN &&
        owned_room(out, LIMIT_FRAME_PAYLOAD))
        n_stored = codec_encode(transport->codec, transport->codec_id,
                                (struct codec_span){bytes, out->n_raw},
                                out->owned, out->n_raw);
    frame->codec = n_stored ? transport->codec_id : CODEC_NONE;
    out->payload = n_stored ? out->owned : bytes;
    out->n_stored = n_stored ? n_stored : out->n_raw;
    frame->stored = (uint32_t)out->n_stored;
}

/* Before the others: it has waited longer. */
static void
end_asking(struct peer *peer, struct outflow *flow)
{
    if (!flow->is_asking)
        return;
    flow->is_asking = false;
    peer->n_asking--;
    TAILQ_REMOVE(&peer->asking, flow, link);
    TAILQ_INSERT_HEAD(&peer->outflows, flow, link);
}

static void
unqueue(struct peer *peer, struct outflow *flow)
{
    end_asking(peer, flow);
    TAILQ_REMOVE(&peer->outflows, flow, link);
    flow->is_queued = false;
}

static void
cut_frame(struct peer *peer,
          struct outframe *out,
          struct outflow *flow,
          struct cut cut)
{
    struct frame frame = outflow_frame(flow);

    out->n_raw = cut.n_bytes;
    out->flow = flow;
    frame.raw = (uint32_t)cut.n_bytes;
    cut_payload(peer, out, &frame, flow);
    if (cut.is_eager) {
        frame.flags |= FRAME_EAGER;
        peer->credit -= FRAME_COST + out->n_stored;
    }
    frame_encode(&frame, out->header);

    flow->framed += cut.n_bytes;
    flow->is_opened = true;
    if (flow->framed == flow->total)
        unqueue(peer, flow);
    counter_add(&peer->transport->counters.bytes_sent, out->n_raw);
    counter_add(&peer->transport->counters.wire_sent, out->n_stored);
}

/* The window does not permit it: ask. */
static void
announce(struct peer *peer, struct outflow *flow)
{
    struct frame frame = outflow_frame(flow);

    frame.kind = FRAME_ANNOUNCE;
    frame.offset = 0;
    frame.flags = flow->key.kind == FLOW_MESSAGE ? FRAME_POINT_TO_POINT : 0;
    flow->is_announced = true;
    flow->is_asking = true;
    TAILQ_REMOVE(&peer->outflows, flow, link);
    TAILQ_INSERT_TAIL(&peer->asking, flow, link);
    peer->n_asking++;
    peer_control(peer, &frame, NULL);
}

void
peer_send_granted(struct peer *peer, struct outflow *flow, uint64_t granted)
{
    end_asking(peer, flow);
    flow->is_granted = true;
    if (granted > flow->granted)
        flow->granted = granted;
    peer_touch(peer);
}

/* It has bytes that only a grant lets go, which nobody gives unasked. */
static bool
is_starved(const struct outflow *flow)
{
    const bool has_bytes =
        flow->framed < flow->ready || (flow->total == 0 && !flow->is_opened);
    const bool is_granted_unasked =
        flow->is_opened && flow->total > LIMIT_EAGER_MESSAGE;

    return has_bytes && !flow->is_announced && !is_granted_unasked;
}

/*
 * Messages of one tag must not overtake each other: one that may not even be
 * announced holds back those behind it.
 */
static bool
cut_flow(struct peer *peer, struct outframe *out)
{
    struct outflow *flow;
    bool is_held = false;

    TAILQ_FOREACH(flow, &peer->outflows, link)
    {
        if (is_held && flow->key.kind == FLOW_MESSAGE && !flow->is_opened)
            continue;

        const struct cut cut = cut_size(peer, flow);
        if (cut.is_wanted) {
            cut_frame(peer, out, flow, cut);
            return true;
        }
        if (!is_starved(flow))
            continue;
        if (peer->n_asking < LIMIT_ASKED) {
            announce(peer, flow);
            return cut_control(peer, out);
        }
        is_held = true;
    }
    return false;
}

static bool
cut_next(struct peer *peer)
{
    if (peer->n_frames == PEER_FRAMES_MAX)
        return false;

    struct outframe *out = frame_at(peer, peer->n_frames);
    if (!cut_control(peer, out) &&
        (peer->state == PEER_LEFT || !cut_flow(peer, out)))
        return false;
    out->n_padded = padded(out->n_stored);
    peer->n_frames++;
    return true;
}

/* Leave out what is written already. */
static size_t
iov_skip(struct iovec *iov, size_t n_iov, size_t n_bytes)
{
    size_t first = 0;

    while (first < n_iov && n_bytes >= iov[first].iov_len)
        n_bytes -= iov[first++].iov_len;
    if (first < n_iov) {
        iov[first].iov_base = (uint8_t *)iov[first].iov_base + n_bytes;
        iov[first].iov_len -= n_bytes;
    }
    return first;
}

static ssize_t
write_frames(struct peer *peer)
{
    struct iovec iov[PEER_FRAMES_MAX * IOV_PER_FRAME];
    size_t n_iov = 0;

    for (unsigned i = 0; i < peer->n_frames; i++) {
        struct outframe *out = frame_at(peer, i);

        iov[n_iov++] = (struct iovec){out->header, LIMIT_FRAME_HEADER};
        if (out->n_stored)
            iov[n_iov++] =
                (struct iovec){(void *)(uintptr_t)out->payload, out->n_stored};
        if (out->n_padded > out->n_stored)
            iov[n_iov++] = (struct iovec){(void *)(uintptr_t)padding,
                                          out->n_padded - out->n_stored};
    }
    const size_t first = iov_skip(iov, n_iov, peer->frame_offset);
    const struct msghdr message = {.msg_iov = iov + first,
                                   .msg_iovlen = n_iov - first};
    ssize_t n_written;

    do {
        n_written = sendmsg(peer->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n_written < 0 && errno == EINTR);
    return n_written;
}

/* Payload bytes of out that lie in the first n_bytes of the frame. */
static size_t
payload_within(const struct outframe *out, size_t n_bytes)
{
    if (n_bytes <= LIMIT_FRAME_HEADER)
        return 0;
    const size_t n_payload = n_bytes - LIMIT_FRAME_HEADER;
    return n_payload < out->n_stored ? n_payload : out->n_stored;
}

/* Tell the flow what the kernel took of its frame: [from, to) of its bytes.
 * A coded payload is a copy: all of it is handed with the first byte. */
static void
hand(struct peer *peer, struct outframe *out, size_t from, size_t to)
{
    struct outflow *flow = out->flow;
    const struct transport *transport = peer->transport;

    if (!flow)
        return;
    uint64_t n_bytes = payload_within(out, to) - payload_within(out, from);
    if (out->payload == out->owned)
        n_bytes = from == 0 ? out->n_raw : 0;
    if (n_bytes == 0 && flow->total > 0)
        return;
    /* Behind the last payload byte is padding: the flow may be gone then. */
    if (n_bytes == out->n_raw || payload_within(out, to) == out->n_stored)
        out->flow = NULL;
    flow->handed += n_bytes;
    transport->events->on_handed(transport->owner, flow, n_bytes);
}

static void
written(struct peer *peer, size_t n_bytes)
{
    while (n_bytes > 0) {
        struct outframe *out = frame_at(peer, 0);
        const size_t n_frame = LIMIT_FRAME_HEADER + out->n_padded;
        const size_t from = peer->frame_offset;
        const size_t n_here =
            n_bytes < n_frame - from ? n_bytes : n_frame - from;

        n_bytes -= n_here;
        peer->frame_offset += n_here;
        const bool is_complete = peer->frame_offset == n_frame;
        if (is_complete) {
            peer->frame_offset = 0;
            peer->frame_first = (peer->frame_first + 1) % PEER_FRAMES_MAX;
            peer->n_frames--;
        }
        hand(peer, out, from, from + n_here);
        if (peer->fd < 0)
            return;
    }
}

static void
watch_writable(struct peer *peer, bool is_wanted)
{
    const struct poller_interest interest = {.reads = !peer->has_ended,
                                             .writes = is_wanted};

    if (peer->is_watched == is_wanted)
        return;
    peer->is_watched = is_wanted;
    if (poller_change(peer->transport->poller, peer->fd, interest, peer) !=
        HOOP_OK)
        peer_lose(peer, error_text());
}

/* Our last byte is out; the peer's end of stream comes or has come. */
static void
goodbye_sent(struct peer *peer)
{
    if (peer->has_ended)
        peer_end(peer);
    else
        shutdown(peer->fd, SHUT_WR);
}

static void
write_failed(struct peer *peer)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        peer->is_blocked = true;
        watch_writable(peer, true);
        return;
    }
    /* What it sent before it went away is still to be read: reading tells. */
    if (errno == EPIPE || errno == ECONNRESET) {
        peer->is_blocked = true;
        return;
    }
    peer_lose(peer, strerror(errno));
}

bool
peer_write(struct peer *peer)
{
    size_t n_total = 0;

    while (peer->fd >= 0 && n_total < PEER_TURN_BYTES) {
        for (unsigned i = 0; i < PEER_CALL_MAX && cut_next(peer); i++)
            ;
        if (peer->n_frames == 0)
            break;

        const ssize_t n_written = write_frames(peer);
        if (n_written < 0) {
            write_failed(peer);
            return n_total > 0;
        }
        n_total += (size_t)n_written;
        written(peer, (size_t)n_written);
    }
    if (peer->fd < 0)
        return true;
    /* The turn is over, but not what is to be written. */
    if (peer->n_frames > 0 || n_total >= PEER_TURN_BYTES) {
        peer_touch(peer);
        return true;
    }
    watch_writable(peer, false);
    if (peer->fd >= 0 &&
        (peer->transport->is_leaving || peer->state == PEER_LEFT))
        goodbye_sent(peer);
    return n_total > 0;
}

void
peer_send_cancel(struct peer *peer, struct outflow *flow)
{
    if (flow->is_queued)
        unqueue(peer, flow);

    for (unsigned i = 0; i < peer->n_frames; i++) {
        struct outframe *out = frame_at(peer, i);

        if (out->flow != flow)
            continue;
        out->flow = NULL;
        if (out->payload == out->owned || out->n_stored == 0)
            continue;
        const uint8_t *bytes = out->payload;
        if (!owned_room(out, out->n_stored)) {
            peer_lose(peer, "no memory to end a half-sent frame");
            return;
        }
        memcpy(out->owned, bytes, out->n_stored);
        out->payload = out->owned;
    }
}

void
peer_send_clear(struct peer *peer)
{
    struct control *control;
    struct outflow *flow;

    while ((control = TAILQ_FIRST(&peer->controls))) {
        TAILQ_REMOVE(&peer->controls, control, link);
        free(control);
    }
    while ((flow = TAILQ_FIRST(&peer->asking)))
        unqueue(peer, flow);
    while ((flow = TAILQ_FIRST(&peer->outflows)))
        unqueue(peer, flow);
    for (unsigned i = 0; i < PEER_FRAMES_MAX; i++) {
        peer->frames[i].flow = NULL;
        free(peer->frames[i].owned);
        peer->frames[i].owned = NULL;
        peer->frames[i].owned_capacity = 0;
    }
    peer->n_frames = 0;
    peer->frame_offset = 0;
}
