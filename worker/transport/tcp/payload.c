/*
 * transport/tcp/payload.c - bytes of a frame's payload on the way to their flow
 *
 * Bytes are read directly to where they go. Bytes that are to be combined are
 * used where they were read to, if whole elements are there.
 */

#include "transport/tcp/payload.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* No element is larger, and the size of every element divides this. */
static const size_t ELEMENT_MAX = 16;

void
peer_deliver_payload(struct peer *peer,
                     struct recv_request *flow,
                     const uint8_t *raw,
                     size_t n_bytes)
{
    const struct transport *transport = peer->transport;

    if (flow->place)
        memcpy(flow->place + flow->arrived, raw, n_bytes);
    flow->arrived += n_bytes;
    transport->events->on_arrived(transport->owner, flow,
                                  flow->place ? NULL : raw, n_bytes);
}

uint8_t *
peer_payload_target(struct peer *peer)
{
    switch (peer->target) {
    case TARGET_PLACE:
        return peer->flow->place + peer->frame.offset + peer->n_stored;
    case TARGET_PIECE:
        return peer->piece + peer->n_stored;
    case TARGET_ENCODED:
        return peer->encoded + peer->n_stored;
    case TARGET_FRAGMENT:
        return peer->fragment->bytes + peer->n_stored;
    case TARGET_SINK:
        break;
    }
    return peer->transport->sink;
}

void
peer_payload_advance(struct peer *peer, size_t n_bytes)
{
    const struct transport *transport = peer->transport;
    struct recv_request *flow = peer->flow;

    peer->n_stored += n_bytes;
    if (n_bytes == 0)
        return;
    if (peer->target == TARGET_PLACE) {
        flow->arrived += n_bytes;
        transport->events->on_arrived(transport->owner, flow, NULL, n_bytes);
    } else if (peer->target == TARGET_PIECE) {
        const uint8_t *piece = peer->piece + peer->piece_used;
        const size_t n_whole = (peer->n_stored - peer->piece_used) /
                               flow->element_size * flow->element_size;

        if (n_whole == 0)
            return;
        peer->piece_used += n_whole;
        flow->arrived += n_whole;
        transport->events->on_arrived(transport->owner, flow, piece, n_whole);
    }
}

/* Returns whether bytes begin with a whole element and are aligned for it. */
static bool
can_consume_in_place(const struct peer *peer, const uint8_t *bytes)
{
    return peer->target == TARGET_PIECE &&
           peer->flow->element_size <= ELEMENT_MAX &&
           peer->piece_used == peer->n_stored &&
           (uintptr_t)bytes % peer->flow->element_size == 0;
}

size_t
peer_payload_consume(struct peer *peer, const uint8_t *bytes, size_t n_bytes)
{
    const struct transport *transport = peer->transport;
    struct recv_request *flow = peer->flow;

    if (!can_consume_in_place(peer, bytes)) {
        memcpy(peer_payload_target(peer), bytes, n_bytes);
        peer_payload_advance(peer, n_bytes);
        return n_bytes;
    }
    const size_t n_whole = n_bytes - n_bytes % flow->element_size;
    if (n_whole == 0)
        return 0;
    peer->n_stored += n_whole;
    peer->piece_used += n_whole;
    flow->arrived += n_whole;
    transport->events->on_arrived(transport->owner, flow, bytes, n_whole);
    return n_whole;
}

void
peer_payload_consume_all(struct peer *peer,
                         const uint8_t *bytes,
                         size_t n_bytes)
{
    const size_t n_used = peer_payload_consume(peer, bytes, n_bytes);

    if (n_used == n_bytes || peer->fd < 0)
        return;
    memcpy(peer_payload_target(peer), bytes + n_used, n_bytes - n_used);
    peer_payload_advance(peer, n_bytes - n_used);
}

void
peer_lose_corrupted(struct peer *peer)
{
    const struct transport *transport = peer->transport;
    char why[LIMIT_ERROR_TEXT];

    snprintf(why, sizeof(why), "%s", error_text());
    if (transport->events->on_corrupted)
        transport->events->on_corrupted(transport->owner, peer->rank, why);
    if (peer->state != PEER_LOST)
        (void)peer_write(peer);
    peer_lose(peer, why);
}

void
peer_lose_protocol_error(struct peer *peer, const char *what)
{
    (void)error_raise(HOOP_E_DATA_LOSS, "it sent %s", what);
    peer_lose_corrupted(peer);
}
