/*
 * transport/shm/progress.c - reading from and writing to shared memory
 *
 * What must be combined is reported where it lies in the ring, without a copy.
 *
 * The other side may write anything at any time. Headers are copied before
 * they are looked at, and nothing in a payload is believed.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "fault/fault.h"
#include "transport/peer.h"
#include "transport/stream/payload.h"

enum {
    /* More wake-ups than can be waiting, since each follows a flag. */
    RINGS_MAX = 64,
};

/* Read one header, piece or padding. Returns whether there was one. */
static bool
ring_read_next_item(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    struct ring_reader *ring = &peer->segment->in;
    size_t n_ahead;
    const uint8_t *bytes = ring_peek(ring, &n_ahead);
    const size_t n_left = receive_payload_left(receive);
    const size_t n_padding = receive_padding(receive);

    if (!receive->is_reading_payload) {
        if (n_ahead < LIMIT_FRAME_HEADER)
            return false;
        memcpy(receive->ahead, bytes, LIMIT_FRAME_HEADER);
        ring_consume(ring, LIMIT_FRAME_HEADER);
        receive->ahead_first = 0;
        return peer_begin_frame(peer);
    }
    if (n_left > 0) {
        size_t n_bytes = n_left < n_ahead ? n_left : n_ahead;

        n_bytes = n_bytes < RING_PIECE_BYTES ? n_bytes : RING_PIECE_BYTES;
        n_bytes = n_bytes > 0 ? peer_payload_consume(peer, bytes, n_bytes) : 0;
        ring_consume(ring, n_bytes);
        return n_bytes > 0;
    }
    if (n_ahead < n_padding)
        return false;
    ring_consume(ring, n_padding);
    peer_end_frame(peer);
    return true;
}

/* Read at most about PEER_PROGRESS_BYTES. Returns how many bytes were read. */
static size_t
ring_read_available(struct peer *peer)
{
    struct ring_reader *ring = &peer->segment->in;
    const uint64_t first = ring->read;

    peer->receive.is_ring_in_use = true;
    while (peer->fd >= 0 && ring->read - first < PEER_PROGRESS_BYTES &&
           ring_read_next_item(peer))
        ;
    peer->receive.is_ring_in_use = false;
    return (size_t)(ring->read - first);
}

bool
peer_shm_read(struct peer *peer)
{
    struct ring_reader *ring = &peer->segment->in;

    if (peer->receive.state == RECEIVE_ENDED ||
        (FAULT_IS_BUILT && peer->is_unplugged))
        return false;
    /* This is asked first, so that nothing can follow what is read
     * afterwards. */
    const bool is_last =
        ring_has_ended(ring) || peer->send.state == SEND_BROKEN;
    const size_t n_read = ring_read_available(peer);

    if (n_read > 0) {
        peer->receive.n_reads++;
        peer->receive.last_shm_read_ns = clock_coarse_ns();
    }

    if (peer->fd < 0) {
        peer_disconnect(peer);
        return true;
    }
    peer_shm_release_read_bytes(peer);
    if (ring->is_broken)
        peer_lose(peer, "its shared memory is broken");
    else if (is_last && n_read < PEER_PROGRESS_BYTES)
        peer_on_stream_end(peer, 0);
    else
        return n_read > 0;
    return true;
}

void
peer_shm_drain_wakeups(struct peer *peer)
{
    uint8_t rings[RINGS_MAX];
    const ssize_t n = recv(peer->fd, rings, sizeof(rings), MSG_DONTWAIT);

    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    peer_on_send_broken(peer);
}

bool
shm_peers_write(struct transport *transport)
{
    bool has_moved = false;
    struct peer *next; /* a peer that is lost meanwhile stays in memory */

    if (transport->is_sleep_wakeup_armed)
        shm_peers_stop_sleeping(transport);
    for (struct peer *peer = TAILQ_FIRST(&transport->shm_peers); peer;
         peer = next) {
        next = TAILQ_NEXT(peer, shm_link);
        if (peer->fd < 0 || !peer->send.is_blocked ||
            !ring_has_room(&peer->segment->out))
            continue;
        peer_unblock(peer);
        has_moved |= peer_write(peer);
    }
    return has_moved;
}

bool
shm_peers_progress(struct transport *transport)
{
    bool has_moved = shm_peers_write(transport);
    struct peer *next;

    for (struct peer *peer = TAILQ_FIRST(&transport->shm_peers); peer;
         peer = next) {
        next = TAILQ_NEXT(peer, shm_link);
        if (peer->fd >= 0)
            has_moved |= peer_shm_read(peer);
    }
    return has_moved;
}
