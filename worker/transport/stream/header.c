/*
 * transport/stream/header.c - the header of a frame and the checksums
 *
 * With HOOP_CHECKSUM, the upper half of a checksum is of the payload as it is
 * stored, the lower half of the header with that upper half in it. A header is
 * checked before anything is done that it says, and a payload before anybody
 * sees a byte of it, so nothing damaged is combined or sent on.
 *
 * A HEARTBEAT or GOODBYE frame also says how many frames its sender has sent.
 * Frames come in order: a receiver that has counted fewer has lost some for
 * good.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "net/address.h"
#include "net/socket.h"
#include "tensor/layout.h"
#include "transport/peer.h"

enum {
    CHECKSUM_HALF_BITS = 32,
    CONNECTION_TEXT_BYTES = 2 * LIMIT_ADDRESS + 32,
};

static uint32_t
checksum_32_bits(const void *bytes, size_t n_bytes)
{
    return (uint32_t)digest_bytes(bytes, n_bytes);
}

/* The count of a tensor is not encoded, since it follows from its shape. */
static void
header_encode(const struct frame *frame,
              const struct frame_tensor *tensor,
              uint8_t out[LIMIT_FRAME_HEADER])
{
    struct frame spared;

    if (!tensor) {
        frame_encode(frame, out);
        return;
    }
    spared = *frame;
    spared.call.count = 0;
    frame_encode(&spared, out);
    frame_tensor_append(tensor, out);
}

/* Returns the checksum of frame, whose upper half is set in frame and whose
 * lower half is 0 there. The result is never 0, which stands for no
 * checksum. */
static uint64_t
header_checksum(const struct frame *frame, const struct frame_tensor *tensor)
{
    uint8_t header[LIMIT_FRAME_HEADER];

    header_encode(frame, tensor, header);
    const uint32_t half = checksum_32_bits(header, sizeof(header));
    return frame->checksum | (half ? half : 1);
}

/* Returns whether the header of frame may be encoded by changing the one
 * before, which costs less than encoding it anew. */
static bool
can_use_header_cache(const struct peer *peer, const struct frame *frame)
{
    return !peer->transport->config->has_frame_checksums &&
           (frame->kind == FRAME_COLLECTIVE || frame->kind == FRAME_MESSAGE);
}

static bool
is_sequenced_frame(const struct frame *frame)
{
    return frame->kind == FRAME_HEARTBEAT || frame->kind == FRAME_GOODBYE;
}

void
peer_header_write(struct peer *peer,
                  struct outbound_frame *out,
                  struct frame *frame,
                  const struct frame_tensor *tensor)
{
    if (!tensor && can_use_header_cache(peer, frame)) {
        frame_header_cache_encode(&peer->send.header_cache, frame, out->header);
        return;
    }
    if (is_sequenced_frame(frame))
        frame->tag = peer->send.n_packetized + 1;
    if (peer->transport->config->has_frame_checksums) {
        frame->checksum =
            (uint64_t)checksum_32_bits(out->payload, out->n_stored)
            << CHECKSUM_HALF_BITS;
        frame->checksum = header_checksum(frame, tensor);
    }
    header_encode(frame, tensor, out->header);
}

/* Read the tensor's shape and check that its size is the frame's total, in
 * elements of the frame's dtype. A tensor of an unknown dtype is not checked;
 * it will fit no receive. */
static enum hoop_status
frame_tensor_decode(struct peer *peer, const uint8_t *header)
{
    struct receive_half *receive = &peer->receive;
    const size_t size = dtype_size((enum hoop_dtype)receive->frame.call.dtype);
    size_t count;
    size_t n_bytes;

    enum hoop_status status = frame_tensor_read(header, &receive->tensor);
    if (status == HOOP_OK)
        status = shape_count(&receive->tensor.shape, &count);
    if (status != HOOP_OK)
        return error_pass(status);
    if (size > 0 && (__builtin_mul_overflow(count, size, &n_bytes) ||
                     n_bytes != receive->frame.total))
        return error_raise(HOOP_E_DATA_LOSS,
                           "a tensor of shape %s has not the size it came with",
                           shape_text(&receive->tensor.shape).text);
    receive->frame.call.count = count;
    return HOOP_OK;
}

/* Write the addresses of both ends, such as "TCP, 10.0.0.2:4000 to
 * 10.0.0.1:5000", with "?" for an unknown one. */
static const char *
connection_describe(const struct peer *peer, char text[CONNECTION_TEXT_BYTES])
{
    struct address local;
    struct address remote;
    char from[LIMIT_ADDRESS] = "?";
    char to[LIMIT_ADDRESS] = "?";

    if (socket_local_address(peer->fd, &local) == HOOP_OK)
        address_format(&local, to);
    if (socket_peer_address(peer->fd, &remote) == HOOP_OK)
        address_format(&remote, from);
    snprintf(text, CONNECTION_TEXT_BYTES, "%s, %s to %s",
             peer->segment ? "shared memory" : "TCP", from, to);
    return text;
}

enum hoop_status
peer_raise_corruption(const struct peer *peer, const char *what)
{
    char way[CONNECTION_TEXT_BYTES];

    return error_raise(HOOP_E_DATA_LOSS,
                       "bytes from it were damaged on the way to rank %u: %s "
                       "is wrong (%s)",
                       peer->transport->roster->rank, what,
                       connection_describe(peer, way));
}

/* Check that all frames sent before this one, which says how many, have come. A
 * frame that came twice shows by its offset, or its operation, that it is one
 * too many. */
static enum hoop_status
check_frame_sequence(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    const uint64_t n_inbound_frames_begun = receive->n_frames_begun;
    const uint64_t n_sent = receive->frame.tag;
    char way[CONNECTION_TEXT_BYTES];

    if (n_sent == 0)
        return HOOP_OK;
    receive->n_frames_begun = n_sent;
    if (n_inbound_frames_begun >= n_sent)
        return HOOP_OK;
    return error_raise(
        HOOP_E_DATA_LOSS,
        "frames from it were lost on the way to rank %u: %" PRIu64
        " of %" PRIu64 " have come (%s)",
        peer->transport->roster->rank, n_inbound_frames_begun, n_sent,
        connection_describe(peer, way));
}

static enum hoop_status
check_header_checksum(struct peer *peer)
{
    struct frame frame = peer->receive.frame;

    if (frame.checksum == 0 && !peer->transport->config->has_frame_checksums)
        return HOOP_OK;
    if (frame.checksum == 0)
        return error_raise(HOOP_E_DATA_LOSS,
                           "it has HOOP_CHECKSUM=off, but rank %u has on: all "
                           "ranks of a job must have the same",
                           peer->transport->roster->rank);
    frame.checksum &= (uint64_t)UINT32_MAX << CHECKSUM_HALF_BITS;
    if (header_checksum(&frame, peer_frame_tensor(peer)) ==
        peer->receive.frame.checksum)
        return HOOP_OK;
    return peer_raise_corruption(peer, "the checksum of a header");
}

enum hoop_status
peer_check_payload_checksum(const struct peer *peer)
{
    const struct receive_half *receive = &peer->receive;
    const uint8_t *payload = NULL;

    if (receive->target == READ_INTO_ENCODED_BUFFER)
        payload = receive->encoded;
    else if (receive->target == READ_INTO_UNEXPECTED_FRAGMENT)
        payload = receive->fragment->bytes;
    if (!payload ||
        checksum_32_bits(payload, receive->frame.stored) ==
            (uint32_t)(receive->frame.checksum >> CHECKSUM_HALF_BITS))
        return HOOP_OK;
    return peer_raise_corruption(peer, "the checksum of a payload");
}

/* Returns whether the codec of frame keeps all bits, or the payload may lose
 * some: only float32s of a collective may. */
static bool
is_loss_permitted(const struct frame *frame)
{
    return frame->codec >> CODEC_LOSS_SHIFT == LOSS_NONE ||
           (frame->kind == FRAME_COLLECTIVE &&
            frame->call.dtype == HOOP_FLOAT32);
}

enum hoop_status
peer_header_read(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;
    const uint8_t *header = receive->ahead + receive->ahead_first;
    enum hoop_status status =
        peer->transport->config->has_frame_checksums
            ? frame_decode(header, &receive->frame)
            : frame_header_cache_decode(&receive->header_cache, header,
                                        &receive->frame);

    if (status == HOOP_OK && peer_frame_tensor(peer))
        status = frame_tensor_decode(peer, header);
    if (status == HOOP_OK)
        status = check_header_checksum(peer);
    receive->n_frames_begun++;
    if (status == HOOP_OK && is_sequenced_frame(&receive->frame))
        status = check_frame_sequence(peer);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_loss_permitted(&receive->frame))
        return error_raise(HOOP_E_DATA_LOSS,
                           "a payload has codec %u, which loses bits of what "
                           "is to keep them",
                           receive->frame.codec);
    return HOOP_OK;
}
