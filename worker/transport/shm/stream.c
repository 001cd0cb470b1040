/*
 * transport/shm/stream.c - the stream of frames through shared memory
 *
 * The frames are the same as over a socket, so what cuts and takes them is the
 * same. The TCP connection stays: one byte over it wakes a sleeping peer, and
 * its end tells of the peer's end. A goodbye is answered in the ring, so the
 * connection can carry wake-ups to the last; it is closed when both sides have
 * ended.
 */

#include <errno.h>
#include <sys/socket.h>

#include "fault/fault.h"
#include "transport/peer.h"

/* Send one byte. This fails only if the peer is gone, or already has bytes
 * that wake it. */
static void
peer_send_shm_wakeup(const struct peer *peer)
{
    static const uint8_t wakeup_byte = 1;

    (void)!send(peer->fd, &wakeup_byte, sizeof(wakeup_byte),
                MSG_NOSIGNAL | MSG_DONTWAIT);
}

ssize_t
peer_shm_send(struct peer *peer, const struct iovec *spans, size_t n_spans)
{
    struct ring_writer *ring = &peer->segment->out;
    const size_t n_bytes = ring_write(ring, spans, n_spans);

    if (ring->is_broken) {
        errno = EPROTO;
        return -1;
    }
    if (n_bytes == 0) {
        errno = EAGAIN;
        return -1;
    }
    if (ring_must_wake_reader(ring))
        peer_send_shm_wakeup(peer);
    return (ssize_t)n_bytes;
}

void
peer_shm_shutdown(struct peer *peer)
{
    struct ring_writer *ring = &peer->segment->out;

    ring_mark_end(ring);
    if (ring_must_wake_reader(ring))
        peer_send_shm_wakeup(peer);
}

void
peer_shm_release_read_bytes(struct peer *peer)
{
    struct ring_reader *ring = &peer->segment->in;

    ring_release(ring);
    if (ring_must_wake_writer(ring))
        peer_send_shm_wakeup(peer);
}

static bool
can_sleep(struct peer *peer)
{
    struct segment *segment = peer->segment;

    if (FAULT_IS_BUILT && peer->is_unplugged)
        return true;
    if (peer->receive.state != RECEIVE_ENDED &&
        !ring_reader_prepare_sleep(&segment->in))
        return false;
    return !peer->send.is_blocked || ring_writer_prepare_sleep(&segment->out);
}

bool
shm_peers_prepare_sleep(struct transport *transport)
{
    struct peer *peer;

    TAILQ_FOREACH(peer, &transport->shm_peers, shm_link)
    {
        transport->is_sleep_wakeup_armed = true;
        if (!can_sleep(peer))
            return false;
    }
    return true;
}

void
shm_peers_stop_sleeping(struct transport *transport)
{
    struct peer *peer;

    transport->is_sleep_wakeup_armed = false;
    TAILQ_FOREACH(peer, &transport->shm_peers, shm_link)
    {
        ring_reader_clear_sleeping(&peer->segment->in);
        ring_writer_clear_sleeping(&peer->segment->out);
    }
}
