/*
 * transport/at_once.c - small messages that need not wait for their turn
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
can_send(const struct peer *peer, const struct outflow *flow)
{
    return peer->state == PEER_READY && peer->fd >= 0 && !peer->is_blocked &&
           !peer->doom && peer->n_frames == 0 && peer->n_promises == 0 &&
           TAILQ_EMPTY(&peer->outflows) && TAILQ_EMPTY(&peer->asking) &&
           flow->total <= LIMIT_EAGER_MESSAGE &&
           peer->credit >= flow->total + LIMIT_FRAME_HEADER;
}

/* In its frames, or in what is between them and the kernel. */
static bool
has_rest(const struct peer *peer)
{
    return peer->fd >= 0 && (peer->n_frames > 0 || spread_owes(peer));
}

/* A peer that has hung up, which nobody has read yet, takes it as the kernel
 * would: its loss is the next operation's to tell. */
bool
transport_send_at_once(struct transport *transport,
                       struct outflow *flow,
                       bool *out_has_rest)
{
    struct peer *peer = peer_at(transport, flow->key.peer);

    if (!can_send(peer, flow))
        return false;
    peer_queue(peer, flow);
    transport->is_amid = true;
    (void)peer_write(peer);
    transport->is_amid = false;
    if (peer->state != PEER_READY)
        return false;
    if (flow->is_queued) {
        peer_unqueue(peer, flow);
        return false;
    }
    peer_send_cancel(peer, flow);
    *out_has_rest = has_rest(peer);
    return true;
}

bool
transport_has_rest(const struct transport *transport)
{
    const struct peer *peer;

    TAILQ_FOREACH(peer, &transport->known, known_link)
    {
        if (has_rest(peer))
            return true;
    }
    return false;
}

bool
transport_can_take(const struct transport *transport, uint32_t rank)
{
    const struct peer *peer = &transport->peers[rank];

    return peer->segment && peer->state == PEER_READY && !peer->in_payload &&
           !peer->has_ended && !transport->is_summing &&
           TAILQ_EMPTY(&peer->arrivals) && TAILQ_EMPTY(&peer->inflows) &&
           TAILQ_EMPTY(&transport->posted) &&
           !(FAULT_IS_BUILT && peer->is_unplugged);
}

/* All of it, in one frame, as it was, and in a row. */
static bool
is_it(const struct peer *peer,
      const struct frame *frame,
      const struct inflow *flow)
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
take(struct peer *peer,
     struct inflow *flow,
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
    peer->n_heard++;
    peer->heard_ns = clock_coarse_ns();
    counter_add(&peer->transport->counters.bytes_received, frame->raw);
    peer_consumed(peer, frame);
    peer_share_told(peer);
}

enum transport_found
transport_take_at_once(struct transport *transport, struct inflow *flow)
{
    struct peer *peer = peer_at(transport, flow->key.peer);
    struct ring_reader *ring = &peer->segment->in;
    uint8_t header[LIMIT_FRAME_HEADER];
    struct frame frame;
    size_t n_ahead;
    const uint8_t *bytes = ring_peek(ring, &n_ahead);

    if (ring->is_broken)
        return TRANSPORT_FOUND_OTHER;
    if (n_ahead < sizeof(header))
        return TRANSPORT_FOUND_NONE;
    memcpy(header, bytes, sizeof(header));
    /* Decoded once more, it says the same. */
    if (frame_memo_decode(&peer->memo_in, header, &frame) != HOOP_OK ||
        !is_it(peer, &frame, flow))
        return TRANSPORT_FOUND_OTHER;
    if (n_ahead - sizeof(header) < frame_padded(frame.stored))
        return TRANSPORT_FOUND_NONE;
    take(peer, flow, &frame, bytes + sizeof(header));
    return TRANSPORT_FOUND;
}
