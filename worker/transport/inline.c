/*
 * transport/inline.c - the inline path of small messages
 *
 * An inline send takes the way of all frames, but at once. An inline receive
 * looks for its message at the head of the ring and copies it once; no receive
 * request is ever opened. A frame that is not exactly the expected one is not
 * touched.
 */

#include <string.h>

#include "base/clock.h"
#include "fault/fault.h"
#include "transport/peer.h"

static bool
can_send_inline(const struct peer *peer, const struct send_request *flow)
{
    const struct send_half *send = &peer->send;

    return send->state == SEND_OPEN && !send->is_blocked &&
           !peer->failure.why && send->n_frames == 0 &&
           send->n_early_grants == 0 && TAILQ_EMPTY(&send->requests) &&
           TAILQ_EMPTY(&send->rendezvous_pending) &&
           flow->total <= LIMIT_EAGER_MESSAGE &&
           send->credit >= eager_window_frame_cost(flow->total);
}

/* Returns whether frames of peer, or bytes between its frames and the kernel,
 * are not sent. */
static bool
peer_has_unsent(const struct peer *peer)
{
    return peer->fd >= 0 &&
           (peer->send.n_frames > 0 || striping_has_unsent(peer));
}

/* A peer that has hung up, which nobody has read yet, accepts the message as
 * the kernel would. The next operation reports its loss. */
bool
transport_send_inline(struct transport *transport,
                      struct send_request *flow,
                      bool *out_has_unsent)
{
    struct peer *peer = peer_get_or_init(transport, flow->key.peer);

    if (!can_send_inline(peer, flow))
        return false;
    peer_queue_send(peer, flow);
    transport->in_progress_call = true;
    (void)peer_write(peer);
    transport->in_progress_call = false;
    if (!peer_is_connected(peer))
        return false;
    if (flow->is_queued) {
        peer_unqueue_send(peer, flow);
        return false;
    }
    peer_cancel_send(peer, flow);
    *out_has_unsent = peer_has_unsent(peer);
    return true;
}

bool
transport_has_unsent(const struct transport *transport)
{
    const struct peer *peer;

    TAILQ_FOREACH(peer, &transport->known, known_link)
    {
        if (peer_has_unsent(peer))
            return true;
    }
    return false;
}

bool
transport_can_receive_inline(const struct transport *transport, uint32_t rank)
{
    const struct peer *peer = &transport->peers[rank];

    return peer->segment && peer_is_connected(peer) &&
           !peer->receive.is_reading_payload &&
           !transport->config->has_frame_checksums &&
           TAILQ_EMPTY(&peer->receive.unexpected_messages) &&
           TAILQ_EMPTY(&peer->receive.requests) &&
           TAILQ_EMPTY(&transport->posted) &&
           !(FAULT_IS_BUILT && peer->is_unplugged);
}

/* Returns whether frame is all of the message that flow wants: one frame, not
 * encoded, and small enough to be in a row in the ring. */
static bool
is_inline_frame(const struct peer *peer,
                const struct frame *frame,
                const struct recv_request *flow)
{
    return frame->kind == FRAME_MESSAGE && frame->flags == FRAME_EAGER &&
           frame->epoch == peer->transport->roster->epoch &&
           frame->comm == flow->key.comm && frame->tag == flow->label->tag &&
           frame->call.dtype == flow->label->call.dtype && frame->offset == 0 &&
           frame->codec == CODEC_NONE && frame->checksum == 0 &&
           frame->raw == frame->total && frame->stored == frame->raw &&
           frame->total <= flow->total &&
           frame->raw % flow->element_size == 0 &&
           frame_padded(frame->stored) <= RING_PIECE_BYTES - LIMIT_FRAME_HEADER;
}

/* Copy the payload, all of which is at payload, to flow's place. */
static void
receive_frame_inline(struct peer *peer,
                     struct recv_request *flow,
                     const struct frame *frame,
                     const uint8_t *payload)
{
    struct ring_reader *ring = &peer->segment->in;

    if (frame->raw > 0)
        memcpy(flow->place, payload, frame->raw);
    ring_consume(ring, LIMIT_FRAME_HEADER + frame_padded(frame->stored));
    flow->key.op = frame->op;
    flow->total = frame->total;
    flow->arrived = frame->total;
    peer->receive.n_frames_begun++;
    peer->receive.n_reads++;
    peer->receive.last_shm_read_ns = clock_coarse_ns();
    counter_add(&peer->transport->counters.bytes_received, frame->raw);
    peer_return_credit(peer, frame);
    peer_shm_release_read_bytes(peer);
}

enum transport_inline_result
transport_receive_inline(struct transport *transport, struct recv_request *flow)
{
    struct peer *peer = peer_get_or_init(transport, flow->key.peer);
    struct ring_reader *ring = &peer->segment->in;
    uint8_t header[LIMIT_FRAME_HEADER];
    struct frame frame;
    size_t n_ahead;
    const uint8_t *bytes = ring_peek(ring, &n_ahead);

    if (ring->is_broken)
        return TRANSPORT_INLINE_NEEDS_PROGRESS;
    if (n_ahead < sizeof(header))
        return TRANSPORT_INLINE_NOT_ARRIVED;
    memcpy(header, bytes, sizeof(header));
    /* Decoding the header again would give the same result, so other paths may
     * still do so. */
    if (frame_header_cache_decode(&peer->receive.header_cache, header,
                                  &frame) != HOOP_OK ||
        !is_inline_frame(peer, &frame, flow))
        return TRANSPORT_INLINE_NEEDS_PROGRESS;
    if (n_ahead - sizeof(header) < frame_padded(frame.stored))
        return TRANSPORT_INLINE_NOT_ARRIVED;
    receive_frame_inline(peer, flow, &frame, bytes + sizeof(header));
    return TRANSPORT_INLINE_DONE;
}
