/*
 * transport/tcp/control.c - frames that speak of other frames
 *
 * A CREDIT frame returns a part of the eager window. An ANNOUNCE frame asks
 * for a grant, and a GRANT frame permits what is larger than the window or did
 * not fit it. A GOODBYE frame ends the stream.
 */

#include <string.h>

#include "transport/flow.h"
#include "transport/match.h"
#include "transport/peer.h"
#include "transport/tcp/payload.h"

/* Grants of a flow that grows in small steps are collected up to this size. */
static const uint64_t GRANT_MIN = 256 * (uint64_t)1024;

void
peer_return_credit(struct peer *peer, const struct frame *frame)
{
    if (!(frame->flags & FRAME_EAGER))
        return;
    if (peer_is_self(peer)) {
        peer->credit += LIMIT_FRAME_HEADER + frame->stored;
        return;
    }
    peer->unreturned_credit += LIMIT_FRAME_HEADER + frame->stored;
    if (peer->unreturned_credit < peer->transport->window / 4)
        return;

    const struct frame credit = {.kind = FRAME_CREDIT,
                                 .epoch = peer->transport->roster->epoch,
                                 .total = peer->unreturned_credit};
    if (peer->state != PEER_READY)
        return;
    peer->unreturned_credit = 0;
    peer_queue_control(peer, &credit, NULL);
}

void
peer_send_grant(struct peer *peer, struct recv_request *flow)
{
    const bool is_asked =
        flow->total > window_whole_message_max(peer->transport->window) ||
        flow->has_rts || flow->is_begun || flow->label->is_confirmed;
    const bool is_worth_it = flow->allowed == flow->total ||
                             flow->allowed >= flow->granted + GRANT_MIN;

    /* A grant of no bytes is given only once. */
    const bool is_empty =
        flow->total == 0 &&
        (flow->has_rts || (flow->label->is_confirmed && !flow->is_granted));

    if (!is_asked || !is_worth_it || peer_is_self(peer) ||
        (flow->allowed <= flow->granted && !is_empty))
        return;
    flow->granted = flow->allowed;
    flow->is_granted = true;
    flow->has_rts = flow->has_rts && !is_empty;

    const struct frame grant = {
        .kind = FRAME_GRANT,
        .flags = flow->label->flags |
                 (flow->key.kind == FLOW_MESSAGE ? FRAME_POINT_TO_POINT : 0),
        .epoch = peer->transport->roster->epoch,
        .comm = flow->key.comm,
        .op = flow->key.op,
        .step = flow->key.step,
        .offset = flow->granted,
        .signature = flow->label->signature,
        .total = flow->total,
        .call = flow->label->call,
    };
    /* Without a connection, the grant waits for one. */
    if (peer->state < PEER_LEFT)
        peer_queue_control(peer, &grant, NULL);
}

static struct send_request *
find_by_key(const struct send_request_list *flows, const struct flow_key *key)
{
    struct send_request *flow;

    TAILQ_FOREACH(flow, flows, link)
    {
        if (flow->key.op == key->op && flow->key.comm == key->comm &&
            flow->key.kind == key->kind && flow->key.step == key->step)
            return flow;
    }
    return NULL;
}

static struct send_request *
find_send_request(const struct peer *peer, const struct frame *frame)
{
    const struct flow_key key = match_frame_key(peer, frame);
    struct send_request *flow = find_by_key(&peer->unconfirmed, &key);

    if (!flow)
        flow = find_by_key(&peer->send_requests, &key);
    return flow ? flow : find_by_key(&peer->rendezvous_pending, &key);
}

bool
peer_may_keep_frame(struct peer *peer)
{
    struct transport *transport = peer->transport;
    const enum transport_unexpected_action action =
        transport->events->on_unexpected(transport->owner, peer->rank,
                                         &peer->frame);

    if (action == TRANSPORT_MISMATCH)
        transport->events->on_mismatch(transport->owner, peer->rank,
                                       &peer->frame, NULL);
    return action == TRANSPORT_KEEP;
}

/* Returns whether the peer means the collective that this rank called; reports
 * a mismatch. */
static bool
check_same_call(struct peer *peer, const struct flow_label *label)
{
    struct transport *transport = peer->transport;

    if (match_frame_key(peer, &peer->frame).kind == FLOW_MESSAGE ||
        peer->frame.signature == label->signature)
        return true;
    transport->events->on_mismatch(transport->owner, peer->rank, &peer->frame,
                                   NULL);
    return false;
}

bool
peer_check_size(struct peer *peer,
                const struct frame *frame,
                const struct recv_request *flow)
{
    const struct transport *transport = peer->transport;
    const struct frame copy = *frame;

    if (flow->key.kind == FLOW_MESSAGE || frame->total == flow->total)
        return true;
    transport->events->on_size_mismatch(transport->owner, peer->rank, &copy,
                                        flow->total);
    return false;
}

/* Returns whether the peer expects as many bytes as flow has; reports a
 * mismatch. */
static bool
check_same_size(struct peer *peer, const struct send_request *flow)
{
    const struct transport *transport = peer->transport;
    const struct frame frame = peer->frame;

    if (flow->key.kind == FLOW_MESSAGE || frame.total == flow->total)
        return true;
    transport->events->on_size_mismatch(transport->owner, peer->rank, &frame,
                                        flow->total);
    return false;
}

static void
receive_grant(struct peer *peer)
{
    struct send_request *flow = find_send_request(peer, &peer->frame);

    if (flow && check_same_call(peer, flow->label) &&
        check_same_size(peer, flow))
        peer_apply_grant(peer, flow, peer->frame.offset);
    /* A message is sent before it is granted, so the one without a flow was
     * cancelled. */
    if (flow || (peer->frame.flags & FRAME_POINT_TO_POINT))
        return;
    if (peer_may_keep_frame(peer))
        match_early_grant_add(peer, &peer->frame);
}

void
peer_send_withdrawal(struct peer *peer, const struct send_request *flow)
{
    const struct frame withdrawal = {
        .kind = FRAME_ANNOUNCE,
        .flags = FRAME_POINT_TO_POINT | FRAME_WITHDRAWN,
        .epoch = peer->transport->roster->epoch,
        .comm = flow->key.comm,
        .op = flow->key.op,
    };

    peer_queue_control(peer, &withdrawal, NULL);
}

static void
receive_withdrawal(struct peer *peer)
{
    struct transport *transport = peer->transport;
    const struct frame frame = peer->frame;

    if (!(frame.flags & FRAME_POINT_TO_POINT))
        return;
    struct recv_request *flow = match_find_bound(peer, &frame);
    if (flow)
        transport->events->on_send_withdrawn(transport->owner, flow);
    /* This also removes the mark that the rest is to be dropped, since there
     * is no rest. */
    struct unexpected *unexpected = match_find_unexpected(peer, &frame);
    if (unexpected)
        match_unexpected_destroy(peer, unexpected);
}

static void
receive_rts(struct peer *peer)
{
    if (peer->frame.flags & FRAME_WITHDRAWN) {
        receive_withdrawal(peer);
        return;
    }
    const struct frame_tensor *tensor = peer_frame_tensor(peer);
    struct recv_request *flow = match_find_receive(peer, &peer->frame, tensor);

    if (flow) {
        if (!check_same_call(peer, flow->label) ||
            !peer_check_size(peer, &peer->frame, flow))
            return;
        flow->has_rts = true;
        peer_send_grant(peer, flow);
        return;
    }
    if (!peer_may_keep_frame(peer) || match_has_refused(peer, &peer->frame))
        return;
    struct unexpected *unexpected =
        match_unexpected_add(peer, &peer->frame, tensor);
    if (!unexpected) {
        peer_lose_protocol_error(peer, "more announcements than the limit");
        return;
    }
    unexpected->has_rts = true;
}

static void
receive_shutdown(struct peer *peer)
{
    struct transport *transport = peer->transport;
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = transport->roster->epoch};

    if (peer->has_left)
        return;
    peer->has_left = true;
    if (!transport->is_leaving)
        peer_queue_control(peer, &goodbye, NULL);
    peer_mark_left(peer);
}

void
peer_receive_control(struct peer *peer)
{
    peer->target = TARGET_SINK;
    switch ((enum frame_kind)peer->frame.kind) {
    case FRAME_ANNOUNCE:
        receive_rts(peer);
        return;
    case FRAME_GRANT:
        receive_grant(peer);
        return;
    case FRAME_CREDIT:
        if (peer->frame.total > peer->transport->window - peer->credit) {
            peer_lose_protocol_error(peer,
                                     "back more of the window than it had");
            return;
        }
        peer->credit += peer->frame.total;
        peer_mark_dirty(peer);
        return;
    case FRAME_VERDICT:
        peer->fragment = peer_fragment_alloc(peer);
        peer->target = TARGET_FRAGMENT;
        return;
    case FRAME_GOODBYE:
        receive_shutdown(peer);
        return;
    case FRAME_SPREAD:
        striping_on_announcement(peer);
        return;
    case FRAME_HEARTBEAT:
        peer->transport->events->on_heartbeat(peer->transport->owner,
                                              peer->rank, &peer->frame);
        return;
    case FRAME_COLLECTIVE:
    case FRAME_MESSAGE:
        return;
    }
}
