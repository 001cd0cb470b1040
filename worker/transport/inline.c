/*
 * transport/inline.c - the inline path of small messages and blocks
 *
 * An inline send is one system call if its peer has a plain socket and nothing
 * else is to be sent; otherwise it takes the way of all frames, but at once. An
 * inline receive looks for its frame at the head of the ring, or of what was
 * read from the socket, and copies its payload once; no receive request is ever
 * opened. A frame that is not exactly the expected one is not touched. Before
 * that, the block of a collective is looked for among what came early.
 *
 * From a socket no more is read than the expected frame has, so that what comes
 * behind it is still seen by whoever polls the socket. If another frame came
 * instead, what was read of it, and of what is behind it if it is shorter,
 * waits for the next progress call.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "fault/fault.h"
#include "transport/peer.h"

/* Returns whether something of another call than that of signature came early
 * for the operation of key. 0: of any. */
static bool
has_early_frames_except(const struct transport *transport,
                        const struct flow_key *key,
                        uint64_t signature)
{
    const struct transport_unexpected_filter wanted = {
        .comm = key->comm,
        .op = key->op,
        .step_last = UINT32_MAX,
        .except = signature,
    };
    uint32_t peer;
    struct frame first;

    return key->kind == FLOW_COLLECTIVE &&
           unexpected_index_may_have(&transport->unexpected_index, key->op) &&
           transport_find_unexpected(transport, &wanted, &peer, &first);
}

bool
transport_has_unused_blocks(const struct transport *transport,
                            const struct flow_key *key)
{
    return has_early_frames_except(transport, key, 0);
}

static bool
can_send_inline(const struct peer *peer, const struct send_request *flow)
{
    const struct send_half *send = &peer->send;

    return !has_early_frames_except(peer->transport, &flow->key,
                                    flow->label->signature) &&
           send->state == SEND_OPEN && !send->is_blocked &&
           !peer->failure.why && send->n_frames == 0 &&
           send->n_early_grants == 0 && TAILQ_EMPTY(&send->requests) &&
           TAILQ_EMPTY(&send->rendezvous_pending) &&
           flow->total <= LIMIT_EAGER_MESSAGE &&
           send->credit >= eager_window_frame_cost(flow->total);
}

/* Returns whether frames of either direction are the bytes of one socket. */
static bool
has_plain_socket(const struct peer *peer)
{
    return !peer->segment && !peer->tls && !peer->striping.group &&
           !(FAULT_IS_BUILT && peer->is_unplugged);
}

static bool
can_send_past_queue(const struct peer *peer, const struct send_request *flow)
{
    return flow->total <= TRANSPORT_INLINE_BYTES_MAX &&
           has_plain_socket(peer) && TAILQ_EMPTY(&peer->send.controls) &&
           !flow->label->tensor &&
           !peer->transport->config->has_frame_checksums;
}

/* The kernel has taken only n_sent bytes of frame, which is all of flow: queue a
 * copy of it, for which there is room, so that the rest follows. */
static void
queue_rest_of_frame(struct peer *peer,
                    const struct send_request *flow,
                    const uint8_t *frame,
                    size_t n_sent)
{
    struct send_half *send = &peer->send;
    struct outbound_frame *out = peer_queued_frame(peer, 0);

    memcpy(out->header, frame, LIMIT_FRAME_HEADER);
    memcpy(out->owned, frame + LIMIT_FRAME_HEADER, flow->total);
    out->payload = out->owned;
    out->n_stored = flow->total;
    out->n_padded_payload = frame_padded(flow->total);
    out->n_raw = flow->total;
    out->flow = NULL;
    send->n_frames = 1;
    send->frame_offset = n_sent;
    (void)peer_write(peer);
}

/* Send flow as one frame, which is copied, past the queue of peer. Room for
 * what the kernel does not take is had first, since half a frame cannot be
 * taken back. Returns false if nothing was sent. */
static bool
send_past_queue(struct peer *peer, struct send_request *flow)
{
    const size_t n_padded = frame_padded(flow->total);
    uint8_t bytes[LIMIT_FRAME_HEADER + TRANSPORT_INLINE_BYTES_MAX];
    struct frame frame = send_request_frame(flow);
    ssize_t n_sent;

    if (!outbound_frame_ensure_room(peer_queued_frame(peer, 0),
                                    TRANSPORT_INLINE_BYTES_MAX))
        return false;
    frame.flags |= FRAME_EAGER;
    frame.raw = (uint32_t)flow->total;
    frame.stored = (uint32_t)flow->total;
    frame_header_cache_encode(&peer->send.header_cache, &frame, bytes);
    memset(bytes + LIMIT_FRAME_HEADER + flow->total, 0, n_padded - flow->total);
    if (flow->total > 0)
        memcpy(bytes + LIMIT_FRAME_HEADER, flow->bytes, flow->total);
    do {
        n_sent = send(peer->fd, bytes, LIMIT_FRAME_HEADER + n_padded,
                      MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n_sent < 0 && errno == EINTR);
    if (n_sent <= 0)
        return false;
    peer->send.n_packetized++;
    peer_charge_eager_frame(peer, flow->total);
    peer_count_framed(peer, flow, flow->total, flow->total);
    peer_count_written(peer, (size_t)n_sent);
    flow->handed = flow->total;
    if ((size_t)n_sent < LIMIT_FRAME_HEADER + n_padded)
        queue_rest_of_frame(peer, flow, bytes, (size_t)n_sent);
    return true;
}

/* Send flow by the queue of peer. Returns false if nothing was sent. */
static bool
send_by_queue(struct peer *peer, struct send_request *flow)
{
    peer_queue_send(peer, flow);
    (void)peer_write(peer);
    if (flow->is_queued) {
        peer_unqueue_send(peer, flow);
        return false;
    }
    peer_cancel_send(peer, flow);
    /* There is no memory for a copy of the rest: this call is the first that
     * must be told of the loss. */
    if (peer->failure.why)
        (void)peer_write(peer);
    return true;
}

/* A peer that has hung up, which nobody has read yet, accepts the message as
 * the kernel would. The next operation reports its loss. */
bool
transport_send_inline(struct transport *transport, struct send_request *flow)
{
    struct peer *peer = peer_get_or_init(transport, flow->key.peer);

    if (!can_send_inline(peer, flow))
        return false;
    transport->in_progress_call = true;
    const bool is_sent =
        ((can_send_past_queue(peer, flow) && send_past_queue(peer, flow)) ||
         send_by_queue(peer, flow)) &&
        peer_is_connected(peer);
    transport->in_progress_call = false;
    return is_sent;
}

/* Returns whether what comes next from peer is the beginning of a frame that
 * nobody else takes. */
static bool
is_between_frames(const struct peer *peer)
{
    return peer_is_connected(peer) && !peer->receive.is_reading_payload &&
           !peer->transport->config->has_frame_checksums &&
           TAILQ_EMPTY(&peer->receive.requests) &&
           !(FAULT_IS_BUILT && peer->is_unplugged);
}

bool
transport_can_receive_inline(const struct transport *transport, uint32_t rank)
{
    const struct peer *peer = &transport->peers[rank];

    return peer->segment && is_between_frames(peer) &&
           TAILQ_EMPTY(&peer->receive.unexpected_messages) &&
           TAILQ_EMPTY(&transport->posted);
}

/* Returns whether frame is all of what flow wants: one frame, not encoded, and
 * small enough to be in a row in the ring. */
static bool
is_inline_frame(const struct peer *peer,
                const struct frame *frame,
                const struct recv_request *flow)
{
    const bool is_wanted =
        flow->key.kind == FLOW_MESSAGE
            ? frame->kind == FRAME_MESSAGE && frame->tag == flow->label->tag &&
                  frame->call.dtype == flow->label->call.dtype &&
                  frame->total <= flow->total &&
                  frame->raw % flow->element_size == 0
            : frame->kind == FRAME_COLLECTIVE && frame->op == flow->key.op &&
                  frame->step == flow->key.step &&
                  frame->signature == flow->label->signature &&
                  frame->total == flow->total;

    return is_wanted && frame->flags == FRAME_EAGER &&
           frame->epoch == peer->transport->roster->epoch &&
           frame->comm == flow->key.comm && frame->offset == 0 &&
           frame->codec == CODEC_NONE && frame->checksum == 0 &&
           frame->raw == frame->total && frame->stored == frame->raw &&
           frame_padded(frame->stored) <= RING_PIECE_BYTES - LIMIT_FRAME_HEADER;
}

/* Read from the socket until n_wanted bytes are read ahead, if they are there.
 * Loses the peer at the end of its stream. */
static void
socket_read_ahead(struct peer *peer, size_t n_wanted)
{
    struct receive_half *receive = &peer->receive;
    const size_t n_ahead = receive->ahead_end - receive->ahead_first;
    ssize_t n_read;

    assert(n_wanted <= LIMIT_READ_AHEAD);
    if (n_ahead > 0 && receive->ahead_first > 0)
        memmove(receive->ahead, receive->ahead + receive->ahead_first, n_ahead);
    receive->ahead_first = 0;
    receive->ahead_end = n_ahead;
    do {
        n_read = recv(peer->fd, receive->ahead + n_ahead, n_wanted - n_ahead,
                      MSG_DONTWAIT);
    } while (n_read < 0 && errno == EINTR);
    if (n_read > 0) {
        receive->ahead_end += (size_t)n_read;
        receive->n_reads++;
        striping_autotune_record(peer, (size_t)n_read);
    } else if (n_read == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
        const int error = n_read == 0 ? 0 : errno;

        peer->transport->in_progress_call = true;
        peer_on_stream_end(peer, error);
        peer->transport->in_progress_call = false;
    }
}

/* Returns the bytes of peer that come next, and how many are there: if it can,
 * n_wanted, which the frame of a collective has. */
static const uint8_t *
peer_peek(struct peer *peer, size_t n_wanted, size_t *out_n_bytes)
{
    const struct receive_half *receive = &peer->receive;

    if (peer->segment)
        return ring_peek(&peer->segment->in, out_n_bytes);
    if (receive->ahead_end - receive->ahead_first < n_wanted)
        socket_read_ahead(peer, n_wanted);
    *out_n_bytes = receive->ahead_end - receive->ahead_first;
    return receive->ahead + receive->ahead_first;
}

/* Another frame, or the end, has come. */
static enum transport_inline_result
leave_to_progress(struct peer *peer)
{
    if (!peer->segment)
        peer->transport->frames_ahead = peer;
    return TRANSPORT_INLINE_NEEDS_PROGRESS;
}

/* n_bytes of what peer_peek() returned have been used. */
static void
peer_consume(struct peer *peer, size_t n_bytes)
{
    struct receive_half *receive = &peer->receive;

    if (peer->segment) {
        ring_consume(&peer->segment->in, n_bytes);
        receive->n_reads++;
        receive->last_shm_read_ns = clock_coarse_ns();
    } else {
        receive->ahead_first += n_bytes;
    }
}

/* Copy the payload, all of which is at payload, to flow's place. */
static void
receive_frame_inline(struct peer *peer,
                     struct recv_request *flow,
                     const struct frame *frame,
                     const uint8_t *payload)
{
    if (frame->raw > 0)
        memcpy(flow->place, payload, frame->raw);
    peer_consume(peer, LIMIT_FRAME_HEADER + frame_padded(frame->stored));
    flow->key.op = frame->op;
    flow->total = frame->total;
    flow->arrived = frame->total;
    peer->receive.n_frames_begun++;
    counter_add(&peer->transport->counters.bytes_received, frame->raw);
    peer_return_credit(peer, frame);
    if (peer->segment)
        peer_shm_release_read_bytes(peer);
}

bool
transport_can_receive_block(const struct transport *transport, uint32_t rank)
{
    const struct peer *peer = &transport->peers[rank];

    return (peer->segment || has_plain_socket(peer)) &&
           is_between_frames(peer) && !transport->frames_ahead;
}

/* Take the block of flow from what came early. */
static enum transport_inline_result
receive_early_block(struct peer *peer, struct recv_request *flow)
{
    struct unexpected *unexpected =
        unexpected_queue_find(peer->transport, &flow->key);

    if (has_early_frames_except(peer->transport, &flow->key,
                                flow->label->signature))
        return TRANSPORT_INLINE_NEEDS_PROGRESS;
    if (!unexpected)
        return TRANSPORT_INLINE_NOT_ARRIVED;
    const struct fragment *part = TAILQ_FIRST(&unexpected->parts);
    if (!part || !is_inline_frame(peer, &part->frame, flow))
        return TRANSPORT_INLINE_NEEDS_PROGRESS;
    memcpy(flow->place, part->bytes, part->frame.raw);
    flow->arrived = flow->total;
    unexpected_destroy(peer, unexpected);
    return TRANSPORT_INLINE_DONE;
}

enum transport_inline_result
transport_receive_inline(struct transport *transport, struct recv_request *flow)
{
    struct peer *peer = peer_get_or_init(transport, flow->key.peer);
    uint8_t header[LIMIT_FRAME_HEADER];
    struct frame frame;
    size_t n_ahead;

    if (flow->key.kind == FLOW_COLLECTIVE) {
        const enum transport_inline_result early =
            unexpected_index_may_have(&transport->unexpected_index,
                                      flow->key.op)
                ? receive_early_block(peer, flow)
                : TRANSPORT_INLINE_NOT_ARRIVED;

        if (early != TRANSPORT_INLINE_NOT_ARRIVED)
            return early;
        if (!transport_can_receive_block(transport, peer->rank))
            return TRANSPORT_INLINE_NEEDS_PROGRESS;
    }
    const uint8_t *bytes =
        peer_peek(peer, sizeof(header) + frame_padded(flow->total), &n_ahead);
    if (!peer_is_connected(peer) ||
        (peer->segment && peer->segment->in.is_broken))
        return TRANSPORT_INLINE_NEEDS_PROGRESS;
    if (n_ahead < sizeof(header))
        return TRANSPORT_INLINE_NOT_ARRIVED;
    memcpy(header, bytes, sizeof(header));
    /* Decoding the header again would give the same result, so other paths may
     * still do so. */
    if (frame_header_cache_decode(&peer->receive.header_cache, header,
                                  &frame) != HOOP_OK ||
        !is_inline_frame(peer, &frame, flow))
        return leave_to_progress(peer);
    if (n_ahead - sizeof(header) < frame_padded(frame.stored))
        return TRANSPORT_INLINE_NOT_ARRIVED;
    receive_frame_inline(peer, flow, &frame, bytes + sizeof(header));
    return TRANSPORT_INLINE_DONE;
}
