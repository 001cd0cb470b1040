/*
 * transport/stream/packetize.c - cutting flows into frames
 *
 * Frames are cut only when the socket has room, because what is merely queued
 * can still be cancelled. Control frames go first, then what the receiver has
 * granted, then what the eager window permits. What is too large for the
 * window is announced.
 */

#include <string.h>

#include "fault/fault.h"
#include "transport/flow.h"
#include "transport/peer.h"
#include "transport/stream/payload.h"

static bool
packetize_control(struct peer *peer, struct outbound_frame *out)
{
    struct control *control = TAILQ_FIRST(&peer->send.controls);

    if (!control)
        return false;
    if (control->n_text) {
        uint8_t *text = outbound_frame_ensure_room(out, control->n_text);

        if (!text) {
            peer_defer_failure(peer, TRANSPORT_NO_MEMORY,
                               "no memory for a control frame");
            return false;
        }
        memcpy(text, control->text, control->n_text);
    }
    out->payload = out->owned;
    out->n_stored = control->n_text;
    peer_header_write(peer, out, &control->frame,
                      control->frame.flags & FRAME_TENSOR ? &control->tensor
                                                          : NULL);
    if (control->frame.kind == FRAME_STRIPED)
        striping_on_packetized(peer, &control->frame);
    out->n_raw = 0;
    out->flow = NULL;
    peer->send.n_control_written +=
        LIMIT_FRAME_HEADER + frame_padded(out->n_stored);
    peer_remove_control(peer, control);
    return true;
}

/* Returns up to where flow may be sent unasked. A large message is sent whole
 * as long as that leaves room in the window for small ones, which must not
 * need a grant because of it. */
static uint64_t
eager_end_offset(const struct peer *peer, const struct send_request *flow)
{
    const uint64_t window = peer->transport->window;
    const uint64_t n_needed =
        eager_window_frame_cost(flow->total - flow->framed);

    if (flow->total <= LIMIT_EAGER_MESSAGE)
        return flow->total;
    return flow->total <= eager_whole_message_max(window) &&
                   peer->send.credit >=
                       eager_window_small_reserve(window) + n_needed
               ? flow->total
               : LIMIT_EAGER_MESSAGE;
}

/* Returns how many bytes of flow may be sent unasked now; 0 if the window is
 * too small. */
static uint64_t
eager_bytes_allowed_now(const struct peer *peer,
                        const struct send_request *flow)
{
    const uint64_t end = eager_end_offset(peer, flow);
    /* Later frames of the message must fit, too. Otherwise a grant is asked
     * for all of it at once. */
    const uint64_t n_left = flow->framed < end ? end - flow->framed : 0;

    if (flow->framed > end || (flow->framed == end && flow->total > 0))
        return 0;
    if (peer->send.credit < eager_window_frame_cost(n_left))
        return 0;
    const uint64_t ready = flow->ready < end ? flow->ready : end;
    return ready > flow->framed ? ready - flow->framed : 0;
}

/* A payload that is stored in blocks may end within a block only at the end of
 * the message. */
static uint64_t
block_align_down(const struct send_request *flow, uint64_t n_bytes)
{
    if (flow->loss == LOSS_NONE || flow->framed + n_bytes == flow->total)
        return n_bytes;
    return n_bytes - n_bytes % (loss_granule(flow->loss) * sizeof(float));
}

struct packet {
    uint64_t n_bytes;
    bool is_eager;
    bool is_wanted;
};

static struct packet
plan_next_packet(const struct peer *peer, const struct send_request *flow)
{
    struct packet packet = {0};
    const uint64_t granted =
        flow->ready < flow->granted ? flow->ready : flow->granted;

    if (granted > flow->framed) {
        packet.n_bytes = granted - flow->framed;
    } else {
        packet.n_bytes = eager_bytes_allowed_now(peer, flow);
        packet.is_eager = true;
    }
    if (packet.n_bytes > LIMIT_FRAME_PAYLOAD)
        packet.n_bytes = LIMIT_FRAME_PAYLOAD;
    packet.n_bytes = encoded_payload_next_frame_bytes(
        flow, block_align_down(flow, packet.n_bytes));
    packet.is_wanted = packet.n_bytes > 0;
    if (flow->total == 0 && !flow->is_first_frame_cut) {
        packet.is_eager = !flow->is_granted;
        packet.is_wanted =
            flow->is_granted || peer->send.credit >= eager_window_frame_cost(0);
    }
    return packet;
}

/* All of flow is in frames. A confirmed tensor still waits for its grant. */
static void
send_request_end_packetizing(struct peer *peer, struct send_request *flow)
{
    peer_unqueue_send(peer, flow);
    if (!flow->label->needs_receiver_confirmation || flow->is_granted)
        return;
    peer_await_confirmation(peer, flow);
}

static bool
packetize_frame(struct peer *peer,
                struct outbound_frame *out,
                struct send_request *flow,
                struct packet packet)
{
    struct frame frame = send_request_frame(flow);

    out->n_raw = packet.n_bytes;
    out->flow = flow;
    frame.raw = (uint32_t)packet.n_bytes;
    if (!peer_encode_payload(peer, out, &frame, flow))
        return false;
    if (packet.is_eager) {
        frame.flags |= FRAME_EAGER;
        peer_charge_eager_frame(peer, out->n_stored);
    }
    peer_header_write(peer, out, &frame, flow->label->tensor);

    peer_count_framed(peer, flow, out->n_raw, out->n_stored);
    flow->is_first_frame_cut = true;
    if (flow->framed == flow->total)
        send_request_end_packetizing(peer, flow);
    return true;
}

/* Returns whether flow has bytes that only a grant permits to send, and nobody
 * will grant them unasked. */
static bool
needs_announce(const struct send_request *flow)
{
    const bool has_bytes = flow->framed < flow->ready ||
                           (flow->total == 0 && !flow->is_first_frame_cut);
    const bool is_granted_unasked =
        flow->is_first_frame_cut && flow->total > LIMIT_EAGER_MESSAGE;

    return has_bytes && !flow->is_announced && !is_granted_unasked;
}

/* Returns whether a fault is due at the next frame of flow, while frames
 * before it are not written. */
static bool
is_fault_due(struct peer *peer, const struct send_request *flow)
{
    return FAULT_IS_BUILT && flow->label->faults &&
           peer_is_fault_due(peer, flow);
}

/*
 * Messages of one tag must not overtake each other: one that may not even be
 * announced holds back those behind it.
 */
static bool
packetize_next_flow(struct peer *peer, struct outbound_frame *out)
{
    struct send_request *flow;
    bool is_held = false;

    TAILQ_FOREACH(flow, &peer->send.requests, link)
    {
        if (is_held && flow->key.kind == FLOW_MESSAGE &&
            !flow->is_first_frame_cut)
            continue;

        const struct packet packet = plan_next_packet(peer, flow);
        if (packet.is_wanted)
            return !is_fault_due(peer, flow) &&
                   packetize_frame(peer, out, flow, packet);
        if (!needs_announce(flow))
            continue;
        if (peer->send.n_rendezvous_pending < LIMIT_RENDEZVOUS_PENDING) {
            peer_announce_send(peer, flow);
            return packetize_control(peer, out);
        }
        is_held = true;
    }
    return false;
}

bool
peer_packetize(struct peer *peer)
{
    struct send_half *send = &peer->send;

    /* A short way out: for one small message, peer_write() asks twice more
     * after its last frame. */
    if (TAILQ_EMPTY(&send->requests) && TAILQ_EMPTY(&send->controls))
        return false;
    if (send->n_frames == PEER_FRAMES_MAX || striping_must_hold_sends(peer))
        return false;

    struct outbound_frame *out = peer_queued_frame(peer, send->n_frames);
    if (!packetize_control(peer, out) &&
        (send->state != SEND_OPEN || !packetize_next_flow(peer, out)))
        return false;
    out->n_padded_payload = frame_padded(out->n_stored);
    send->n_frames++;
    send->n_packetized++;
    if (FAULT_IS_BUILT && out->flow && out->flow->label->faults)
        peer_inject_fault(peer, out, out->flow);
    return true;
}
