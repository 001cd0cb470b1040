/*
 * transport/transport.c - calls of the engine, and progress
 *
 * All state belongs to the progress owner, except what counters and the
 * poller's wake-up protect themselves.
 */

#include "transport/transport.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/socket.h"
#include "transport/flow.h"
#include "transport/match.h"
#include "transport/peer.h"
#include "transport/unexpected_queue.h"

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
    transport->config = options->config;
    transport->faults = options->faults;
    transport->window = eager_window_per_rank(size);
    TAILQ_INIT(&transport->known);
    TAILQ_INIT(&transport->dirty);
    TAILQ_INIT(&transport->expected);
    TAILQ_INIT(&transport->expected_later_peers);
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
        free(peer->receive.piece);
        free(peer->receive.encoded);
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

    peer_report_event(peer, TRANSPORT_GOODBYE_DUE, NULL);
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
    struct peer *peer = peer_get_or_init(transport, rank);
    const struct poller_interest reads = {.reads = true};

    if (!peer_is_unconnected(peer)) {
        socket_close(fd);
        segment_destroy(segment);
        return;
    }
    if (poller_add(transport->poller, fd, reads, peer) != HOOP_OK) {
        socket_close(fd);
        segment_destroy(segment);
        tls_destroy(STEAL(peer->tls));
        peer_lose_unwatched(peer);
        return;
    }
    transport->n_connected++;
    peer->fd = fd;
    peer->segment = segment;
    peer->is_same_host = segment || socket_is_local(fd);
    if (segment)
        TAILQ_INSERT_TAIL(&transport->shm_peers, peer, shm_link);
    peer_set_send_state(peer, SEND_OPEN);
    peer_set_receive_state(peer, RECEIVE_OPEN);
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
transport_add_tls_connection(struct transport *transport,
                             uint32_t rank,
                             unsigned stream,
                             int fd,
                             struct tls *tls)
{
    struct peer *peer = peer_get_or_init(transport, rank);

    if (stream > 0) {
        striping_attach_stream(peer, stream, fd, tls);
        return;
    }
    if (!peer_is_unconnected(peer)) {
        tls_destroy(tls);
        socket_close(fd);
        return;
    }
    peer->tls = tls;
    transport_add_connection(transport, rank, fd);
}

void
transport_mark_unreachable(struct transport *transport,
                           uint32_t rank,
                           const char *why)
{
    struct peer *peer = peer_get_or_init(transport, rank);

    if (peer_is_unconnected(peer))
        peer_lose(peer, why);
}

bool
transport_give_up_connecting(struct transport *transport, uint32_t rank)
{
    struct peer *peer = peer_get_or_init(transport, rank);

    if (!peer_is_unconnected(peer))
        return false;
    peer_clear_controls(peer);
    if (peer->send.state == SEND_CONNECTING)
        peer_set_send_state(peer, SEND_NEW);
    return true;
}

void
transport_request_connect(struct transport *transport, uint32_t rank)
{
    struct peer *peer = peer_get_or_init(transport, rank);

    if (peer->send.state != SEND_NEW || peer_is_self(peer))
        return;
    peer_set_send_state(peer, SEND_CONNECTING);
    transport->events->on_connection_needed(transport->owner, rank, 0);
}

void
transport_send(struct transport *transport, struct send_request *flow)
{
    struct peer *peer = peer_get_or_init(transport, flow->key.peer);

    transport_request_connect(transport, flow->key.peer);
    flow->granted =
        peer->send.n_early_grants > 0 ? early_grant_take(peer, flow) : 0;
    peer_queue_send(peer, flow);
    peer_mark_dirty(peer);
}

void
transport_send_data_ready(struct transport *transport,
                          struct send_request *flow)
{
    if (flow->is_queued)
        peer_mark_dirty(peer_get_or_init(transport, flow->key.peer));
}

void
transport_send_cancel(struct transport *transport, struct send_request *flow)
{
    struct peer *peer = peer_get_or_init(transport, flow->key.peer);
    const bool is_half_sent =
        flow->is_awaiting_confirmation ||
        (flow->is_queued && (flow->is_announced || flow->is_first_frame_cut));
    const bool is_own = flow->is_queued && peer_is_self(peer);

    peer_cancel_send(peer, flow);
    if (is_own)
        loopback_cancel(transport, flow);
    if (is_half_sent && flow->key.kind == FLOW_MESSAGE &&
        peer_is_connected(peer))
        peer_send_withdrawal(peer, flow);
}

void
transport_receive(struct transport *transport, struct recv_request *flow)
{
    flow->is_open = true;
    if (flow->key.kind == FLOW_MESSAGE) {
        match_post_receive(transport, flow);
    } else {
        struct peer *peer = peer_get_or_init(transport, flow->key.peer);

        flow->is_matched = true;
        TAILQ_INSERT_TAIL(&peer->receive.requests, flow, link);
        transport_request_connect(transport, flow->key.peer);
        peer_update_expected(peer);
    }
    match_open_receive(transport, flow);
    if (flow->is_open && flow->unexpected)
        match_grant_on_first_frame(peer_get_or_init(transport, flow->key.peer),
                                   flow, &flow->unexpected->first);
    transport_receive_buffer_grew(transport, flow);
}

void
transport_receive_buffer_grew(struct transport *transport,
                              struct recv_request *flow)
{
    if (!flow->is_open || !flow->is_matched)
        return;
    if (flow->unexpected && !flow->is_draining) {
        flow->is_draining = true;
        TAILQ_INSERT_TAIL(&transport->drains, flow, drain_link);
    }
    peer_send_grant(peer_get_or_init(transport, flow->key.peer), flow);
}

void
transport_send_control(struct transport *transport,
                       uint32_t rank,
                       const struct frame *frame,
                       const char *text)
{
    struct peer *peer = peer_get_or_init(transport, rank);

    if (peer_is_connected(peer))
        peer_queue_control(peer, frame, text);
}

void
transport_send_control_connect(struct transport *transport,
                               uint32_t rank,
                               const struct frame *frame,
                               const char *text)
{
    struct peer *peer = peer_get_or_init(transport, rank);

    transport_request_connect(transport, rank);
    if (peer->send.state != SEND_NEW)
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
    struct peer *peer = peer_get_or_init(transport, rank);

    if (peer_is_connected(peer))
        peer_defer_failure(peer, TRANSPORT_CORRUPTED, why);
}

void
transport_start_shutdown(struct transport *transport)
{
    struct peer *peer;

    transport->is_leaving = true;
    TAILQ_FOREACH(peer, &transport->known, known_link)
    {
        /* The answer to a peer that left first is queued already. */
        if (peer_is_connected(peer))
            peer_start_shutdown(peer);
    }
}

bool
transport_is_shut_down(const struct transport *transport)
{
    return transport->is_leaving && transport->n_connected == 0;
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

uint64_t
transport_slept_ns(const struct transport *transport)
{
    return atomic_load_explicit(&transport->counters.slept_ns,
                                memory_order_relaxed);
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

/*
 * One progress call over all peers.
 *
 * A progress call drains unexpected messages, writes what is queued and
 * reads what came. Its callbacks must not begin another progress call: a
 * peer that is lost there would have its memory freed while it is being
 * read.
 */

enum {
    EVENTS_MAX = 64,
    /* Empty sockets that one transport_spin_once() reads. */
    SPIN_SOCKET_READS_MAX = 2,
};

/* Take what needs no socket: messages to self, what the inline path has read
 * ahead, and what came before its receive. Returns whether anything moved. */
static bool
take_what_is_here(struct transport *transport)
{
    bool has_moved = loopback_progress(transport);
    struct recv_request *flow;

    if (transport->frames_ahead) {
        peer_read_after_inline(STEAL(transport->frames_ahead));
        has_moved = true;
    }

    while ((flow = TAILQ_FIRST(&transport->drains))) {
        TAILQ_REMOVE(&transport->drains, flow, drain_link);
        flow->is_draining = false;
        struct peer *peer = peer_get_or_init(transport, flow->key.peer);
        if (match_drain_unexpected(peer, flow) != HOOP_OK)
            peer_lose_corrupted(peer);
        has_moved = true;
    }
    return has_moved;
}

static bool
write_dirty_peers(struct transport *transport)
{
    bool has_moved = false;
    struct peer_list dirty = TAILQ_HEAD_INITIALIZER(dirty);

    /* A peer that has more to write adds itself to the list again, for the
     * next progress call. A write never disconnects another peer that is dirty:
     * that one would be removed from the other list. */
    TAILQ_CONCAT(&dirty, &transport->dirty, dirty_link);
    struct peer *peer;
    while ((peer = TAILQ_FIRST(&dirty))) {
        TAILQ_REMOVE(&dirty, peer, dirty_link);
        peer->send.is_dirty = false;
        has_moved |= peer_write(peer);
    }
    return has_moved;
}

/* Returns whether anything moved. */
static bool
read_peer(struct peer *peer)
{
    return peer->segment ? peer_shm_read(peer) : peer_read(peer);
}

/* Wait for sockets, and count the time. */
static size_t
sleep_until_ready(struct transport *transport,
                  struct poller_event *events,
                  int timeout_ms)
{
    const uint64_t began_ns = clock_now_ns();
    const size_t n_events =
        poller_wait(transport->poller, events, EVENTS_MAX, timeout_ms);

    counter_add(&transport->counters.slept_ns, clock_now_ns() - began_ns);
    return n_events;
}

static bool
poll_sockets(struct transport *transport, int timeout_ms)
{
    struct poller_event events[EVENTS_MAX];
    bool has_moved = false;
    const size_t n_events =
        timeout_ms != 0 ? sleep_until_ready(transport, events, timeout_ms)
                        : poller_wait(transport->poller, events, EVENTS_MAX, 0);

    if (transport->is_sleep_wakeup_armed)
        shm_peers_stop_sleeping(transport);

    for (size_t i = 0; i < n_events; i++) {
        struct peer *peer = events[i].owner;

        if (events[i].can_write && peer->send.is_blocked) {
            peer_unblock(peer);
            has_moved |= peer_write(peer);
        }
        if (events[i].can_read && peer->segment)
            peer_shm_drain_wakeups(peer);
        if (!events[i].can_read)
            continue;
        if (peer->fd >= 0 && read_peer(peer))
            has_moved = true;
        else
            striping_check_broken(peer);
    }
    return has_moved;
}

bool
transport_is_in_progress(const struct transport *transport)
{
    return transport->in_progress_call;
}

bool
transport_needs_progress(const struct transport *transport)
{
    return !TAILQ_EMPTY(&transport->dirty) || transport->n_blocked > 0 ||
           transport->frames_ahead;
}

bool
transport_flush(struct transport *transport)
{
    const bool was_in_progress_call = transport->in_progress_call;

    transport->in_progress_call = true;
    write_dirty_peers(transport);
    transport->in_progress_call = was_in_progress_call;
    return transport_needs_progress(transport);
}

bool
transport_progress(struct transport *transport, int timeout_ms)
{
    const bool was_in_progress_call = transport->in_progress_call;

    transport->in_progress_call = true;
    bool has_moved = take_what_is_here(transport);

    has_moved |= write_dirty_peers(transport);
    has_moved |= shm_peers_progress(transport);
    if (has_moved || !TAILQ_EMPTY(&transport->dirty))
        timeout_ms = 0;
    if (timeout_ms != 0 && !shm_peers_prepare_sleep(transport))
        timeout_ms = 0;
    has_moved |= poll_sockets(transport, timeout_ms);
    transport->in_progress_call = was_in_progress_call;
    return has_moved;
}

bool
transport_prepare_sleep(struct transport *transport)
{
    return shm_peers_prepare_sleep(transport);
}

/* The peer that has been expected for longest is mostly the one that is waited
 * for. Its socket is read each time; those of the others take turns. */
static bool
read_expected_peers(struct peer_list *list)
{
    unsigned n_asked = 0;
    struct peer *next;

    for (struct peer *peer = TAILQ_FIRST(list); peer; peer = next) {
        next = TAILQ_NEXT(peer, expected_link);
        /* Callbacks of the read may change the list. */
        if (read_peer(peer))
            return true;
        if (peer->segment || ++n_asked < SPIN_SOCKET_READS_MAX)
            continue;
        /* The end of an empty frame in shared memory may have moved the peer
         * to another list. */
        if (peer->expected_list == list) {
            TAILQ_REMOVE(list, peer, expected_link);
            TAILQ_INSERT_TAIL(list, peer, expected_link);
        }
        return false;
    }
    return false;
}

bool
transport_spin_once(struct transport *transport)
{
    const bool was_in_progress_call = transport->in_progress_call;

    transport->in_progress_call = true;
    bool has_moved = take_what_is_here(transport);

    has_moved |= write_dirty_peers(transport);
    /* A ring that was full is written here as soon as it has room. A socket
     * that was full is left to transport_progress(), because only epoll says
     * when it has room, and the caller asks it every few turns. */
    if (!TAILQ_EMPTY(&transport->shm_peers))
        has_moved |= transport->n_posted_any_source > 0
                         ? shm_peers_progress(transport)
                         : shm_peers_write(transport);
    /* Read at once even if something was written: the answer may already be
     * here. */
    if (!has_moved || TAILQ_EMPTY(&transport->dirty))
        has_moved |= read_expected_peers(TAILQ_EMPTY(&transport->expected)
                                             ? &transport->expected_later_peers
                                             : &transport->expected);
    transport->in_progress_call = was_in_progress_call;
    return has_moved;
}
