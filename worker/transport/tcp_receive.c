/*
 * transport/tcp_receive.c - from the socket to frames to flows
 *
 * A read takes the rest of a payload and the next header in one call. Bytes
 * of an open flow land straight in its place, or in a cache-sized piece that
 * is combined at once; what came early is kept, what nobody wants is dropped,
 * but the socket is always read: every byte was granted beforehand.
 */

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/error.h"
#include "transport/cellar.h"
#include "transport/echo.h"
#include "transport/match.h"
#include "transport/payload.h"
#include "transport/peer.h"
#include "transport/window.h"

enum {
    /* More than one packet of a loopback interface would not fit in. */
    SHORT_READ = 64 * 1024,
};

static void
take_verdict(struct peer *peer)
{
    struct transport *transport = peer->transport;
    char text[LIMIT_ERROR_TEXT];
    const size_t n_text =
        peer->frame.raw < sizeof(text) - 1 ? peer->frame.raw : sizeof(text) - 1;

    memcpy(text, peer->stash->bytes, n_text);
    text[n_text] = '\0';
    transport->events->on_verdict(transport->owner, peer->rank, &peer->frame,
                                  text);
}

struct stash *
peer_stash(struct peer *peer)
{
    struct stash *stash =
        cellar_stash_take(peer->transport, peer->frame.stored);

    if (stash)
        stash->frame = peer->frame;
    else
        peer_lose(peer, "no memory for what came early");
    return stash;
}

/* The peer counts the same way: what it has sent, until it is told that this
 * has been used. */
static bool
is_in_window(const struct peer *peer)
{
    return peer->n_held + peer->owed + window_cost(&peer->frame) <=
           peer->transport->window;
}

static void
begin_early(struct peer *peer, struct inflow *flow)
{
    if (!is_in_window(peer)) {
        peer_give_up_for(peer, "more bytes unasked than its window permits");
        return;
    }
    struct arrival *arrival =
        flow && flow->arrival
            ? flow->arrival
            : match_arrival_add(peer, &peer->frame, peer_tensor(peer));

    if (!arrival) {
        peer_give_up_for(peer, "more early messages than the limit");
        return;
    }
    if (flow && !flow->arrival) {
        flow->arrival = arrival;
        arrival->is_claimed = true;
    }
    peer->stash = peer_stash(peer);
    if (!peer->stash)
        return;
    peer->arrival = arrival;
    peer->n_held += window_cost(&peer->frame);
    peer->target = TARGET_STASH;
}

static uint8_t *
buffer_of(struct peer *peer, uint8_t **buffer)
{
    if (!*buffer)
        *buffer = aligned_alloc(4096, LIMIT_FRAME_PAYLOAD);
    if (!*buffer)
        peer_lose(peer, "no memory for a piece");
    return *buffer;
}

static void
begin_direct(struct peer *peer, struct inflow *flow)
{
    if (peer->frame.codec != CODEC_NONE ||
        (peer->frame.checksum && peer->frame.raw > 0)) {
        if (!buffer_of(peer, &peer->coded))
            return;
        peer->target = TARGET_CODED;
    } else if (flow->place) {
        peer->target = TARGET_PLACE;
    } else {
        if (!buffer_of(peer, &peer->piece))
            return;
        peer->target = TARGET_PIECE;
    }
    peer->flow = flow;
}

static bool
is_in_order(const struct inflow *flow, const struct frame *frame)
{
    uint64_t next = flow->arrived;

    if (flow->arrival && !TAILQ_EMPTY(&flow->arrival->parts)) {
        const struct stash *last =
            TAILQ_LAST(&flow->arrival->parts, stash_list);
        next = last->frame.offset + last->frame.raw;
    }
    return frame->offset == next && frame->total == flow->total &&
           frame->raw % flow->element_size == 0;
}

/* Of a message that nobody will take; with its last byte it is forgotten. */
static bool
is_unwanted(struct peer *peer)
{
    const struct frame *frame = &peer->frame;
    struct arrival *arrival =
        frame->kind == FRAME_MESSAGE ? match_arrival(peer, frame) : NULL;

    if (!arrival || !arrival->is_dropped)
        return false;
    if (frame->offset + frame->raw == frame->total)
        match_arrival_destroy(peer, arrival);
    return true;
}

/* A frame of a flow: decide where its payload goes. */
static void
begin_payload(struct peer *peer)
{
    struct transport *transport = peer->transport;
    const struct frame *frame = &peer->frame;
    struct inflow *flow = match_find(peer, frame, peer_tensor(peer));

    peer->target = TARGET_BIN;
    counter_add(&transport->counters.bytes_received, frame->raw);
    if (!flow && !peer_keeps(peer))
        return;
    if (!flow && (match_has_refused_all(peer, frame) || is_unwanted(peer)))
        return;
    if (flow && frame->kind == FRAME_COLLECTIVE &&
        frame->signature != flow->label->signature) {
        transport->events->on_mismatch(transport->owner, peer->rank, frame,
                                       flow);
        return;
    }
    if (flow && !peer_fits(peer, frame, flow))
        return;
    if (flow && !is_in_order(flow, frame)) {
        peer_give_up_for(peer, "bytes out of order");
        return;
    }
    if (flow)
        match_begun(peer, flow, frame);
    const bool is_granted =
        flow && !flow->arrival && frame->offset + frame->raw <= flow->allowed;
    if (is_granted)
        begin_direct(peer, flow);
    else if (frame->flags & FRAME_EAGER)
        begin_early(peer, flow);
    else if (flow)
        peer_give_up_for(peer, "bytes that were not granted");
}

bool
peer_begin_frame(struct peer *peer)
{
    const enum hoop_status status = peer_head_read(peer);

    if (status != HOOP_OK) {
        peer_give_up(peer);
        return false;
    }
    peer->inbound_first += LIMIT_FRAME_HEADER;
    peer->n_stored = 0;
    peer->piece_used = 0;
    peer->flow = NULL;
    peer->stash = NULL;
    peer->arrival = NULL;
    peer->in_payload = true;
    peer->pad_left = frame_padded(peer->frame.stored) - peer->frame.stored;
    if (peer->frame.epoch != peer->transport->roster->epoch)
        peer->target = TARGET_BIN;
    else if (peer->frame.kind == FRAME_COLLECTIVE ||
             peer->frame.kind == FRAME_MESSAGE)
        begin_payload(peer);
    else
        peer_control_came(peer);
    return peer->fd >= 0;
}

static void
end_coded(struct peer *peer)
{
    struct transport *transport = peer->transport;
    struct inflow *flow = peer->flow;
    const struct codec_span coded = {peer->coded, peer->frame.stored};

    if (peer->frame.codec == CODEC_NONE) {
        peer_deliver(peer, flow, peer->coded, peer->frame.raw);
        return;
    }
    uint8_t *raw = flow->place ? flow->place + flow->arrived
                               : buffer_of(peer, &peer->piece);
    if (!raw)
        return;
    if (codec_decode(transport->codec, peer->frame.codec, coded, raw,
                     peer->frame.raw) != HOOP_OK) {
        peer_give_up(peer);
        return;
    }
    peer_came_coded(peer, flow, &peer->frame, peer->coded);
    flow->arrived += peer->frame.raw;
    transport->events->on_arrived(transport->owner, flow,
                                  flow->place ? NULL : raw, peer->frame.raw);
}

static void
end_stash(struct peer *peer)
{
    struct arrival *arrival = peer->arrival;
    struct stash *stash = peer->stash;
    struct inflow *flow;

    if (!arrival) {
        take_verdict(peer);
        cellar_stash_give(peer->transport, stash);
        peer->stash = NULL;
        return;
    }
    TAILQ_INSERT_TAIL(&arrival->parts, stash, link);
    peer->stash = NULL;
    peer->arrival = NULL;
    /* Its receiver may be there, or have come while the frame was read. The
     * next frame may be placed directly: nothing must lie in its way. */
    TAILQ_FOREACH(flow, &peer->inflows, link)
    {
        if (flow->arrival == arrival) {
            match_drain(peer->transport, flow);
            return;
        }
    }
}

void
peer_end_frame(struct peer *peer)
{
    /* Wherever it would have gone: no byte of it will be reported. */
    const bool is_empty_message =
        peer->frame.raw == 0 && peer->flow &&
        (peer->target == TARGET_PLACE || peer->target == TARGET_PIECE);

    peer->in_payload = false;
    if (peer_check_payload(peer) != HOOP_OK) {
        peer_give_up(peer);
        return;
    }
    if (peer->target == TARGET_CODED)
        end_coded(peer);
    else if (peer->target == TARGET_STASH)
        end_stash(peer);
    if (peer->target != TARGET_STASH)
        peer_consumed(peer, &peer->frame);
    if (is_empty_message)
        peer->transport->events->on_arrived(peer->transport->owner, peer->flow,
                                            NULL, 0);
    peer->flow = NULL;
}

/* Use what has been read ahead; false when more must be read. */
static bool
parse(struct peer *peer)
{
    const size_t n_ahead = peer->inbound_end - peer->inbound_first;

    if (!peer->in_payload)
        return n_ahead >= LIMIT_FRAME_HEADER && peer_begin_frame(peer);

    const size_t n_left = peer->frame.stored - peer->n_stored;
    if (n_left > 0) {
        const size_t n_bytes = n_left < n_ahead ? n_left : n_ahead;

        if (n_bytes == 0)
            return false;
        const uint8_t *ahead = peer->inbound + peer->inbound_first;
        peer->inbound_first += n_bytes;
        peer_payload_take(peer, ahead, n_bytes);
        return peer->fd >= 0;
    }
    if (n_ahead < peer->pad_left)
        return false;
    peer->inbound_first += peer->pad_left;
    peer_end_frame(peer);
    return peer->fd >= 0;
}

static ssize_t
read_more(struct peer *peer, size_t *out_direct)
{
    const size_t n_left =
        peer->in_payload ? peer->frame.stored - peer->n_stored : 0;
    const size_t n_ahead = peer->inbound_end - peer->inbound_first;

    memmove(peer->inbound, peer->inbound + peer->inbound_first, n_ahead);
    peer->inbound_first = 0;
    peer->inbound_end = n_ahead;

    /* Behind a large payload: its padding and one header, no more, so that
     * the next payload is not copied. */
    const size_t n_room = n_left ? peer->pad_left + LIMIT_FRAME_HEADER
                                 : LIMIT_READ_AHEAD - n_ahead;
    const struct iovec spans[2] = {
        {n_left ? peer_payload_at(peer) : NULL, n_left},
        {peer->inbound + n_ahead, n_room},
    };
    const ssize_t n_read = spread_read(peer, spans);
    *out_direct = n_read > 0 && (size_t)n_read > n_left ? n_left
                  : n_read > 0                          ? (size_t)n_read
                                                        : 0;
    return n_read;
}

static void
stream_broken(struct peer *peer, int error)
{
    const bool is_mark = error == EBADMSG;

    if (!is_mark && error != EPROTO) {
        peer_stream_ended(peer, error);
        return;
    }
    (void)peer_raise_damage(peer, is_mark ? "a mark between streams"
                                          : "the TLS seal of a record");
    peer_give_up(peer);
}

/* Until the socket is empty, or the turn is over. */
static size_t
read_turn(struct peer *peer)
{
    size_t n_total = 0;

    while (peer->fd >= 0 && !peer->has_ended &&
           (n_total < PEER_TURN_BYTES || spread_is_ready(peer))) {
        size_t n_direct;
        const ssize_t n_read = read_more(peer, &n_direct);

        if (n_read < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n_read <= 0) {
            stream_broken(peer, n_read == 0 ? 0 : errno);
            return n_total + 1;
        }
        n_total += (size_t)n_read;
        spread_measure(peer, (size_t)n_read);
        peer->inbound_end += (size_t)n_read - n_direct;
        peer_payload_came(peer, n_direct);
        while (peer->fd >= 0 && parse(peer))
            ;
        /* A short read means an empty socket: no second call to learn it. */
        if (n_read < SHORT_READ && !spread_is_ready(peer))
            break;
    }
    return n_total;
}

bool
peer_read(struct peer *peer)
{
    if (peer->segment)
        return peer_read_shared(peer);
    const size_t n_total = read_turn(peer);

    peer->n_heard += n_total > 0;
    if (peer->fd < 0 || !spread_is_read(peer) || spread_watch(peer))
        return n_total > 0;
    peer_lose(peer, error_text());
    return true;
}

void
peer_receive_clear(struct peer *peer)
{
    struct arrival *arrival;

    cellar_stash_give(peer->transport, peer->stash);
    peer->stash = NULL;
    peer->in_payload = false;
    peer->flow = NULL;
    peer->inbound_first = 0;
    peer->inbound_end = 0;
    while (!TAILQ_EMPTY(&peer->promises))
        match_promise_destroy(peer, TAILQ_FIRST(&peer->promises));
    while ((arrival = TAILQ_FIRST(&peer->arrivals))) {
        struct inflow *flow;

        TAILQ_FOREACH(flow, &peer->inflows, link)
        {
            if (flow->arrival == arrival)
                flow->arrival = NULL;
        }
        match_arrival_destroy(peer, arrival);
    }
    peer->n_held = 0;
}
