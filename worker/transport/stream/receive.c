/*
 * transport/stream/receive.c - from what has come to frames to flows
 *
 * One read takes the rest of a payload and the next header. Bytes of an open
 * receive request go straight to its place, or into a piece that fits the
 * cache and is combined at once. What came early is queued, and what nobody
 * wants is dropped. The socket is always read, because every byte was granted
 * beforehand.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/error.h"
#include "transport/flow.h"
#include "transport/match.h"
#include "transport/peer.h"
#include "transport/stream/payload.h"
#include "transport/unexpected_queue.h"

enum {
    /* The size of a packet on the loopback interface. A read of fewer bytes is
     * taken to have emptied the socket. */
    SHORT_READ_BYTES = 64 * 1024,
};

static void
receive_failure_notice(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    struct transport *transport = peer->transport;
    char text[LIMIT_ERROR_TEXT];
    const size_t n_text = receive->frame.raw < sizeof(text) - 1
                              ? receive->frame.raw
                              : sizeof(text) - 1;

    memcpy(text, receive->fragment->bytes, n_text);
    text[n_text] = '\0';
    transport->events->on_control(transport->owner, peer->rank, &receive->frame,
                                  text);
}

/* Returns room for the payload of the frame. NULL if there is no memory, which
 * loses peer. */
static struct fragment *
fragment_alloc_for_frame(struct peer *peer)
{
    struct fragment *fragment =
        unexpected_fragment_alloc(peer->transport, peer->receive.frame.stored);

    if (fragment)
        fragment->frame = peer->receive.frame;
    else
        peer_lose_no_memory(peer, "no memory for unexpected messages");
    return fragment;
}

/* What peer sent before it is expected cannot be kept: n_kept of its kind are.
 * Either they reach the limit, which what says, or there is no memory. */
static void
lose_unkept(struct peer *peer, size_t n_kept, const char *what)
{
    if (n_kept >= LIMIT_UNEXPECTED)
        peer_lose_protocol_error(peer, what);
    else
        peer_lose_no_memory(peer, "no memory for unexpected messages");
}

/* Ask the engine whether to keep the frame, which no receive request expects.
 * Reports a mismatch. */
static bool
ask_keep_unexpected(struct peer *peer)
{
    struct transport *transport = peer->transport;
    const enum transport_unexpected_action action =
        transport->events->on_unexpected(transport->owner, peer->rank,
                                         &peer->receive.frame);

    if (action == TRANSPORT_MISMATCH)
        transport->events->on_mismatch(transport->owner,
                                       &(struct transport_mismatch){
                                           .kind = TRANSPORT_CALL_DIFFERS,
                                           .peer = peer->rank,
                                           .frame = &peer->receive.frame,
                                       });
    return action == TRANSPORT_KEEP;
}

/* Returns whether the frame fits the peer's window. The peer counts in the
 * same way: what it has sent, until it is told that this has been used. */
static bool
is_frame_in_eager_window(const struct peer *peer)
{
    return peer->receive.n_unexpected_bytes + peer->receive.unreturned_credit +
               eager_window_frame_cost(peer->receive.frame.stored) <=
           peer->transport->window;
}

static void
begin_unexpected(struct peer *peer, struct recv_request *flow)
{
    struct receive_half *receive = &peer->receive;

    if (!is_frame_in_eager_window(peer)) {
        peer_lose_protocol_error(
            peer, "more bytes than its window permits without a grant");
        return;
    }
    struct unexpected *unexpected =
        flow && flow->unexpected
            ? flow->unexpected
            : unexpected_add(peer, &receive->frame, peer_frame_tensor(peer));

    if (!unexpected) {
        lose_unkept(peer, receive->n_unexpected_messages,
                    "more unexpected messages than the limit");
        return;
    }
    if (flow && !flow->unexpected) {
        flow->unexpected = unexpected;
        unexpected->is_claimed = true;
    }
    receive->fragment = fragment_alloc_for_frame(peer);
    if (!receive->fragment)
        return;
    receive->unexpected = unexpected;
    receive->n_unexpected_bytes +=
        eager_window_frame_cost(receive->frame.stored);
    receive->target = READ_INTO_UNEXPECTED_FRAGMENT;
}

static uint8_t *
frame_buffer_ensure(struct peer *peer, uint8_t **buffer)
{
    if (!*buffer)
        *buffer = aligned_alloc(4096, LIMIT_FRAME_PAYLOAD);
    if (!*buffer)
        peer_lose_no_memory(peer, "no memory for a piece");
    return *buffer;
}

static void
frame_begin_expected(struct peer *peer, struct recv_request *flow)
{
    struct receive_half *receive = &peer->receive;

    if (receive->frame.codec != CODEC_NONE ||
        (receive->frame.checksum && receive->frame.raw > 0)) {
        if (!frame_buffer_ensure(peer, &receive->encoded))
            return;
        receive->target = READ_INTO_ENCODED_BUFFER;
    } else if (flow->place) {
        receive->target = READ_INTO_USER_BUFFER;
    } else {
        if (!frame_buffer_ensure(peer, &receive->piece))
            return;
        receive->target = READ_INTO_PIECE_BUFFER;
    }
    receive->flow = flow;
}

static bool
is_next_frame_of_message(const struct recv_request *flow,
                         const struct frame *frame)
{
    uint64_t next = flow->arrived;

    if (flow->unexpected && !TAILQ_EMPTY(&flow->unexpected->parts)) {
        const struct fragment *last =
            TAILQ_LAST(&flow->unexpected->parts, fragment_list);
        next = last->frame.offset + last->frame.raw;
    }
    return frame->offset == next && frame->total == flow->total &&
           frame->raw % flow->element_size == 0;
}

/* Returns whether frame belongs to a message that nobody will take. With its
 * last byte the message is forgotten. */
static bool
is_dropped_message(struct peer *peer)
{
    const struct frame *frame = &peer->receive.frame;
    struct unexpected *unexpected =
        frame->kind == FRAME_MESSAGE ? unexpected_find(peer, frame) : NULL;

    if (!unexpected || !unexpected->is_dropped)
        return false;
    if (frame->offset + frame->raw == frame->total)
        unexpected_destroy(peer, unexpected);
    return true;
}

/* Decide where the payload of a flow's frame goes. */
static void
payload_target_choose(struct peer *peer)
{
    struct transport *transport = peer->transport;
    const struct frame *frame = &peer->receive.frame;
    struct recv_request *flow =
        match_find_receive(peer, frame, peer_frame_tensor(peer));

    peer->receive.target = READ_INTO_DISCARD_BUFFER;
    counter_add(&transport->counters.bytes_received, frame->raw);
    if (!flow && !ask_keep_unexpected(peer))
        return;
    if (!flow && (match_is_refused_empty_message(peer, frame) ||
                  is_dropped_message(peer)))
        return;
    if (flow && !match_check_call(peer, frame, flow->label, flow->total, flow))
        return;
    if (flow && !is_next_frame_of_message(flow, frame)) {
        peer_lose_protocol_error(peer, "bytes out of order");
        return;
    }
    if (flow)
        match_grant_on_first_frame(peer, flow, frame);
    const bool is_granted = flow && !flow->unexpected &&
                            frame->offset + frame->raw <= flow->allowed;
    if (is_granted)
        frame_begin_expected(peer, flow);
    else if (frame->flags & FRAME_EAGER)
        begin_unexpected(peer, flow);
    else if (flow)
        peer_lose_protocol_error(peer, "bytes that were not granted");
}

/*
 * Frames that speak of other frames, or of the peer.
 *
 * They belong to no receive request.
 */

static struct send_request *
send_request_find_by_key(const struct send_request_list *flows,
                         const struct flow_key *key)
{
    struct send_request *flow;

    TAILQ_FOREACH(flow, flows, link)
    {
        if (flow_key_equal(&flow->key, key))
            return flow;
    }
    return NULL;
}

static struct send_request *
find_send_request(const struct peer *peer, const struct frame *frame)
{
    const struct flow_key key = flow_key_of_frame(frame, peer->rank);
    struct send_request *flow =
        send_request_find_by_key(&peer->send.unconfirmed, &key);

    if (!flow)
        flow = send_request_find_by_key(&peer->send.requests, &key);
    return flow
               ? flow
               : send_request_find_by_key(&peer->send.rendezvous_pending, &key);
}

static void
receive_grant(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    struct send_request *flow = find_send_request(peer, &receive->frame);

    if (flow &&
        match_check_call(peer, &receive->frame, flow->label, flow->total, NULL))
        peer_apply_grant(peer, flow, receive->frame.offset);
    /* A message is sent before it is granted, so the one without a flow was
     * cancelled. */
    if (flow || (receive->frame.flags & FRAME_POINT_TO_POINT))
        return;
    if (ask_keep_unexpected(peer) && !early_grant_add(peer, &receive->frame))
        lose_unkept(peer, peer->send.n_early_grants,
                    "more grants than there is room to remember");
}

static void
receive_withdrawal(struct peer *peer)
{
    struct transport *transport = peer->transport;
    const struct frame frame = peer->receive.frame;

    if (!(frame.flags & FRAME_POINT_TO_POINT))
        return;
    struct recv_request *flow = match_find_bound(peer, &frame);
    if (flow)
        transport->events->on_send_withdrawn(transport->owner, flow);
    /* This also removes the mark that the rest is to be dropped, since there
     * is no rest. */
    struct unexpected *unexpected = unexpected_find(peer, &frame);
    if (unexpected)
        unexpected_destroy(peer, unexpected);
}

static void
receive_announce(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;

    if (receive->frame.flags & FRAME_WITHDRAWN) {
        receive_withdrawal(peer);
        return;
    }
    const struct frame_tensor *tensor = peer_frame_tensor(peer);
    struct recv_request *flow =
        match_find_receive(peer, &receive->frame, tensor);

    if (flow) {
        if (!match_check_call(peer, &receive->frame, flow->label, flow->total,
                              flow))
            return;
        flow->is_announced = true;
        peer_send_grant(peer, flow);
        return;
    }
    if (!ask_keep_unexpected(peer) ||
        match_is_refused_empty_message(peer, &receive->frame))
        return;
    struct unexpected *unexpected =
        unexpected_add(peer, &receive->frame, tensor);
    if (!unexpected) {
        lose_unkept(peer, receive->n_unexpected_messages,
                    "more announcements than the limit");
        return;
    }
    unexpected->is_announced = true;
}

static void
receive_shutdown(struct peer *peer)
{
    struct transport *transport = peer->transport;
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = transport->roster->epoch};

    if (!peer_is_connected(peer))
        return;
    if (!transport->is_leaving)
        peer_queue_control(peer, &goodbye, NULL);
    counter_add(&transport->counters.connections, UINT64_MAX);
    peer_set_receive_state(peer, RECEIVE_GOODBYE);
    peer_update_expected(peer);
    peer_mark_dirty(peer);
    peer_report_event(peer, TRANSPORT_GOODBYE_RECEIVED, NULL);
}

/* Handle the frame, and choose where its payload goes. */
static void
receive_control(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;

    receive->target = READ_INTO_DISCARD_BUFFER;
    switch ((enum frame_kind)receive->frame.kind) {
    case FRAME_ANNOUNCE:
        receive_announce(peer);
        return;
    case FRAME_GRANT:
        receive_grant(peer);
        return;
    case FRAME_CREDIT:
        if (receive->frame.total >
            peer->transport->window - peer->send.credit) {
            peer_lose_protocol_error(peer,
                                     "back more of the window than it had");
            return;
        }
        peer->send.credit += receive->frame.total;
        peer_mark_dirty(peer);
        return;
    case FRAME_FAILURE_NOTICE:
        receive->fragment = fragment_alloc_for_frame(peer);
        receive->target = READ_INTO_UNEXPECTED_FRAGMENT;
        return;
    case FRAME_GOODBYE:
        receive_shutdown(peer);
        return;
    case FRAME_STRIPED:
        striping_on_announcement(peer);
        return;
    case FRAME_HEARTBEAT:
        peer->transport->events->on_control(peer->transport->owner, peer->rank,
                                            &receive->frame, NULL);
        return;
    case FRAME_COLLECTIVE:
    case FRAME_MESSAGE:
        return;
    }
}

bool
peer_begin_frame(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    const enum hoop_status status = peer_header_read(peer);

    if (status != HOOP_OK) {
        peer_lose_corrupted(peer);
        return false;
    }
    receive->ahead_first += LIMIT_FRAME_HEADER;
    receive->n_stored = 0;
    receive->n_piece_reported = 0;
    receive->flow = NULL;
    receive->fragment = NULL;
    receive->unexpected = NULL;
    receive->is_reading_payload = true;
    if (receive->frame.epoch != peer->transport->roster->epoch)
        receive->target = READ_INTO_DISCARD_BUFFER;
    else if (receive->frame.kind == FRAME_COLLECTIVE ||
             receive->frame.kind == FRAME_MESSAGE)
        payload_target_choose(peer);
    else
        receive_control(peer);
    return peer->fd >= 0;
}

static void
end_encoded_payload(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    struct transport *transport = peer->transport;
    struct recv_request *flow = receive->flow;
    const struct codec_span encoded = {receive->encoded, receive->frame.stored};

    if (receive->frame.codec == CODEC_NONE) {
        peer_deliver_payload(peer, flow, receive->encoded, receive->frame.raw);
        return;
    }
    uint8_t *raw = flow->place ? flow->place + flow->arrived
                               : frame_buffer_ensure(peer, &receive->piece);
    if (!raw)
        return;
    if (codec_decode(transport->codec, receive->frame.codec, encoded, raw,
                     receive->frame.raw) != HOOP_OK) {
        peer_lose_corrupted(peer);
        return;
    }
    peer_report_encoded(peer, flow, &receive->frame, receive->encoded);
    peer_report_arrived(peer, flow, flow->place ? NULL : raw,
                        receive->frame.raw);
}

static void
end_unexpected_fragment(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    struct unexpected *unexpected = receive->unexpected;
    struct fragment *fragment = receive->fragment;
    struct recv_request *flow;

    if (!unexpected) {
        receive_failure_notice(peer);
        unexpected_fragment_free(peer->transport, fragment);
        receive->fragment = NULL;
        return;
    }
    TAILQ_INSERT_TAIL(&unexpected->parts, fragment, link);
    receive->fragment = NULL;
    receive->unexpected = NULL;
    /* The receive request may have been there, or have come while the frame
     * was read. The next frame may be placed directly, so nothing of this one
     * may be left in its way. */
    TAILQ_FOREACH(flow, &receive->requests, link)
    {
        if (flow->unexpected == unexpected) {
            if (match_drain_unexpected(peer, flow) != HOOP_OK)
                peer_lose_corrupted(peer);
            return;
        }
    }
}

void
peer_end_frame(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;

    /* Wherever an empty payload would have gone, none of its bytes is
     * reported. */
    const bool is_empty_message = receive->frame.raw == 0 && receive->flow &&
                                  (receive->target == READ_INTO_USER_BUFFER ||
                                   receive->target == READ_INTO_PIECE_BUFFER);

    receive->is_reading_payload = false;
    if (receive->frame.checksum != 0 &&
        peer_check_payload_checksum(peer) != HOOP_OK) {
        peer_lose_corrupted(peer);
        return;
    }
    if (receive->target == READ_INTO_ENCODED_BUFFER)
        end_encoded_payload(peer);
    else if (receive->target == READ_INTO_UNEXPECTED_FRAGMENT)
        end_unexpected_fragment(peer);
    if (receive->target != READ_INTO_UNEXPECTED_FRAGMENT)
        peer_return_credit(peer, &receive->frame);
    if (is_empty_message)
        peer_report_arrived(peer, receive->flow, NULL, 0);
    receive->flow = NULL;
}

/* Use what has been read ahead. Returns false if more must be read. */
static bool
parse_read_ahead(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    const size_t n_ahead = receive->ahead_end - receive->ahead_first;

    if (!receive->is_reading_payload)
        return n_ahead >= LIMIT_FRAME_HEADER && peer_begin_frame(peer);

    const size_t n_left = receive_payload_left(receive);
    if (n_left > 0) {
        const size_t n_bytes = n_left < n_ahead ? n_left : n_ahead;

        if (n_bytes == 0)
            return false;
        const uint8_t *ahead = receive->ahead + receive->ahead_first;
        receive->ahead_first += n_bytes;
        peer_payload_consume_all(peer, ahead, n_bytes);
        return peer->fd >= 0;
    }
    const size_t n_padding = receive_padding(receive);
    if (n_ahead < n_padding)
        return false;
    receive->ahead_first += n_padding;
    peer_end_frame(peer);
    return peer->fd >= 0;
}

static void
use_read_ahead(struct peer *peer)
{
    while (peer->fd >= 0 && parse_read_ahead(peer))
        ;
}

static ssize_t
socket_read_more(struct peer *peer, size_t *out_direct)
{
    struct receive_half *receive = &peer->receive;
    const size_t n_left = receive_payload_left(receive);
    const size_t n_ahead = receive->ahead_end - receive->ahead_first;

    memmove(receive->ahead, receive->ahead + receive->ahead_first, n_ahead);
    receive->ahead_first = 0;
    receive->ahead_end = n_ahead;

    /* Read no more than its padding and one header behind a large payload, so
     * that the next payload is not copied. */
    const size_t n_room = n_left ? receive_padding(receive) + LIMIT_FRAME_HEADER
                                 : LIMIT_READ_AHEAD - n_ahead;
    const struct iovec spans[2] = {
        {n_left ? peer_payload_target(peer) : NULL, n_left},
        {receive->ahead + n_ahead, n_room},
    };
    const ssize_t n_read = striping_read(peer, spans);
    *out_direct = n_read > 0 && (size_t)n_read > n_left ? n_left
                  : n_read > 0                          ? (size_t)n_read
                                                        : 0;
    return n_read;
}

void
peer_on_stream_end(struct peer *peer, int error)
{
    /* Which of these errors it is depends on what the peer had left unread,
     * not on how it ended. */
    const bool is_reset = error == 0 || error == ECONNRESET || error == EPIPE ||
                          error == ENOTCONN;

    if (peer->receive.state != RECEIVE_GOODBYE ||
        peer->receive.is_reading_payload) {
        peer_lose(peer, is_reset ? "connection reset" : strerror(error));
        return;
    }
    peer_set_receive_state(peer, RECEIVE_ENDED);
    if (connection_is_over(peer->send.state, peer->receive.state))
        peer_close_departed(peer);
    else if (peer->segment || striping_update_watch(peer))
        peer_mark_dirty(peer);
    else
        peer_lose_unwatched(peer);
}

static void
on_stream_error(struct peer *peer, int error)
{
    const bool is_mark = error == EBADMSG;

    if (!is_mark && error != EPROTO) {
        peer_on_stream_end(peer, error);
        return;
    }
    (void)peer_raise_corruption(peer, is_mark ? "a mark between streams"
                                              : "the TLS seal of a record");
    peer_lose_corrupted(peer);
}

/* Read until the socket is empty, or PEER_PROGRESS_BYTES are read. */
static size_t
read_socket(struct peer *peer)
{
    size_t n_total = 0;

    while (peer->fd >= 0 && peer->receive.state != RECEIVE_ENDED &&
           (n_total < PEER_PROGRESS_BYTES || striping_is_readable(peer))) {
        size_t n_direct;
        const ssize_t n_read = socket_read_more(peer, &n_direct);

        if (n_read < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            break;
        if (n_read <= 0) {
            on_stream_error(peer, n_read == 0 ? 0 : errno);
            return n_total + 1;
        }
        n_total += (size_t)n_read;
        striping_autotune_record(peer, (size_t)n_read);
        peer->receive.ahead_end += (size_t)n_read - n_direct;
        peer_payload_advance(peer, n_direct);
        use_read_ahead(peer);
        /* A short read most likely emptied the socket, so no second call is
         * made to learn it. If it did not, the poller reports the socket
         * again. */
        if (n_read < SHORT_READ_BYTES && !striping_is_readable(peer))
            break;
    }
    return n_total;
}

bool
peer_read(struct peer *peer)
{
    const size_t n_total = read_socket(peer);

    peer->receive.n_reads += n_total > 0;
    if (peer->fd < 0 || !striping_is_receiving(peer) ||
        striping_update_watch(peer))
        return n_total > 0;
    peer_lose_unwatched(peer);
    return true;
}

/* One of those frames may begin several streams. What was read behind it then
 * lies in their group, of which no descriptor tells. */
void
peer_read_after_inline(struct peer *peer)
{
    use_read_ahead(peer);
    (void)peer_read(peer);
}
