/*
 * transport/loopback.c - messages of a rank to itself
 *
 * There is no connection, but the rules are the same. A message meets its
 * posted receive; or a copy of it waits in the unexpected-message queue,
 * charged to the window; or, if it is too large for that, it is announced
 * and stays where it is.
 */

#include <string.h>

#include "transport/flow.h"
#include "transport/match.h"
#include "transport/peer.h"
#include "transport/unexpected_queue.h"

static void
loopback_finish_send(struct peer *peer, struct send_request *flow)
{
    TAILQ_REMOVE(&peer->send.requests, flow, link);
    flow->is_queued = false;
    flow->is_first_frame_cut = true;
    /* If the receive does not fit, this rank learns it from the receive
     * itself. */
    flow->is_granted = true;
    flow->framed = flow->total;
    peer_report_sent(peer, flow, flow->total);
}

/* Queue a copy of the message if the window has room. */
static bool
loopback_queue_copy(struct peer *peer,
                    struct frame *frame,
                    const struct send_request *flow)
{
    const uint64_t n_cost = eager_window_frame_cost(flow->total);

    if (flow->total > LIMIT_EAGER_MESSAGE || peer->send.credit < n_cost)
        return false;
    struct unexpected *unexpected =
        unexpected_add(peer, frame, flow->label->tensor);
    struct fragment *part =
        unexpected_fragment_alloc(peer->transport, flow->total);
    if (!unexpected || !part) {
        unexpected_fragment_free(peer->transport, part);
        return false;
    }
    peer->send.credit -= n_cost;
    frame->flags |= FRAME_EAGER;
    frame->raw = (uint32_t)flow->total;
    frame->stored = (uint32_t)flow->total;
    part->frame = *frame;
    if (flow->total > 0)
        memcpy(part->bytes, flow->bytes, flow->total);
    TAILQ_INSERT_TAIL(&unexpected->parts, part, link);
    return true;
}

/* Returns whether flow has ended. */
static bool
loopback_try_send(struct peer *peer, struct send_request *flow)
{
    struct transport *transport = peer->transport;
    struct frame frame = send_request_frame(flow);
    struct recv_request *target =
        match_find_receive(peer, &frame, flow->label->tensor);

    /* The message and its receive do not fit each other: both have been
     * cancelled. */
    if (!flow->is_queued)
        return true;
    if (target && !target->unexpected) {
        if (flow->total > 0)
            memcpy(target->place, flow->bytes, flow->total);
        target->arrived = flow->total;
        loopback_finish_send(peer, flow);
        transport->events->on_arrived(transport->owner, target, NULL,
                                      flow->total);
        return true;
    }
    if (target || unexpected_find(peer, &frame))
        return false;
    if (loopback_queue_copy(peer, &frame, flow)) {
        loopback_finish_send(peer, flow);
        return true;
    }
    unexpected_add(peer, &frame, flow->label->tensor);
    return false;
}

void
loopback_cancel(struct transport *transport, const struct send_request *flow)
{
    struct peer *peer = peer_get_or_init(transport, transport->roster->rank);
    const struct frame frame = send_request_frame(flow);
    struct unexpected *unexpected = unexpected_find(peer, &frame);

    if (unexpected && !match_find_bound(peer, &frame))
        unexpected_destroy(peer, unexpected);
}

bool
loopback_progress(struct transport *transport)
{
    struct peer *peer = peer_get_or_init(transport, transport->roster->rank);
    struct send_request *flow = TAILQ_FIRST(&peer->send.requests);
    bool has_moved = false;

    while (flow) {
        has_moved |= loopback_try_send(peer, flow);
        /* The callbacks of one that has ended may have cancelled any other. */
        flow = flow->is_queued ? TAILQ_NEXT(flow, link)
                               : TAILQ_FIRST(&peer->send.requests);
    }
    return has_moved;
}
