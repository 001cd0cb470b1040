/*
 * transport/progress.c - one progress call over all peers
 *
 * A progress call drains unexpected messages, writes what is queued and reads
 * what came. Its callbacks must not begin another progress call: a peer that
 * is lost there would have its memory freed while it is being read.
 */

#include "transport/match.h"
#include "transport/peer.h"

enum {
    EVENTS_MAX = 64,
    /* Empty sockets that one transport_spin_once() reads. */
    SPIN_READS_MAX = 2,
};

static bool
drain_unexpected(struct transport *transport)
{
    bool has_moved = loopback_progress(transport);
    struct recv_request *flow;

    while ((flow = TAILQ_FIRST(&transport->drains))) {
        TAILQ_REMOVE(&transport->drains, flow, drain_link);
        flow->is_draining = false;
        match_drain_unexpected(transport, flow);
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
     * next progress call. */
    TAILQ_CONCAT(&dirty, &transport->dirty, dirty_link);
    struct peer *peer;
    while ((peer = TAILQ_FIRST(&dirty))) {
        TAILQ_REMOVE(&dirty, peer, dirty_link);
        peer->is_dirty = false;
        has_moved |= peer_write(peer);
    }
    return has_moved;
}

static bool
poll_sockets(struct transport *transport, int timeout_ms)
{
    struct poller_event events[EVENTS_MAX];
    bool has_moved = false;
    const size_t n_events =
        poller_wait(transport->poller, events, EVENTS_MAX, timeout_ms);

    if (transport->is_sleep_armed)
        shm_peers_stop_sleeping(transport);

    for (size_t i = 0; i < n_events; i++) {
        struct peer *peer = events[i].owner;

        if (events[i].can_write && peer->is_blocked) {
            peer->is_blocked = false;
            has_moved |= peer_write(peer);
        }
        if (events[i].can_read && peer->segment)
            peer_shm_drain_wakeups(peer);
        if (!events[i].can_read)
            continue;
        if (peer->fd >= 0 && peer_read(peer))
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
transport_flush(struct transport *transport)
{
    const bool was_in_progress_call = transport->in_progress_call;

    transport->in_progress_call = true;
    write_dirty_peers(transport);
    transport->in_progress_call = was_in_progress_call;
    return TAILQ_EMPTY(&transport->dirty);
}

bool
transport_progress(struct transport *transport, int timeout_ms)
{
    const bool was_in_progress_call = transport->in_progress_call;

    transport->in_progress_call = true;
    bool has_moved = drain_unexpected(transport);

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
        if (peer_read(peer))
            return true;
        if (peer->segment || ++n_asked < SPIN_READS_MAX)
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
    bool has_moved = drain_unexpected(transport);

    has_moved |= write_dirty_peers(transport);
    has_moved |= transport->n_posted_to_any > 0 ? shm_peers_progress(transport)
                                                : shm_peers_write(transport);
    /* Read at once even if something was written: the answer may already be
     * here. */
    if (!has_moved || TAILQ_EMPTY(&transport->dirty))
        has_moved |= read_expected_peers(TAILQ_EMPTY(&transport->expected)
                                             ? &transport->expected_later
                                             : &transport->expected);
    transport->in_progress_call = was_in_progress_call;
    return has_moved;
}
