/*
 * transport/fault_inject.c - injected faults of frames and connections
 *
 * A fault is applied to a frame when the frame has been cut and the kernel has
 * taken all before it, so that it is known what was sent. The bytes of the
 * frame count as sent, whatever becomes of them, as for any sender.
 */

#include <string.h>
#include <sys/socket.h>

#include "fault/fault.h"
#include "net/poller.h"
#include "transport/peer.h"

enum {
    HEADER_BITS = 8 * LIMIT_FRAME_HEADER,
};

static struct fault_event
send_request_fault_event(const struct send_request *flow)
{
    return (struct fault_event){
        .point = FAULT_AT_SEND,
        .peer = flow->key.peer,
        .round = flow->round + 1,
        .is_frame = true,
    };
}

bool
peer_is_fault_due(struct peer *peer, const struct send_request *flow)
{
    const struct fault_event event = send_request_fault_event(flow);

    return peer->send.n_frames > 0 &&
           faults_are_due(peer->transport->faults, flow->label->faults, &event);
}

static void
frame_corrupt_bit(struct outbound_frame *out, uint64_t bit)
{
    const uint8_t mask = (uint8_t)(1u << bit % 8);

    if (bit < HEADER_BITS)
        out->header[bit / 8] ^= mask;
    else if (out->n_stored > 0 && outbound_frame_own_payload(out))
        out->owned[(bit - HEADER_BITS) / 8 % out->n_stored] ^= mask;
}

/* Drop the frame as if the kernel had taken it. */
static void
frame_drop(struct peer *peer,
           struct outbound_frame *out,
           struct send_request *flow)
{
    peer->send.n_frames--;
    out->flow = NULL;
    peer_mark_dirty(peer);
    peer_report_sent(peer, flow, out->n_raw);
}

/* End the stream in the middle of the frame, which is the only one. */
static void
frame_truncate(struct peer *peer,
               struct outbound_frame *out,
               struct send_request *flow)
{
    const size_t n_half = out->n_stored / 2;
    struct iovec iov[] = {
        {out->header, n_half > 0 ? LIMIT_FRAME_HEADER : LIMIT_FRAME_HEADER / 2},
        {(void *)(uintptr_t)out->payload, n_half},
    };
    const struct msghdr message = {.msg_iov = iov, .msg_iovlen = 2};

    if (peer->segment)
        (void)!peer_shm_send(peer, iov, 2);
    else
        (void)!sendmsg(peer->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(peer->fd, SHUT_WR);
    frame_drop(peer, out, flow);
}

/* A duplicate takes room of the window twice, and the receiver returns it
 * twice. */
static void
charge_duplicate_frame_credit(struct peer *peer,
                              const struct outbound_frame *out)
{
    const uint64_t n_taken = eager_window_frame_cost(out->n_stored);
    struct frame frame;

    if (frame_decode(out->header, &frame) == HOOP_OK &&
        frame.flags & FRAME_EAGER)
        peer->send.credit -=
            n_taken < peer->send.credit ? n_taken : peer->send.credit;
}

static void
frame_duplicate(struct peer *peer, struct outbound_frame *out)
{
    struct outbound_frame *copy = peer_queued_frame(peer, peer->send.n_frames);

    memcpy(copy->header, out->header, sizeof(copy->header));
    copy->n_stored = out->n_stored;
    copy->n_padded_payload = out->n_padded_payload;
    copy->n_raw = 0;
    copy->flow = NULL;
    copy->payload = copy->owned;
    if (out->n_stored > 0 && !outbound_frame_ensure_room(copy, out->n_stored))
        return;
    copy->payload = copy->owned;
    if (out->n_stored > 0)
        memcpy(copy->owned, out->payload, out->n_stored);
    peer->send.n_frames++;
    charge_duplicate_frame_credit(peer, out);
}

/* The kernel sends RST, and reports the reset on this side, too. */
static void
peer_reset_by_fault(const struct peer *peer)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};

    (void)connect(peer->fd, &nowhere, sizeof(nowhere));
}

static void
peer_unplug_by_fault(struct peer *peer)
{
    peer->is_unplugged = true;
    peer->send.is_write_watched = false;
    poller_remove(peer->transport->poller, peer->fd);
}

void
peer_inject_fault(struct peer *peer,
                  struct outbound_frame *out,
                  struct send_request *flow)
{
    const struct fault_event event = send_request_fault_event(flow);
    const struct fault_effect effect =
        faults_trigger(peer->transport->faults, flow->label->faults, &event);

    switch (effect.action) {
    case FAULT_RESET:
        peer_reset_by_fault(peer);
        return;
    case FAULT_HALF_CLOSE:
        shutdown(peer->fd, SHUT_WR);
        return;
    case FAULT_DROP:
        frame_drop(peer, out, flow);
        return;
    case FAULT_CORRUPT:
        frame_corrupt_bit(out, effect.amount);
        return;
    case FAULT_TRUNCATE:
        frame_truncate(peer, out, flow);
        return;
    case FAULT_DUPLICATE:
        frame_duplicate(peer, out);
        return;
    case FAULT_UNPLUG:
        peer_unplug_by_fault(peer);
        return;
    case FAULT_NOTHING:
    case FAULT_KILL:
    case FAULT_STOP:
    case FAULT_EXIT:
    case FAULT_DELAY:
    case FAULT_JITTER:
    case FAULT_ACTIONS:
        return;
    }
}
