/*
 * transport/transport.c - the calls that the engine makes
 *
 * All state belongs to the progress owner, except what counters and the
 * poller's wake-up protect themselves.
 */

#include "transport/transport.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/state.h"
#include "net/socket.h"
#include "transport/match.h"
#include "transport/peer.h"
#include "transport/unexpected_queue.h"
#include "transport/window.h"

enum hoop_status
transport_create(const struct transport_options *options,
                 struct transport **out_transport)
{
    const uint32_t size = options->roster->size;
    struct transport *transport = calloc(1, sizeof(*transport));

    if (!transport)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the transport");
    transport->roster = options->roster;
    transport->events = options->events;
    transport->owner = options->owner;
    transport->codec_id = options->codec;
    transport->is_summing = options->is_summing;
    transport->n_streams = options->n_streams;
    transport->faults = options->faults;
    transport->window = window_per_rank(size);
    TAILQ_INIT(&transport->known);
    TAILQ_INIT(&transport->dirty);
    TAILQ_INIT(&transport->expected);
    TAILQ_INIT(&transport->expected_later);
    TAILQ_INIT(&transport->shm_peers);
    TAILQ_INIT(&transport->posted);
    TAILQ_INIT(&transport->drains);
    transport->peers = calloc(size, sizeof(*transport->peers));
    transport->sink = malloc(LIMIT_FRAME_PAYLOAD);

    enum hoop_status status =
        transport->peers && transport->sink
            ? HOOP_OK
            : error_raise(HOOP_E_EXHAUSTED, "no memory for %u peers", size);
    if (status == HOOP_OK)
        status = unexpected_queue_init(transport);
    if (status == HOOP_OK)
        status = codec_create(&transport->codec);
    if (status == HOOP_OK)
        status = poller_create(&transport->poller);
    if (status != HOOP_OK) {
        transport_destroy(transport);
        return error_pass(status);
    }
    *out_transport = transport;
    return HOOP_OK;
}

void
transport_destroy(struct transport *transport)
{
    struct peer *peer;

    if (!transport)
        return;
    TAILQ_FOREACH(peer, &transport->known, known_link)
    {
        peer_receive_clear(peer);
        peer_disconnect(peer);
        free(peer->piece);
        free(peer->encoded);
    }
    unexpected_queue_deinit(transport);
    poller_destroy(transport->poller);
    codec_destroy(transport->codec);
    free(transport->peers);
    free(transport->sink);
    free(transport);
}

static void
peer_start_shutdown(struct peer *peer)
{
    const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                  .epoch = peer->transport->roster->epoch};

    peer->transport->events->on_leaving(peer->transport->owner, peer->rank);
    peer->transport->n_shutdowns_pending++;
    peer->is_shutdown_pending = true;
    peer_queue_control(peer, &goodbye, NULL);
}

void
transport_add_connection(struct transport *transport, uint32_t rank, int fd)
{
    transport_add_shm_connection(transport, rank, fd, NULL);
}

void
transport_add_shm_connection(struct transport *transport,
                             uint32_t rank,
                             int fd,
                             struct segment *segment)
{
    struct peer *peer = peer_get(transport, rank);
    const struct poller_interest reads = {.reads = true};

    if (peer->state != PEER_NEW && peer->state != PEER_CONNECTING) {
        socket_close(fd);
        segment_destroy(segment);
        return;
    }
    if (poller_add(transport->poller, fd, reads, peer) != HOOP_OK) {
        socket_close(fd);
        segment_destroy(segment);
        tls_destroy(STEAL(peer->tls));
        peer_lose(peer, error_text());
        return;
    }
    peer->fd = fd;
    peer->segment = segment;
    peer->is_same_host = segment || socket_is_local(fd);
    if (segment)
        TAILQ_INSERT_TAIL(&transport->shm_peers, peer, shm_link);
    peer_set_state(peer, PEER_READY);
    counter_add(&transport->counters.connections, 1);
    peer_update_expected(peer);
    peer_mark_dirty(peer);
    striping_on_connected(peer);
    /* The connection came too late, but its peer must not take this rank for
     * dead. */
    if (transport->is_leaving)
        peer_start_shutdown(peer);
}

void
transport_mark_unreachable(struct transport *transport,
                           uint32_t rank,
                           const char *why)
{
    struct peer *peer = peer_get(transport, rank);

    if (peer->state == PEER_NEW || peer->state == PEER_CONNECTING)
        peer_lose(peer, why);
}

bool
transport_reset_connecting(struct transport *transport, uint32_t rank)
{
    struct peer *peer = peer_get(transport, rank);

    if (peer->state != PEER_NEW && peer->state != PEER_CONNECTING)
        return false;
    peer_clear_controls(peer);
    if (peer->state == PEER_CONNECTING)
        peer_set_state(peer, PEER_NEW);
    return true;
}

void
transport_request_connect(struct transport *transport, uint32_t rank)
{
    struct peer *peer = peer_get(transport, rank);

    if (peer->state != PEER_NEW || peer_is_self(peer))
        return;
    peer_set_state(peer, PEER_CONNECTING);
    transport->events->on_connection_needed(transport->owner, rank);
}

void
transport_send(struct transport *transport, struct send_request *flow)
{
    struct peer *peer = peer_get(transport, flow->key.peer);

    transport_request_connect(transport, flow->key.peer);
    flow->granted = match_early_grant_take(peer, flow);
    peer_queue_send(peer, flow);
    peer_mark_dirty(peer);
}

void
transport_send_more(struct transport *transport, struct send_request *flow)
{
    if (flow->is_queued)
        peer_mark_dirty(peer_get(transport, flow->key.peer));
}

void
transport_send_cancel(struct transport *transport, struct send_request *flow)
{
    struct peer *peer = peer_get(transport, flow->key.peer);
    const bool is_half_sent =
        flow->is_unconfirmed ||
        (flow->is_queued && (flow->has_rts || flow->is_opened));
    const bool is_own = flow->is_queued && peer_is_self(peer);

    peer_cancel_send(peer, flow);
    if (is_own)
        loopback_cancel(transport, flow);
    if (is_half_sent && flow->key.kind == FLOW_MESSAGE &&
        peer->state == PEER_READY)
        peer_send_withdrawal(peer, flow);
}

void
transport_receive(struct transport *transport, struct recv_request *flow)
{
    flow->is_open = true;
    if (flow->key.kind == FLOW_MESSAGE) {
        match_post(transport, flow);
    } else {
        struct peer *peer = peer_get(transport, flow->key.peer);

        flow->is_matched = true;
        TAILQ_INSERT_TAIL(&peer->recv_requests, flow, link);
        transport_request_connect(transport, flow->key.peer);
        peer_update_expected(peer);
    }
    match_open_receive(transport, flow);
    if (flow->is_open && flow->unexpected)
        match_grant_on_first_frame(peer_get(transport, flow->key.peer), flow,
                                   &flow->unexpected->first);
    transport_receive_more(transport, flow);
}

void
transport_receive_more(struct transport *transport, struct recv_request *flow)
{
    if (!flow->is_open || !flow->is_matched)
        return;
    if (flow->unexpected && !flow->is_draining) {
        flow->is_draining = true;
        TAILQ_INSERT_TAIL(&transport->drains, flow, drain_link);
    }
    peer_send_grant(peer_get(transport, flow->key.peer), flow);
}

void
transport_receive_cancel(struct transport *transport, struct recv_request *flow)
{
    if (!flow->is_open)
        return;
    flow->is_open = false;
    if (flow->is_draining)
        TAILQ_REMOVE(&transport->drains, flow, drain_link);
    flow->is_draining = false;
    if (!flow->is_matched) {
        match_unpost(transport, flow);
        return;
    }

    struct peer *peer = peer_get(transport, flow->key.peer);
    /* Further frames that nobody takes must be dropped, not queued. No mark is
     * needed if all of them have come. */
    const bool has_rest = flow->key.kind == FLOW_MESSAGE &&
                          flow->arrived < flow->total &&
                          match_received_bytes(peer, flow) < flow->total;
    TAILQ_REMOVE(&peer->recv_requests, flow, link);
    if (flow->unexpected)
        match_unexpected_destroy(peer, flow->unexpected);
    flow->unexpected = NULL;
    if (peer->in_payload && peer->flow == flow) {
        peer->flow = NULL;
        peer->target = TARGET_SINK;
    }
    if (has_rest)
        match_mark_dropped(peer, &flow->key);
    peer_update_expected(peer);
}

void
transport_send_control(struct transport *transport,
                       uint32_t rank,
                       const struct frame *frame,
                       const char *text)
{
    struct peer *peer = peer_get(transport, rank);

    if (peer->state == PEER_READY)
        peer_queue_control(peer, frame, text);
}

void
transport_broadcast_control(struct transport *transport,
                            uint32_t except,
                            const struct frame *frame,
                            const char *text)
{
    const struct peer *peer;

    TAILQ_FOREACH(peer, &transport->known, known_link)
    {
        if (peer->rank != except)
            transport_send_control(transport, peer->rank, frame, text);
    }
}

void
transport_defer_failure(struct transport *transport,
                        uint32_t rank,
                        const char *why)
{
    struct peer *peer = peer_get(transport, rank);

    if (peer->state == PEER_READY)
        peer_defer_failure_at_fault(peer, why);
}

void
transport_start_shutdown(struct transport *transport)
{
    struct peer *peer;

    transport->is_leaving = true;
    TAILQ_FOREACH(peer, &transport->known, known_link)
    {
        if (peer->state != PEER_READY && peer->fd < 0)
            continue;
        if (peer->state == PEER_READY) {
            peer_start_shutdown(peer);
            continue;
        }
        /* The answer to a peer that left first is still queued and must be
         * sent. */
        transport->n_shutdowns_pending++;
        peer->is_shutdown_pending = true;
        peer_mark_dirty(peer);
    }
}

bool
transport_is_shut_down(const struct transport *transport)
{
    return transport->is_leaving && transport->n_shutdowns_pending == 0;
}

void
transport_wake(struct transport *transport)
{
    poller_wake(transport->poller);
}

enum hoop_status
transport_wakeup_handle(const struct transport *transport,
                        struct wakeup_handle *out_place)
{
    return poller_wakeup_handle(transport->poller, out_place);
}

int
transport_fd(const struct transport *transport)
{
    return poller_fd(transport->poller);
}

void
transport_count_bytes(struct transport *transport,
                      uint64_t n_sent,
                      uint64_t n_received)
{
    counter_add(&transport->counters.bytes_sent, n_sent);
    counter_add(&transport->counters.bytes_received, n_received);
}

void
transport_stats(const struct transport *transport,
                struct transport_stats *out_stats)
{
    const struct counters *counters = &transport->counters;

    *out_stats = (struct transport_stats){
        .bytes_sent = atomic_load(&counters->bytes_sent),
        .bytes_received = atomic_load(&counters->bytes_received),
        .wire_sent = atomic_load(&counters->wire_sent),
        .connections = atomic_load(&counters->connections),
    };
}
