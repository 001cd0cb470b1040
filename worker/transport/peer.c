/* transport/peer.c - one peer: its states, its lists, and how its path is */

#include "transport/peer.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "net/socket.h"

enum {
    SENT_REPORT_CHUNK = 64 * 1024,
};

void
peer_set_send_state(struct peer *peer, enum send_state next)
{
    peer->send.state = (enum send_state)state_transition(
        send_state_table, "peer", peer->send.state, next);
}

void
peer_set_receive_state(struct peer *peer, enum receive_state next)
{
    peer->receive.state = (enum receive_state)state_transition(
        receive_state_table, "peer", peer->receive.state, next);
}

struct peer *
peer_init(struct transport *transport, uint32_t rank)
{
    struct peer *peer = &transport->peers[rank];

    peer->transport = transport;
    peer->rank = rank;
    peer->fd = -1;
    peer->send.credit = transport->window;
    TAILQ_INIT(&peer->send.requests);
    TAILQ_INIT(&peer->send.rendezvous_pending);
    TAILQ_INIT(&peer->send.unconfirmed);
    TAILQ_INIT(&peer->send.controls);
    TAILQ_INIT(&peer->send.early_grants);
    TAILQ_INIT(&peer->receive.requests);
    TAILQ_INIT(&peer->receive.unexpected_messages);
    TAILQ_INSERT_TAIL(&transport->known, peer, known_link);
    return peer;
}

/* Looking at shared memory costs next to nothing. A socket that may be silent
 * for long is read only while no other socket is expected to have something. */
static struct peer_list *
peer_choose_poll_list(const struct peer *peer)
{
    struct transport *transport = peer->transport;

    if (peer->fd < 0 || !peer_is_connected(peer))
        return NULL;
    if (!TAILQ_EMPTY(&peer->receive.requests))
        return &transport->expected;
    if (peer->receive.n_posted == 0 && TAILQ_EMPTY(&peer->send.unconfirmed))
        return NULL;
    return peer->segment ? &transport->expected
                         : &transport->expected_later_peers;
}

static void
peer_set_expected_list(struct peer *peer, struct peer_list *list)
{
    if (list == peer->expected_list)
        return;
    if (peer->expected_list)
        TAILQ_REMOVE(peer->expected_list, peer, expected_link);
    if (list)
        TAILQ_INSERT_TAIL(list, peer, expected_link);
    peer->expected_list = list;
}

void
peer_mark_dirty(struct peer *peer)
{
    if (peer->send.is_dirty || peer->send.is_blocked || peer->fd < 0)
        return;
    peer->send.is_dirty = true;
    TAILQ_INSERT_TAIL(&peer->transport->dirty, peer, dirty_link);
}

void
peer_block(struct peer *peer)
{
    if (!peer->send.is_blocked)
        peer->transport->n_blocked++;
    peer->send.is_blocked = true;
}

void
peer_unblock(struct peer *peer)
{
    if (peer->send.is_blocked)
        peer->transport->n_blocked--;
    peer->send.is_blocked = false;
}

void
peer_update_expected(struct peer *peer)
{
    peer_set_expected_list(peer, peer_choose_poll_list(peer));
}

void
peer_defer_failure(struct peer *peer,
                   enum transport_peer_event cause,
                   const char *why)
{
    /* The first failure is the cause; and who has no connection has none to
     * lose. */
    if (peer->failure.why || peer->fd < 0)
        return;
    peer->failure = (struct deferred_failure){.why = why, .cause = cause};
    peer_unblock(peer);
    peer_mark_dirty(peer);
}

/* Returns the bytes that the sockets still hold; 0 if they do not tell. */
static uint64_t
socket_queued_bytes(const struct peer *peer)
{
    uint64_t n_bytes = 0;

    for (unsigned i = 0; i < STREAM_GROUP_N_FDS; i++) {
        const int other =
            peer->striping.group ? peer->striping.group->fds[i] : -1;
        const int fd = i == 0 ? peer->fd : other;
        int n_here = 0;

        if (fd >= 0 && ioctl(fd, SIOCOUTQ, &n_here) == 0 && n_here > 0)
            n_bytes += (uint64_t)n_here;
    }
    return n_bytes;
}

uint64_t
peer_sent_bytes(const struct peer *peer, uint64_t *out_n_queued)
{
    const uint64_t n_queued = socket_queued_bytes(peer);

    *out_n_queued =
        n_queued < peer->send.n_written ? n_queued : peer->send.n_written;
    return peer->send.n_written - *out_n_queued;
}

/* A question to a peer waits behind what is under way to it, for seconds on a
 * slow link. As long as the other side takes that, it is not silent. Only data
 * count, in large pieces: the kernel of a stopped process takes questions, too,
 * for as long as they are asked, and some data. What has been counted stays,
 * though questions that the other side has not taken are subtracted. */
uint64_t
transport_activity_count(struct transport *transport, uint32_t rank)
{
    struct peer *peer = &transport->peers[rank];
    uint64_t n_queued;

    if (peer->segment || peer->fd < 0)
        return peer->receive.n_reads;
    const uint64_t n_sent = peer_sent_bytes(peer, &n_queued);
    const uint64_t n_control = peer->send.n_control_written;
    const uint64_t n_pieces =
        n_sent > n_control ? (n_sent - n_control) / SENT_REPORT_CHUNK : 0;

    if (n_pieces > peer->send.n_data_pieces)
        peer->send.n_data_pieces = n_pieces;
    return peer->receive.n_reads + peer->send.n_data_pieces;
}

/* Only a backlog of at least so many bytes tells something of a link. */
enum {
    BACKLOG_BYTES_MIN = 32 * 1024,
};

uint64_t
transport_backlog_ms(const struct transport *transport, uint32_t rank)
{
    const struct peer *peer = &transport->peers[rank];
    const uint64_t n_bytes =
        peer->segment || peer->fd < 0 ? 0 : socket_queued_bytes(peer);
    struct path_sample sample;

    if (n_bytes < BACKLOG_BYTES_MIN || !path_sample_read(peer->fd, &sample) ||
        sample.delivery_rate == 0)
        return 0;
    return n_bytes * 1000 / sample.delivery_rate;
}

uint64_t
transport_read_count(const struct transport *transport, uint32_t rank)
{
    return transport->peers[rank].receive.n_reads;
}

/* Returns the current state of the path to rank, or NULL if there is no TCP
 * connection. */
static const struct path *
peer_sample_tcp_path(struct transport *transport,
                     uint32_t rank,
                     uint64_t now_ns)
{
    struct peer *peer = peer_get_or_init(transport, rank);
    struct path_sample sample;

    if (peer->segment || peer->fd < 0)
        return NULL;
    if (now_ns - peer->path.last_ns >= PATH_PERIOD_NS &&
        path_sample_read(peer->fd, &sample))
        path_add_sample(&peer->path, &sample, now_ns);
    return &peer->path;
}

uint64_t
transport_path_silence_ns(struct transport *transport,
                          uint32_t rank,
                          uint64_t now_ns)
{
    const struct path *path = peer_sample_tcp_path(transport, rank, now_ns);

    return path ? path_max_silence_ns(path) : 0;
}

bool
transport_is_path_lossy(struct transport *transport,
                        uint32_t rank,
                        uint64_t now_ns)
{
    const struct path *path = peer_sample_tcp_path(transport, rank, now_ns);

    return path && path_has_loss(path);
}

uint64_t
transport_unanswered_ms(struct transport *transport,
                        uint32_t rank,
                        uint64_t now_ns)
{
    const struct path *path = peer_sample_tcp_path(transport, rank, now_ns);

    return path && path->heard_ns > 0 && path->last.n_resends_now > 0
               ? (now_ns - path->heard_ns) / CLOCK_NS_PER_MS
               : TRANSPORT_SILENCE_UNKNOWN;
}

uint32_t
transport_round_trip_ms(const struct transport *transport, uint32_t rank)
{
    const struct peer *peer = &transport->peers[rank];
    struct path_sample sample;

    if (!peer_is_connected(peer) || !path_sample_read(peer->fd, &sample))
        return 0;
    return path_round_trip_ms_max(&sample);
}

bool
transport_is_disconnected(const struct transport *transport, uint32_t rank)
{
    const struct peer *peer = &transport->peers[rank];

    return peer->receive.state >= RECEIVE_GOODBYE && peer->fd < 0;
}

bool
transport_is_connected(const struct transport *transport, uint32_t rank)
{
    return peer_is_connected(&transport->peers[rank]);
}

bool
transport_has_ring(const struct transport *transport, uint32_t rank)
{
    return transport->peers[rank].segment != NULL;
}
