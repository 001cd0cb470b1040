/*
 * transport/inline.c - small messages that need not wait for their turn
 *
 * What is sent goes the way of all frames, only now. What is received is looked
 * for where it lies, at the head of the ring, and copied once: no flow of it is
 * ever opened. A frame that is not just what is looked for is not touched.
 */

#include <string.h>

#include "base/clock.h"
#include "fault/fault.h"
#include "transport/peer.h"

static bool
can_send(const struct peer *peer, const struct send_request *flow)
{
    return peer->state == PEER_READY && peer->fd >= 0 && !peer->is_blocked &&
           !peer->deferred_failure && peer->n_frames == 0 &&
           peer->n_early_grants == 0 && TAILQ_EMPTY(&peer->send_requests) &&
           TAILQ_EMPTY(&peer->rendezvous_pending) &&
           flow->total <= LIMIT_EAGER_MESSAGE &&
           peer->credit >= flow->total + LIMIT_FRAME_HEADER;
}

/* In its frames, or in what is between them and the kernel. */
static bool
has_unsent(const struct peer *peer)
{
    return peer->fd >= 0 && (peer->n_frames > 0 || striping_has_unsent(peer));
}

/* A peer that has hung up, which nobody has read yet, takes it as the kernel
 * would: its loss is the next operation's to tell. */
bool
transport_send_inline(struct transport *transport,
                      struct send_request *flow,
                      bool *out_has_unsent)
{
    struct peer *peer = peer_at(transport, flow->key.peer);

    if (!can_send(peer, flow))
        return false;
    peer_queue(peer, flow);
    transport->in_progress_call = true;
    (void)peer_write(peer);
    transport->in_progress_call = false;
    if (peer->state != PEER_READY)
        return false;
    if (flow->is_queued) {
        peer_unqueue(peer, flow);
        return false;
    }
    peer_send_cancel(peer, flow);
    *out_has_unsent = has_unsent(peer);
    return true;
}

bool
transport_has_unsent(const struct transport *transport)
{
    const struct peer *peer;

    TAILQ_FOREACH(peer, &transport->known, known_link)
    {
        if (has_unsent(peer))
            return true;
    }
    return false;
}

bool
transport_can_receive_inline(const struct transport *transport, uint32_t rank)
{
    const struct peer *peer = &transport->peers[rank];

    return peer->segment && peer->state == PEER_READY && !peer->in_payload &&
           !peer->has_ended && !transport->is_summing &&
           TAILQ_EMPTY(&peer->unexpected_messages) &&
           TAILQ_EMPTY(&peer->recv_requests) &&
           TAILQ_EMPTY(&transport->posted) &&
           !(FAULT_IS_BUILT && peer->is_unplugged);
}

/* All of it, in one frame, as it was, and in a row. */
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
           frame_padded(frame->stored) <= RING_PIECE - LIMIT_FRAME_HEADER;
}

/* It lies at payload, whole. */
static void
receive_frame(struct peer *peer,
              struct recv_request *flow,
              const struct frame *frame,
              const uint8_t *payload)
{
    struct ring_reader *ring = &peer->segment->in;

    if (frame->raw > 0)
        memcpy(flow->place, payload, frame->raw);
    ring_take(ring, LIMIT_FRAME_HEADER + frame_padded(frame->stored));
    flow->key.op = frame->op;
    flow->total = frame->total;
    flow->arrived = frame->total;
    peer->n_begun++;
    peer->n_reads++;
    peer->read_ns = clock_coarse_ns();
    counter_add(&peer->transport->counters.bytes_received, frame->raw);
    peer_consumed(peer, frame);
    peer_shm_release(peer);
}

enum transport_inline
transport_receive_inline(struct transport *transport, struct recv_request *flow)
{
    struct peer *peer = peer_at(transport, flow->key.peer);
    struct ring_reader *ring = &peer->segment->in;
    uint8_t header[LIMIT_FRAME_HEADER];
    struct frame frame;
    size_t n_ahead;
    const uint8_t *bytes = ring_peek(ring, &n_ahead);

    if (ring->is_broken)
        return TRANSPORT_INLINE_OTHER;
    if (n_ahead < sizeof(header))
        return TRANSPORT_INLINE_NONE;
    memcpy(header, bytes, sizeof(header));
    /* Decoded once more, it says the same. */
    if (frame_header_cache_decode(&peer->header_cache_in, header, &frame) !=
            HOOP_OK ||
        !is_inline_frame(peer, &frame, flow))
        return TRANSPORT_INLINE_OTHER;
    if (n_ahead - sizeof(header) < frame_padded(frame.stored))
        return TRANSPORT_INLINE_NONE;
    receive_frame(peer, flow, &frame, bytes + sizeof(header));
    return TRANSPORT_INLINE_DONE;
}
