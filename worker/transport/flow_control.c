/*
 * transport/flow_control.c - what a receiver permits
 *
 * A CREDIT frame returns a part of the eager window. A GRANT frame permits what
 * is larger than the window or did not fit it.
 */

#include "transport/flow.h"
#include "transport/peer.h"

/* Grants of a flow that grows in small steps are collected up to this size. */
static const uint64_t GRANT_INCREMENT_MIN = 256 * (uint64_t)1024;

void
peer_return_credit(struct peer *peer, const struct frame *frame)
{
    struct receive_half *receive = &peer->receive;

    if (!(frame->flags & FRAME_EAGER))
        return;
    if (peer_is_self(peer)) {
        peer->send.credit += eager_window_frame_cost(frame->stored);
        return;
    }
    receive->unreturned_credit += eager_window_frame_cost(frame->stored);
    if (receive->unreturned_credit < peer->transport->window / 4)
        return;

    const struct frame credit = {.kind = FRAME_CREDIT,
                                 .epoch = peer->transport->roster->epoch,
                                 .total = receive->unreturned_credit};
    if (!peer_is_connected(peer))
        return;
    receive->unreturned_credit = 0;
    peer_queue_control(peer, &credit, NULL);
}

void
peer_send_grant(struct peer *peer, struct recv_request *flow)
{
    const bool is_asked =
        flow->total > eager_whole_message_max(peer->transport->window) ||
        flow->is_announced || flow->is_begun_unasked ||
        flow->label->needs_receiver_confirmation;
    const bool is_worth_it =
        flow->allowed == flow->total ||
        flow->allowed >= flow->granted + GRANT_INCREMENT_MIN;

    /* A grant of no bytes is given only once. */
    const bool is_empty =
        flow->total == 0 &&
        (flow->is_announced ||
         (flow->label->needs_receiver_confirmation && !flow->is_granted));

    if (!is_asked || !is_worth_it || peer_is_self(peer) ||
        (flow->allowed <= flow->granted && !is_empty))
        return;
    flow->granted = flow->allowed;
    flow->is_granted = true;
    flow->is_announced = flow->is_announced && !is_empty;

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
    peer_queue_control(peer, &grant, NULL);
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
