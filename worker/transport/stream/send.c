/*
 * transport/stream/send.c - frames into the socket or ring
 *
 * One call sends the headers and payloads of several frames
 * (transport/stream/packetize.c cuts them), straight from the user's buffer. A
 * small amount is sent from a copy.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/error.h"
#include "fault/fault.h"
#include "transport/peer.h"

enum {
    IOV_PER_FRAME = 3,
    /* The kernel takes longer over three spans than a copy of so many bytes
     * takes. */
    IOV_GATHERED_BYTES_MAX = 2048,
};

static const uint8_t padding[LIMIT_FRAME_PAD];

/* Skip what is written already. Returns the first span that is left. */
static size_t
iov_skip(struct iovec *iov, size_t n_iov, size_t n_bytes)
{
    size_t first = 0;

    while (first < n_iov && n_bytes >= iov[first].iov_len)
        n_bytes -= iov[first++].iov_len;
    if (first < n_iov) {
        iov[first].iov_base = (uint8_t *)iov[first].iov_base + n_bytes;
        iov[first].iov_len -= n_bytes;
    }
    return first;
}

/* Copy the spans to out. Returns false if they are too much to be copied. */
static bool
iov_gather(const struct iovec *iov,
           size_t n_iov,
           uint8_t out[IOV_GATHERED_BYTES_MAX],
           size_t *out_n_bytes)
{
    size_t n_bytes = 0;

    for (size_t i = 0; i < n_iov; i++) {
        if (iov[i].iov_len > IOV_GATHERED_BYTES_MAX - n_bytes)
            return false;
        memcpy(out + n_bytes, iov[i].iov_base, iov[i].iov_len);
        n_bytes += iov[i].iov_len;
    }
    *out_n_bytes = n_bytes;
    return true;
}

static ssize_t
iov_send(int fd, struct iovec *iov, size_t n_iov)
{
    const int how = MSG_NOSIGNAL | MSG_DONTWAIT;
    const struct msghdr message = {.msg_iov = iov, .msg_iovlen = n_iov};
    uint8_t gathered[IOV_GATHERED_BYTES_MAX];
    size_t n_bytes;
    ssize_t n_sent;

    const bool is_small = iov_gather(iov, n_iov, gathered, &n_bytes);
    do {
        n_sent = is_small ? send(fd, gathered, n_bytes, how)
                          : sendmsg(fd, &message, how);
    } while (n_sent < 0 && errno == EINTR);
    return n_sent;
}

/* Pretend that the kernel has taken the spans. */
static ssize_t
iov_discard_by_fault(const struct iovec *iov, size_t n_iov)
{
    ssize_t n_bytes = 0;

    for (size_t i = 0; i < n_iov; i++)
        n_bytes += (ssize_t)iov[i].iov_len;
    return n_bytes;
}

static ssize_t
write_frames(struct peer *peer)
{
    struct iovec iov[PEER_FRAMES_MAX * IOV_PER_FRAME];
    size_t n_iov = 0;

    for (unsigned i = 0; i < peer->send.n_frames; i++) {
        struct outbound_frame *out = peer_queued_frame(peer, i);

        iov[n_iov++] = (struct iovec){out->header, LIMIT_FRAME_HEADER};
        if (out->n_stored)
            iov[n_iov++] =
                (struct iovec){(void *)(uintptr_t)out->payload, out->n_stored};
        if (out->n_padded_payload > out->n_stored)
            iov[n_iov++] =
                (struct iovec){(void *)(uintptr_t)padding,
                               out->n_padded_payload - out->n_stored};
    }
    const size_t first = iov_skip(iov, n_iov, peer->send.frame_offset);

    if (FAULT_IS_BUILT && peer->is_unplugged)
        return iov_discard_by_fault(iov + first, n_iov - first);
    if (peer->segment)
        return peer_shm_send(peer, iov + first, n_iov - first);
    if (striping_is_sending(peer))
        return stream_group_send(peer->striping.group, iov + first,
                                 n_iov - first);
    if (peer->tls)
        return tls_send(peer->tls, iov + first, n_iov - first);
    return iov_send(peer->fd, iov + first, n_iov - first);
}

/* Returns how many payload bytes of out are in the first n_bytes of the
 * frame. */
static size_t
payload_bytes_in_prefix(const struct outbound_frame *out, size_t n_bytes)
{
    if (n_bytes <= LIMIT_FRAME_HEADER)
        return 0;
    const size_t n_payload = n_bytes - LIMIT_FRAME_HEADER;
    return n_payload < out->n_stored ? n_payload : out->n_stored;
}

/* Tell the flow that the kernel took bytes from to to of its frame. Of an
 * encoded payload, which is a copy, everything is reported with the first
 * byte. */
static void
report_payload_bytes_sent(struct peer *peer,
                          struct outbound_frame *out,
                          size_t from,
                          size_t to)
{
    struct send_request *flow = out->flow;

    if (!flow)
        return;
    uint64_t n_bytes =
        payload_bytes_in_prefix(out, to) - payload_bytes_in_prefix(out, from);
    if (out->payload == out->owned)
        n_bytes = from == 0 ? out->n_raw : 0;
    if (n_bytes == 0 && flow->total > 0)
        return;
    /* Only padding follows the last payload byte, so the flow may be freed
     * from then on. */
    if (n_bytes == out->n_raw ||
        payload_bytes_in_prefix(out, to) == out->n_stored)
        out->flow = NULL;
    peer_report_sent(peer, flow, n_bytes);
}

/* Remove n_bytes that are written from the queued frames. */
static void
queue_remove_written(struct peer *peer, size_t n_bytes)
{
    struct send_half *send = &peer->send;

    while (n_bytes > 0) {
        struct outbound_frame *out = peer_queued_frame(peer, 0);
        const size_t n_frame = LIMIT_FRAME_HEADER + out->n_padded_payload;
        const size_t from = send->frame_offset;
        const size_t n_here =
            n_bytes < n_frame - from ? n_bytes : n_frame - from;

        n_bytes -= n_here;
        send->frame_offset += n_here;
        const bool is_complete = send->frame_offset == n_frame;
        if (is_complete) {
            send->frame_offset = 0;
            send->first_frame = (send->first_frame + 1) % PEER_FRAMES_MAX;
            send->n_frames--;
        }
        report_payload_bytes_sent(peer, out, from, from + n_here);
        if (peer->fd < 0)
            return;
    }
}

static void
peer_set_write_watched(struct peer *peer, bool is_wanted)
{
    if ((peer->send.is_write_watched == is_wanted &&
         !striping_is_sending(peer)) ||
        peer->segment)
        return;
    peer->send.is_write_watched = is_wanted;
    if (!striping_update_watch(peer))
        peer_lose_unwatched(peer);
}

/* Our last byte is written. The peer's end of stream is still to come, or has
 * come. */
static void
on_last_byte_sent(struct peer *peer)
{
    peer_set_send_state(peer, SEND_ENDED);
    if (connection_is_over(peer->send.state, peer->receive.state))
        peer_close_departed(peer);
    else if (peer->segment)
        peer_shm_shutdown(peer);
    else
        shutdown(peer->fd, SHUT_WR);
}

static void
on_write_failed(struct peer *peer)
{
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
        peer_block(peer);
        peer_set_write_watched(peer, true);
        return;
    }
    /* What the peer sent before it went away is still to be read, and reading
     * will tell of its end. */
    if (errno == EPIPE || errno == ECONNRESET) {
        peer_block(peer);
        peer_on_send_broken(peer);
        return;
    }
    if (errno == ENOBUFS || errno == ENOMEM)
        peer_defer_failure(peer, TRANSPORT_NO_MEMORY,
                           "no memory in the kernel for what it sends");
    else
        peer_lose(peer, strerror(errno));
}

bool
peer_write(struct peer *peer)
{
    struct send_half *send = &peer->send;
    size_t n_total = 0;

    if (peer->failure.why) {
        if (peer->failure.cause != TRANSPORT_LOST)
            peer_report_event(peer, peer->failure.cause, peer->failure.why);
        peer_lose(peer, peer->failure.why);
        return true;
    }
    while (peer->fd >= 0 && n_total < PEER_PROGRESS_BYTES) {
        for (unsigned i = 0;
             i < PEER_SENDMSG_FRAMES_MAX && peer_packetize(peer); i++)
            ;
        if (send->n_frames == 0 && !striping_has_unsent(peer))
            break;

        const ssize_t n_written = write_frames(peer);
        if (n_written < 0) {
            on_write_failed(peer);
            return n_total > 0;
        }
        n_total += (size_t)n_written;
        peer_count_written(peer, (size_t)n_written);
        queue_remove_written(peer, (size_t)n_written);
    }
    /* The next write loses a peer that has a failure. */
    if (peer->fd < 0 || peer->failure.why)
        return true;
    /* This progress call is over, but there is more to write. */
    if (send->n_frames > 0 || n_total >= PEER_PROGRESS_BYTES) {
        peer_mark_dirty(peer);
        return true;
    }
    peer_set_write_watched(peer, false);
    if (send->state == SEND_GOODBYE)
        on_last_byte_sent(peer);
    return n_total > 0;
}

/* Report cause, send what that has queued for peer, and lose it. */
static void
peer_lose_after_event(struct peer *peer,
                      enum transport_peer_event cause,
                      const char *why)
{
    peer_report_event(peer, cause, why);
    if (peer->receive.state != RECEIVE_LOST)
        (void)peer_write(peer);
    peer_lose(peer, why);
}

void
peer_lose_corrupted(struct peer *peer)
{
    char why[LIMIT_ERROR_TEXT];

    snprintf(why, sizeof(why), "%s", error_text());
    peer_lose_after_event(peer, TRANSPORT_CORRUPTED, why);
}

void
peer_lose_no_memory(struct peer *peer, const char *why)
{
    peer_lose_after_event(peer, TRANSPORT_NO_MEMORY, why);
}

void
peer_lose_unwatched(struct peer *peer)
{
    struct transport *transport = peer->transport;

    /* Such an error is the first and the last, since this rank gives up. */
    if (!transport->watch_error[0])
        snprintf(transport->watch_error, sizeof(transport->watch_error), "%s",
                 error_text());
    if (peer->fd < 0)
        peer_lose_no_memory(peer, transport->watch_error);
    else
        peer_defer_failure(peer, TRANSPORT_NO_MEMORY, transport->watch_error);
}

void
peer_lose_protocol_error(struct peer *peer, const char *what)
{
    (void)error_raise(HOOP_E_DATA_LOSS, "it sent %s", what);
    peer_lose_corrupted(peer);
}
