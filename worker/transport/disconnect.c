/*
 * transport/disconnect.c - the end of a connection, in good order or not
 *
 * What is queued for a lost peer, and what came from it and was not received,
 * is dropped.
 */

#include "base/clock.h"
#include "net/socket.h"
#include "transport/peer.h"

void
peer_receive_clear(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    struct unexpected *unexpected;

    unexpected_fragment_free(peer->transport, receive->fragment);
    receive->fragment = NULL;
    receive->is_reading_payload = false;
    receive->flow = NULL;
    receive->ahead_first = 0;
    receive->ahead_end = 0;
    while (!TAILQ_EMPTY(&peer->send.early_grants))
        early_grant_destroy(peer, TAILQ_FIRST(&peer->send.early_grants));
    while ((unexpected = TAILQ_FIRST(&receive->unexpected_messages))) {
        struct recv_request *flow;

        TAILQ_FOREACH(flow, &receive->requests, link)
        {
            if (flow->unexpected == unexpected)
                flow->unexpected = NULL;
        }
        unexpected_destroy(peer, unexpected);
    }
    receive->n_unexpected_bytes = 0;
}

/* Close all connections but the first. */
static void
striping_close(struct peer *peer)
{
    if (!peer->striping.group)
        return;
    for (unsigned i = 1; i < STREAM_GROUP_N_FDS; i++) {
        if (peer->striping.group->fds[i] >= 0)
            poller_remove(peer->transport->poller,
                          peer->striping.group->fds[i]);
    }
    stream_group_destroy(peer->striping.group);
    peer->striping.group = NULL;
}

void
peer_disconnect(struct peer *peer)
{
    peer_send_clear(peer);
    striping_close(peer);
    if (peer->fd >= 0) {
        poller_remove(peer->transport->poller, peer->fd);
        tls_destroy(peer->tls);
        peer->tls = NULL;
        socket_close(peer->fd);
        peer->fd = -1;
        peer->transport->n_connected--;
        if (peer->segment)
            TAILQ_REMOVE(&peer->transport->shm_peers, peer, shm_link);
    }
    if (peer->segment && !peer->receive.is_ring_in_use) {
        segment_destroy(peer->segment);
        peer->segment = NULL;
    }
    if (peer->send.is_dirty)
        TAILQ_REMOVE(&peer->transport->dirty, peer, dirty_link);
    peer->send.is_dirty = false;
    peer_unblock(peer);
    peer_update_expected(peer);
}

static uint64_t
peer_silence_ms(const struct peer *peer)
{
    uint64_t n_ms;

    if (peer->segment && peer->receive.last_shm_read_ns > 0)
        return (clock_coarse_ns() - peer->receive.last_shm_read_ns) /
               CLOCK_NS_PER_MS;
    return peer->fd >= 0 && !peer->segment &&
                   socket_get_silent_ms(peer->fd, &n_ms)
               ? n_ms
               : TRANSPORT_SILENCE_UNKNOWN;
}

void
peer_lose(struct peer *peer, const char *why)
{
    struct transport *transport = peer->transport;

    if (peer->receive.state == RECEIVE_LOST)
        return;
    if (peer_is_connected(peer))
        counter_add(&transport->counters.connections, UINT64_MAX);
    peer_receive_clear(peer);
    peer->silent_ms_when_lost = peer_silence_ms(peer);
    peer_disconnect(peer);
    peer_set_send_state(peer, SEND_LOST);
    peer_set_receive_state(peer, RECEIVE_LOST);
    peer_report_event(peer, TRANSPORT_LOST, why);
}

void
peer_close_departed(struct peer *peer)
{
    peer_disconnect(peer);
    if (peer->send.state != SEND_ENDED)
        peer_set_send_state(peer, SEND_ENDED);
    if (peer->receive.state != RECEIVE_ENDED)
        peer_set_receive_state(peer, RECEIVE_ENDED);
    /* Frames that are not written by now never will be. */
    peer_report_event(peer, TRANSPORT_CLOSED, NULL);
}

void
peer_on_send_broken(struct peer *peer)
{
    if (peer->send.state != SEND_BROKEN)
        peer_set_send_state(peer, SEND_BROKEN);
    if (connection_is_over(peer->send.state, peer->receive.state))
        peer_close_departed(peer);
}

uint64_t
transport_silence_ms(const struct transport *transport, uint32_t rank)
{
    const struct peer *peer = &transport->peers[rank];

    if (peer_is_connected(peer))
        return peer_silence_ms(peer);
    return peer->receive.state == RECEIVE_LOST ? peer->silent_ms_when_lost
                                               : TRANSPORT_SILENCE_UNKNOWN;
}
