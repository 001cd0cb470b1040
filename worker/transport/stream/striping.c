/*
 * transport/stream/striping.c - a peer's frames over several connections
 *
 * Both sides begin with one connection. The lower rank decides how many there
 * will be. It asks for the connections (transport/connect/connector.h), and
 * once all are here it sends a STRIPED frame, the last frame of its direction
 * that does not go through the stream group. The other side answers with its
 * own STRIPED frame. If HOOP_STREAMS leaves the number open,
 * transport/stream/stream_group.h decides it.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "fault/fault.h"
#include "net/socket.h"
#include "transport/peer.h"
#include "transport/stream/stream_group.h"

static struct poller_interest
peer_stream_poll_interest(const struct peer *peer, unsigned stream)
{
    const struct stream_group *stream_group = peer->striping.group;
    const unsigned awaited = stream_group && stream_group->is_receiving
                                 ? stream_group_next_read(stream_group)
                                 : 0;
    const bool is_blocked = striping_is_sending(peer)
                                ? stream_group->blocked & 1u << stream
                                : stream == 0;

    return (struct poller_interest){
        .reads = peer->receive.state != RECEIVE_ENDED && stream == awaited,
        .writes = peer->send.is_write_watched && is_blocked,
    };
}

static uint8_t
poller_interest_to_bits(struct poller_interest interest)
{
    return (uint8_t)((interest.reads ? 1u : 0) | (interest.writes ? 2u : 0));
}

/* The first connection is watched already, or will be when it comes. */
static struct stream_group *
stream_group_ensure(struct peer *peer)
{
    if (peer->striping.group)
        return peer->striping.group;
    const uint8_t watched =
        poller_interest_to_bits(peer_stream_poll_interest(peer, 0));

    peer->striping.group = stream_group_create();
    if (peer->striping.group)
        peer->striping.group->watched[0] = watched;
    return peer->striping.group;
}

static void
stream_group_set_first_fd(struct peer *peer)
{
    peer->striping.group->fds[0] = peer->fd;
    peer->striping.group->tls[0] = peer->tls;
}

/* Returns whether there is a connection that can be striped: not over shared
 * memory, nor of a rank to itself. */
static bool
can_stripe(const struct peer *peer)
{
    return peer_is_connected(peer) && !peer->segment;
}

static bool
is_striping_leader(const struct peer *peer)
{
    return peer->transport->roster->rank < peer->rank;
}

/* Send a STRIPED frame as soon as all streams that it announces are here. */
static void
striping_announce(struct peer *peer)
{
    const struct frame frame = {.kind = FRAME_STRIPED,
                                .epoch = peer->transport->roster->epoch,
                                .total = peer->striping.n_wanted};

    if (!can_stripe(peer) ||
        peer->striping.n_wanted == peer->striping.n_announced ||
        !stream_group_ensure(peer) ||
        !stream_group_is_complete(peer->striping.group,
                                  peer->striping.n_wanted))
        return;
    peer->striping.n_announced = peer->striping.n_wanted;
    log_debug("peer", "rank %u: %u streams", peer->rank,
              peer->striping.n_wanted);
    peer_queue_control(peer, &frame, NULL);
    if (is_striping_leader(peer))
        stream_autotune_begin(&peer->striping.autotune,
                              peer->striping.n_wanted);
}

static void
striping_set_streams(struct peer *peer, unsigned n_streams)
{
    const struct transport *transport = peer->transport;

    peer->striping.n_wanted = n_streams;
    for (unsigned i = 1; i <= n_streams; i++) {
        if (!peer->striping.group || peer->striping.group->fds[i] < 0)
            transport->events->on_connection_needed(transport->owner,
                                                    peer->rank, i);
    }
    striping_announce(peer);
}

void
striping_on_connected(struct peer *peer)
{
    const unsigned n_streams = peer->transport->config->n_streams;

    if (peer->striping.group)
        stream_group_set_first_fd(peer);
    /* Within one machine a single thread copies everything, however many
     * connections there are. */
    peer->striping.autotune.is_settled =
        n_streams > 0 || peer->segment || !is_striping_leader(peer) ||
        roster_is_local(peer->transport->roster, peer->rank);
    stream_autotune_begin(&peer->striping.autotune, 1);
    if (n_streams > 1 && is_striping_leader(peer) && can_stripe(peer))
        striping_set_streams(peer, n_streams);
    else
        striping_announce(peer);
}

void
striping_autotune_measure(struct peer *peer, size_t n_bytes)
{
    if (!can_stripe(peer))
        return;
    const unsigned n_streams = stream_autotune_record_bytes(
        &peer->striping.autotune, n_bytes, clock_now_ns);
    if (n_streams != peer->striping.autotune.n_streams &&
        n_streams != peer->striping.n_wanted)
        striping_set_streams(peer, n_streams);
}

void
striping_on_packetized(struct peer *peer, const struct frame *frame)
{
    peer->striping.group->n_streams = (unsigned)frame->total;
}

bool
striping_must_hold_sends(struct peer *peer)
{
    struct stream_group *group = peer->striping.group;

    if (!group || group->n_streams == 0 || group->is_sending)
        return false;
    if (peer->send.n_frames > 0)
        return true;
    stream_group_set_first_fd(peer);
    group->is_sending = true;
    return false;
}

void
striping_on_announcement(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    const uint64_t n_streams = receive->frame.total;

    if (peer->segment || n_streams < 1 || n_streams > LIMIT_STREAMS) {
        peer_lose(peer, "it wants streams that there cannot be");
        return;
    }
    if (!stream_group_ensure(peer)) {
        peer_lose_no_memory(peer, "no memory for several streams");
        return;
    }
    stream_group_set_first_fd(peer);
    if (!peer->striping.group->is_receiving) {
        stream_group_start_receiving(peer->striping.group,
                                     receive->ahead + receive->ahead_first,
                                     receive->ahead_end - receive->ahead_first);
        receive->ahead_first = receive->ahead_end;
    }
    if (is_striping_leader(peer))
        return;
    peer->striping.n_wanted = (unsigned)n_streams;
    striping_announce(peer);
}

ssize_t
striping_read(struct peer *peer, const struct iovec spans[2])
{
    const unsigned first = spans[0].iov_len > 0 ? 0 : 1;
    ssize_t n_read;

    if (FAULT_IS_BUILT && peer->is_unplugged) {
        errno = EAGAIN;
        return -1;
    }
    if (striping_is_receiving(peer))
        return stream_group_receive(peer->striping.group, spans + first,
                                    2 - first);
    if (peer->tls)
        return tls_receive(peer->tls, spans + first, 2 - first);
    do {
        n_read = first == 0
                     ? readv(peer->fd, spans, 2)
                     : recv(peer->fd, spans[1].iov_base, spans[1].iov_len, 0);
    } while (n_read < 0 && errno == EINTR);
    return n_read;
}

/* The first connection leaves the poller while nothing is wanted of it: both
 * sides may have shut it down while another still carries something, which
 * epoll would report endlessly. The poller always reports that one of the
 * others has broken. */
static bool
peer_watch_stream(struct peer *peer, unsigned stream)
{
    struct poller *poller = peer->transport->poller;
    const int fd = peer->striping.group->fds[stream];
    const struct poller_interest interest =
        peer_stream_poll_interest(peer, stream);
    const uint8_t bits = poller_interest_to_bits(interest);
    const uint8_t known = peer->striping.group->watched[stream];

    if (known == bits)
        return true;
    peer->striping.group->watched[stream] = bits;
    if (stream > 0 || (known > 0 && bits > 0))
        return poller_change(poller, fd, interest, peer) == HOOP_OK;
    if (bits > 0)
        return poller_add(poller, fd, interest, peer) == HOOP_OK;
    poller_remove(poller, fd);
    return true;
}

bool
striping_update_watch(struct peer *peer)
{
    if (!peer->striping.group)
        return poller_change(peer->transport->poller, peer->fd,
                             peer_stream_poll_interest(peer, 0),
                             peer) == HOOP_OK;
    stream_group_set_first_fd(peer);
    for (unsigned i = 0; i < STREAM_GROUP_N_FDS; i++) {
        if (peer->striping.group->fds[i] >= 0 && !peer_watch_stream(peer, i))
            return false;
    }
    return true;
}

/* The peer has not been told that bytes may come over these streams, so the
 * others suffice. */
static void
peer_close_broken_streams(struct peer *peer, uint32_t breaks)
{
    for (unsigned i = 1; i < STREAM_GROUP_N_FDS; i++) {
        if (!(breaks & 1u << i))
            continue;
        log_debug("peer", "rank %u: stream %u has broken", peer->rank, i);
        poller_remove(peer->transport->poller, peer->striping.group->fds[i]);
        stream_group_close_stream(peer->striping.group, i);
    }
}

void
striping_check_broken(struct peer *peer)
{
    const uint32_t breaks = peer->striping.group
                                ? stream_group_find_broken(peer->striping.group)
                                : 0;

    if (breaks == 0)
        return;
    if (!striping_is_receiving(peer) && peer->striping.n_announced == 0)
        peer_close_broken_streams(peer, breaks);
    else if (!peer_is_connected(peer))
        peer_close_departed(peer);
    else
        peer_lose(peer, "one of its connections has broken");
}

static void
close_refused_connection(int fd, struct tls *tls)
{
    tls_destroy(tls);
    socket_close(fd);
}

void
striping_attach_stream(struct peer *peer,
                       unsigned stream,
                       int fd,
                       struct tls *tls)
{
    struct poller *poller = peer->transport->poller;
    const struct poller_interest nothing = {0};

    if (peer->receive.state > RECEIVE_OPEN || peer->segment ||
        !stream_group_ensure(peer) ||
        !stream_group_add_tls(peer->striping.group, stream, fd, tls)) {
        close_refused_connection(fd, tls);
        return;
    }
    if (poller_add(poller, fd, nothing, peer) != HOOP_OK ||
        (peer->fd >= 0 && !striping_update_watch(peer))) {
        peer_lose_unwatched(peer);
        return;
    }
    striping_announce(peer);
}

void
transport_attach_stream(struct transport *transport,
                        uint32_t rank,
                        unsigned stream,
                        int fd)
{
    striping_attach_stream(peer_get_or_init(transport, rank), stream, fd, NULL);
}
