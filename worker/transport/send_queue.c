/*
 * transport/send_queue.c - what is queued for a peer
 *
 * Control frames, the requests whose frames are still to be cut, those that
 * wait for a grant, and frames that are cut and not wholly written.
 */

#include <stdlib.h>
#include <string.h>

#include "transport/flow.h"
#include "transport/peer.h"
#include "transport/stream/payload.h"

enum {
    GRANT_COST_DIVISOR = 16,
};

/* Returns what a control frame counts against LIMIT_CONTROL_FRAME_BYTES.
 * Grants are at most as many as the peer's announced messages, which have a
 * limit of their own, so they count less. */
static size_t
control_cost(uint32_t kind, size_t n_text)
{
    const size_t n_bytes = sizeof(struct control) + n_text;

    return kind == FRAME_GRANT ? n_bytes / GRANT_COST_DIVISOR : n_bytes;
}

/* A peer that reads nothing must not make this process grow: if it is
 * connected, it is lost. A peer that is not connected yet is told only what
 * fits. */
static bool
can_queue_control(struct peer *peer, size_t cost)
{
    if (peer->send.n_control_bytes + cost <= LIMIT_CONTROL_FRAME_BYTES)
        return true;
    if (peer_is_connected(peer))
        peer_defer_failure(
            peer, TRANSPORT_CORRUPTED,
            "it does not read the frames that it asked for, or needs");
    return false;
}

/* Two general heartbeats in a row say no more than one. */
static bool
is_repeated_heartbeat(const struct peer *peer, const struct frame *frame)
{
    const struct control *last = TAILQ_LAST(&peer->send.controls, control_list);

    return last && frame->kind == FRAME_HEARTBEAT && frame->comm == 0 &&
           last->frame.kind == FRAME_HEARTBEAT && last->frame.comm == 0 &&
           last->frame.flags == frame->flags;
}

struct control *
peer_queue_control(struct peer *peer,
                   const struct frame *frame,
                   const char *text)
{
    const size_t n_text = text ? strlen(text) : 0;
    const size_t cost = control_cost(frame->kind, n_text);

    if (peer->send.state > SEND_OPEN || peer->failure.why ||
        is_repeated_heartbeat(peer, frame) || !can_queue_control(peer, cost))
        return NULL;
    struct control *control = malloc(sizeof(*control) + n_text);

    if (!control) {
        peer_defer_failure(peer, TRANSPORT_NO_MEMORY,
                           "no memory for a control frame");
        return NULL;
    }
    control->frame = *frame;
    control->frame.raw = (uint32_t)n_text;
    control->frame.stored = (uint32_t)n_text;
    if (n_text)
        control->frame.total = n_text;
    control->n_text = n_text;
    if (n_text)
        memcpy(control->text, text, n_text);
    TAILQ_INSERT_TAIL(&peer->send.controls, control, link);
    peer->send.n_control_bytes += cost;
    if (frame->kind == FRAME_GOODBYE)
        peer_set_send_state(peer, SEND_GOODBYE);
    peer_mark_dirty(peer);
    return control;
}

void
peer_remove_control(struct peer *peer, struct control *control)
{
    TAILQ_REMOVE(&peer->send.controls, control, link);
    peer->send.n_control_bytes -=
        control_cost(control->frame.kind, control->n_text);
    free(control);
}

void
peer_clear_controls(struct peer *peer)
{
    while (!TAILQ_EMPTY(&peer->send.controls))
        peer_remove_control(peer, TAILQ_FIRST(&peer->send.controls));
}

/* Queue flow before the others, since it has waited longer. */
static void
end_rendezvous_pending(struct peer *peer, struct send_request *flow)
{
    if (!flow->is_awaiting_rendezvous_grant)
        return;
    flow->is_awaiting_rendezvous_grant = false;
    peer->send.n_rendezvous_pending--;
    TAILQ_REMOVE(&peer->send.rendezvous_pending, flow, link);
    TAILQ_INSERT_HEAD(&peer->send.requests, flow, link);
}

/*
 * Returns the flow before which flow is queued, or NULL if it goes behind all
 * others. Forwarded data goes before data that has been ready since its
 * operation began: it has just been combined and is in the cache, and its
 * receiver has just read there.
 */
static struct send_request *
flow_queue_position(const struct peer *peer, const struct send_request *flow)
{
    struct send_request *other;

    if (flow->key.kind == FLOW_MESSAGE || flow->ready == flow->total)
        return NULL;
    TAILQ_FOREACH(other, &peer->send.requests, link)
    {
        if (other->key.kind == flow->key.kind &&
            other->key.op == flow->key.op &&
            other->key.comm == flow->key.comm && other->ready == other->total)
            return other;
    }
    return NULL;
}

void
peer_queue_send(struct peer *peer, struct send_request *flow)
{
    struct send_request *behind = flow_queue_position(peer, flow);

    flow->is_queued = true;
    if (behind)
        TAILQ_INSERT_BEFORE(behind, flow, link);
    else
        TAILQ_INSERT_TAIL(&peer->send.requests, flow, link);
}

void
peer_unqueue_send(struct peer *peer, struct send_request *flow)
{
    end_rendezvous_pending(peer, flow);
    TAILQ_REMOVE(&peer->send.requests, flow, link);
    flow->is_queued = false;
    if (flow->n_encoded_payloads > 0)
        encoded_payload_clear(flow);
}

void
peer_announce_send(struct peer *peer, struct send_request *flow)
{
    struct frame frame = send_request_frame(flow);

    frame.kind = FRAME_ANNOUNCE;
    frame.offset = 0;
    if (flow->key.kind == FLOW_MESSAGE)
        frame.flags |= FRAME_POINT_TO_POINT;
    flow->is_announced = true;
    flow->is_awaiting_rendezvous_grant = true;
    TAILQ_REMOVE(&peer->send.requests, flow, link);
    TAILQ_INSERT_TAIL(&peer->send.rendezvous_pending, flow, link);
    peer->send.n_rendezvous_pending++;
    struct control *control = peer_queue_control(peer, &frame, NULL);
    if (control && flow->label->tensor)
        control->tensor = *flow->label->tensor;
}

void
peer_await_confirmation(struct peer *peer, struct send_request *flow)
{
    flow->is_awaiting_confirmation = true;
    TAILQ_INSERT_TAIL(&peer->send.unconfirmed, flow, link);
    peer_update_expected(peer);
}

void
peer_end_unconfirmed(struct peer *peer, struct send_request *flow)
{
    if (!flow->is_awaiting_confirmation)
        return;
    flow->is_awaiting_confirmation = false;
    TAILQ_REMOVE(&peer->send.unconfirmed, flow, link);
    peer_update_expected(peer);
}

void
peer_apply_grant(struct peer *peer, struct send_request *flow, uint64_t granted)
{
    end_rendezvous_pending(peer, flow);
    flow->is_granted = true;
    if (granted > flow->granted)
        flow->granted = granted;
    if (!flow->is_awaiting_confirmation) {
        peer_mark_dirty(peer);
        return;
    }
    peer_end_unconfirmed(peer, flow);
    if (flow->handed == flow->total)
        peer_report_sent(peer, flow, 0);
}

void
peer_cancel_send(struct peer *peer, struct send_request *flow)
{
    if (flow->is_queued)
        peer_unqueue_send(peer, flow);
    peer_end_unconfirmed(peer, flow);

    for (unsigned i = 0; i < peer->send.n_frames; i++) {
        struct outbound_frame *out = peer_queued_frame(peer, i);

        if (out->flow != flow)
            continue;
        out->flow = NULL;
        if (!outbound_frame_own_payload(out)) {
            /* Nothing of a peer that is about to be lost is read any more. */
            peer_defer_failure(peer, TRANSPORT_NO_MEMORY,
                               "no memory to end a half-sent frame");
            return;
        }
    }
}

void
peer_send_clear(struct peer *peer)
{
    struct send_half *send = &peer->send;
    struct send_request *flow;

    peer_clear_controls(peer);
    while ((flow = TAILQ_FIRST(&send->rendezvous_pending)))
        peer_unqueue_send(peer, flow);
    while ((flow = TAILQ_FIRST(&send->requests)))
        peer_unqueue_send(peer, flow);
    while ((flow = TAILQ_FIRST(&send->unconfirmed)))
        peer_end_unconfirmed(peer, flow);
    for (unsigned i = 0; i < PEER_FRAMES_MAX; i++) {
        send->frames[i].flow = NULL;
        free(send->frames[i].owned);
        send->frames[i].owned = NULL;
        send->frames[i].payload_copy_capacity = 0;
    }
    send->n_frames = 0;
    send->frame_offset = 0;
}
