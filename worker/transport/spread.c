/*
 * transport/spread.c - a peer's frames over several connections
 *
 * Both sides begin with one. The lower rank says how many there are to be: it
 * asks for the connections (transport/connector.h), and once all are here it
 * sends SPREAD, the last frame of its direction that is not in a bundle; the
 * other side answers with its own. Where auto chooses, transport/pace.h does.
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
#include "transport/pace.h"
#include "transport/peer.h"

static struct poller_interest
interest_of(const struct peer *peer, unsigned stream)
{
    const struct bundle *bundle = peer->bundle;
    const unsigned awaited =
        bundle && bundle->is_receiving ? bundle_awaited(bundle) : 0;
    const bool is_blocked =
        spread_is_written(peer) ? bundle->blocked & 1u << stream : stream == 0;

    return (struct poller_interest){
        .reads = !peer->has_ended && stream == awaited,
        .writes = peer->is_watched && is_blocked,
    };
}

static uint8_t
bits_of(struct poller_interest interest)
{
    return (uint8_t)((interest.reads ? 1u : 0) | (interest.writes ? 2u : 0));
}

/* The first connection is watched already, or will be when it comes. */
static struct bundle *
bundle_of(struct peer *peer)
{
    if (peer->bundle)
        return peer->bundle;
    const uint8_t watched = bits_of(interest_of(peer, 0));

    peer->bundle = bundle_create();
    if (peer->bundle)
        peer->bundle->watched[0] = watched;
    return peer->bundle;
}

static void
first_take(struct peer *peer)
{
    peer->bundle->fds[0] = peer->fd;
    peer->bundle->tls[0] = peer->tls;
}

/* Over shared memory there is nothing to spread, nor to oneself. */
static bool
may_spread(const struct peer *peer)
{
    return peer->state == PEER_READY && !peer->segment;
}

static bool
leads(const struct peer *peer)
{
    return peer->transport->roster->rank < peer->rank;
}

/* SPREAD, as soon as it is true. */
static void
spread_say(struct peer *peer)
{
    const struct frame frame = {.kind = FRAME_SPREAD,
                                .epoch = peer->transport->roster->epoch,
                                .total = peer->n_streams_wanted};

    if (!may_spread(peer) || peer->n_streams_wanted == peer->n_streams_said ||
        !bundle_of(peer) || !bundle_has(peer->bundle, peer->n_streams_wanted))
        return;
    peer->n_streams_said = peer->n_streams_wanted;
    log_debug("peer", "rank %u: %u streams", peer->rank,
              peer->n_streams_wanted);
    peer_control(peer, &frame, NULL);
    if (leads(peer))
        pace_begin(&peer->pace, peer->n_streams_wanted);
}

static void
spread_want(struct peer *peer, unsigned n_streams)
{
    const struct transport *transport = peer->transport;

    peer->n_streams_wanted = n_streams;
    for (unsigned i = 1; i <= n_streams; i++) {
        if (transport->events->on_stream_needed &&
            (!peer->bundle || peer->bundle->fds[i] < 0))
            transport->events->on_stream_needed(transport->owner, peer->rank,
                                                i);
    }
    spread_say(peer);
}

void
spread_connected(struct peer *peer)
{
    const unsigned n_streams = peer->transport->n_streams;

    if (peer->bundle)
        first_take(peer);
    /* One thread copies what stays on a machine, however many connections
     * there are. */
    peer->pace.is_settled =
        n_streams > 0 || peer->segment || !leads(peer) ||
        roster_is_local(peer->transport->roster, peer->rank);
    pace_begin(&peer->pace, 1);
    if (n_streams > 1 && leads(peer) && may_spread(peer))
        spread_want(peer, n_streams);
    else
        spread_say(peer);
}

void
spread_measure(struct peer *peer, size_t n_bytes)
{
    if (peer->pace.is_settled || !may_spread(peer))
        return;
    const unsigned n_streams = pace_moved(&peer->pace, n_bytes, clock_now_ns);
    if (n_streams != peer->pace.n_streams &&
        n_streams != peer->n_streams_wanted)
        spread_want(peer, n_streams);
}

void
spread_cut(struct peer *peer, const struct frame *frame)
{
    struct bundle *bundle = peer->bundle;

    bundle->n_streams = (unsigned)frame->total;
    peer->is_spreading = !bundle->is_sending;
}

bool
spread_holds(struct peer *peer)
{
    if (!peer->is_spreading)
        return false;
    if (peer->n_frames > 0)
        return true;
    peer->is_spreading = false;
    first_take(peer);
    peer->bundle->is_sending = true;
    return false;
}

void
spread_came(struct peer *peer)
{
    const uint64_t n_streams = peer->frame.total;

    if (peer->segment || n_streams < 1 || n_streams > LIMIT_STREAMS) {
        peer_lose(peer, "it wants streams that there cannot be");
        return;
    }
    if (!bundle_of(peer)) {
        peer_lose(peer, "no memory for several streams");
        return;
    }
    first_take(peer);
    if (!peer->bundle->is_receiving) {
        bundle_receive_first(peer->bundle, peer->inbound + peer->inbound_first,
                             peer->inbound_end - peer->inbound_first);
        peer->inbound_first = peer->inbound_end;
    }
    if (leads(peer))
        return;
    peer->n_streams_wanted = (unsigned)n_streams;
    spread_say(peer);
}

ssize_t
spread_read(struct peer *peer, const struct iovec spans[2])
{
    const unsigned first = spans[0].iov_len > 0 ? 0 : 1;
    ssize_t n_read;

    if (FAULT_IS_BUILT && peer->is_unplugged) {
        errno = EAGAIN;
        return -1;
    }
    if (spread_is_read(peer))
        return bundle_receive(peer->bundle, spans + first, 2 - first);
    if (peer->tls)
        return tls_receive(peer->tls, spans + first, 2 - first);
    do {
        n_read = first == 0
                     ? readv(peer->fd, spans, 2)
                     : recv(peer->fd, spans[1].iov_base, spans[1].iov_len, 0);
    } while (n_read < 0 && errno == EINTR);
    return n_read;
}

bool
spread_is_read(const struct peer *peer)
{
    return peer->bundle && peer->bundle->is_receiving;
}

bool
spread_is_ready(const struct peer *peer)
{
    if (spread_is_read(peer))
        return bundle_is_ready(peer->bundle);
    return peer->tls && tls_is_ready(peer->tls);
}

bool
spread_is_written(const struct peer *peer)
{
    return peer->bundle && peer->bundle->is_sending;
}

bool
spread_owes(const struct peer *peer)
{
    if (spread_is_written(peer))
        return bundle_owes(peer->bundle);
    return peer->tls && tls_owes(peer->tls);
}

/* The first, when nothing is wanted of it, is let go: both sides may have shut
 * it while another still carries something, which epoll would tell of without
 * end. A break of the others is always heard. */
static bool
watch_one(struct peer *peer, unsigned stream)
{
    struct poller *poller = peer->transport->poller;
    const int fd = peer->bundle->fds[stream];
    const struct poller_interest interest = interest_of(peer, stream);
    const uint8_t bits = bits_of(interest);
    const uint8_t known = peer->bundle->watched[stream];

    if (known == bits)
        return true;
    peer->bundle->watched[stream] = bits;
    if (stream > 0 || (known > 0 && bits > 0))
        return poller_change(poller, fd, interest, peer) == HOOP_OK;
    if (bits > 0)
        return poller_add(poller, fd, interest, peer) == HOOP_OK;
    poller_remove(poller, fd);
    return true;
}

bool
spread_watch(struct peer *peer)
{
    if (!peer->bundle)
        return poller_change(peer->transport->poller, peer->fd,
                             interest_of(peer, 0), peer) == HOOP_OK;
    first_take(peer);
    for (unsigned i = 0; i < BUNDLE_FDS; i++) {
        if (peer->bundle->fds[i] >= 0 && !watch_one(peer, i))
            return false;
    }
    return true;
}

/* Nobody has been told that bytes may come over it: it works with those that
 * there are. */
static void
streams_drop(struct peer *peer, uint32_t breaks)
{
    for (unsigned i = 1; i < BUNDLE_FDS; i++) {
        if (!(breaks & 1u << i))
            continue;
        log_debug("peer", "rank %u: stream %u has broken", peer->rank, i);
        poller_remove(peer->transport->poller, peer->bundle->fds[i]);
        bundle_drop(peer->bundle, i);
    }
}

void
spread_heard(struct peer *peer)
{
    const uint32_t breaks = peer->bundle ? bundle_breaks(peer->bundle) : 0;

    if (breaks == 0)
        return;
    if (!spread_is_read(peer) && peer->n_streams_said == 0)
        streams_drop(peer, breaks);
    else if (peer->has_left)
        peer_end(peer);
    else
        peer_lose(peer, "one of its connections has broken");
}

void
spread_close(struct peer *peer)
{
    if (!peer->bundle)
        return;
    for (unsigned i = 1; i < BUNDLE_FDS; i++) {
        if (peer->bundle->fds[i] >= 0)
            poller_remove(peer->transport->poller, peer->bundle->fds[i]);
    }
    bundle_destroy(peer->bundle);
    peer->bundle = NULL;
}

static void
connection_refuse(int fd, struct tls *tls)
{
    tls_destroy(tls);
    socket_close(fd);
}

static void
stream_take(struct peer *peer, unsigned stream, int fd, struct tls *tls)
{
    struct poller *poller = peer->transport->poller;
    const struct poller_interest nothing = {0};

    if (peer->state > PEER_READY || peer->segment || !bundle_of(peer) ||
        !bundle_add_tls(peer->bundle, stream, fd, tls)) {
        connection_refuse(fd, tls);
        return;
    }
    if (poller_add(poller, fd, nothing, peer) != HOOP_OK ||
        (peer->fd >= 0 && !spread_watch(peer))) {
        peer_lose(peer, error_text());
        return;
    }
    spread_say(peer);
}

void
transport_stream(struct transport *transport,
                 uint32_t rank,
                 unsigned stream,
                 int fd)
{
    stream_take(peer_at(transport, rank), stream, fd, NULL);
}

void
transport_encrypted(struct transport *transport,
                    uint32_t rank,
                    unsigned stream,
                    int fd,
                    struct tls *tls)
{
    struct peer *peer = peer_at(transport, rank);

    if (stream > 0) {
        stream_take(peer, stream, fd, tls);
        return;
    }
    if (peer->state != PEER_NEW && peer->state != PEER_CONNECTING) {
        connection_refuse(fd, tls);
        return;
    }
    peer->tls = tls;
    transport_connected(transport, rank, fd);
}
