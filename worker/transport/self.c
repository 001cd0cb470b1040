/*
 * transport/self.c - messages of a rank to itself
 *
 * There is no connection, but the same order of things: a message meets its
 * posted receive, or a copy of it waits in the window, or, when it is too
 * large for that, it is announced and stays where it is.
 */

#include <stdlib.h>
#include <string.h>

#include "transport/cellar.h"
#include "transport/match.h"
#include "transport/peer.h"

static void
finish(struct peer *peer, struct outflow *flow)
{
    const struct transport *transport = peer->transport;

    TAILQ_REMOVE(&peer->outflows, flow, link);
    flow->is_queued = false;
    flow->is_opened = true;
    /* This rank is told by its receive, if that does not take it. */
    flow->is_granted = true;
    flow->framed = flow->total;
    flow->handed = flow->total;
    transport->events->on_handed(transport->owner, flow, flow->total);
}

/* A copy for later, if the window has room. */
static bool
keep_copy(struct peer *peer, struct frame *frame, const struct outflow *flow)
{
    const uint64_t n_cost = LIMIT_FRAME_HEADER + flow->total;

    if (flow->total > LIMIT_EAGER_MESSAGE || peer->credit < n_cost)
        return false;
    struct arrival *arrival =
        match_arrival_add(peer, frame, flow->label->tensor);
    struct stash *part = cellar_stash_take(peer->transport, flow->total);
    if (!arrival || !part) {
        cellar_stash_give(peer->transport, part);
        return false;
    }
    peer->credit -= n_cost;
    frame->flags |= FRAME_EAGER;
    frame->raw = (uint32_t)flow->total;
    frame->stored = (uint32_t)flow->total;
    part->frame = *frame;
    if (flow->total > 0)
        memcpy(part->bytes, flow->bytes, flow->total);
    TAILQ_INSERT_TAIL(&arrival->parts, part, link);
    return true;
}

/* True when flow has ended. */
static bool
try_send(struct peer *peer, struct outflow *flow)
{
    struct transport *transport = peer->transport;
    struct frame frame = outflow_frame(flow);
    struct inflow *target = match_find(peer, &frame, flow->label->tensor);

    /* They do not fit each other: both have been cancelled. */
    if (!flow->is_queued)
        return true;
    if (target && !target->arrival) {
        if (flow->total > 0)
            memcpy(target->place, flow->bytes, flow->total);
        target->arrived = flow->total;
        finish(peer, flow);
        transport->events->on_arrived(transport->owner, target, NULL,
                                      flow->total);
        return true;
    }
    if (target || match_arrival(peer, &frame))
        return false;
    if (keep_copy(peer, &frame, flow)) {
        finish(peer, flow);
        return true;
    }
    match_arrival_add(peer, &frame, flow->label->tensor);
    return false;
}

void
self_cancel(struct transport *transport, const struct outflow *flow)
{
    struct peer *peer = peer_at(transport, transport->roster->rank);
    const struct frame frame = outflow_frame(flow);
    struct arrival *arrival = match_arrival(peer, &frame);

    if (arrival && !match_bound(peer, &frame))
        match_arrival_destroy(peer, arrival);
}

bool
self_turn(struct transport *transport)
{
    struct peer *peer = peer_at(transport, transport->roster->rank);
    struct outflow *next;
    bool has_moved = false;

    for (struct outflow *flow = TAILQ_FIRST(&peer->outflows); flow;
         flow = next) {
        next = TAILQ_NEXT(flow, link);
        has_moved |= try_send(peer, flow);
    }
    return has_moved;
}
