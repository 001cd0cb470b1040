/*
 * transport/stream/payload.c - the payload of a frame, as it comes and as it
 * goes
 *
 * Bytes are read directly to where they go. Bytes that are to be combined are
 * used where they were read to, if whole elements are there.
 */

#include "transport/stream/payload.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/limits.h"
#include "dtype/dtype.h"
#include "transport/peer.h"

/* No element is larger, and the size of every element divides this. */
static const size_t ELEMENT_MAX = 16;

void
peer_deliver_payload(struct peer *peer,
                     struct recv_request *flow,
                     const uint8_t *raw,
                     size_t n_bytes)
{
    if (flow->place)
        memcpy(flow->place + flow->arrived, raw, n_bytes);
    peer_report_arrived(peer, flow, flow->place ? NULL : raw, n_bytes);
}

uint8_t *
peer_payload_target(struct peer *peer)
{
    struct receive_half *receive = &peer->receive;

    switch (receive->target) {
    case READ_INTO_USER_BUFFER:
        return receive->flow->place + receive->frame.offset + receive->n_stored;
    case READ_INTO_PIECE_BUFFER:
        return receive->piece + receive->n_stored;
    case READ_INTO_ENCODED_BUFFER:
        return receive->encoded + receive->n_stored;
    case READ_INTO_UNEXPECTED_FRAGMENT:
        return receive->fragment->bytes + receive->n_stored;
    case READ_INTO_DISCARD_BUFFER:
        break;
    }
    return peer->transport->sink;
}

void
peer_payload_advance(struct peer *peer, size_t n_bytes)
{
    struct receive_half *receive = &peer->receive;
    struct recv_request *flow = receive->flow;

    receive->n_stored += n_bytes;
    if (n_bytes == 0)
        return;
    if (receive->target == READ_INTO_USER_BUFFER) {
        peer_report_arrived(peer, flow, NULL, n_bytes);
    } else if (receive->target == READ_INTO_PIECE_BUFFER) {
        const uint8_t *piece = receive->piece + receive->n_piece_reported;
        const size_t n_whole = (receive->n_stored - receive->n_piece_reported) /
                               flow->element_size * flow->element_size;

        if (n_whole == 0)
            return;
        receive->n_piece_reported += n_whole;
        peer_report_arrived(peer, flow, piece, n_whole);
    }
}

/* Returns whether bytes begin with a whole element and are aligned for it. */
static bool
can_consume_in_place(const struct peer *peer, const uint8_t *bytes)
{
    const struct receive_half *receive = &peer->receive;

    return receive->target == READ_INTO_PIECE_BUFFER &&
           receive->flow->element_size <= ELEMENT_MAX &&
           receive->n_piece_reported == receive->n_stored &&
           (uintptr_t)bytes % receive->flow->element_size == 0;
}

size_t
peer_payload_consume(struct peer *peer, const uint8_t *bytes, size_t n_bytes)
{
    struct recv_request *flow = peer->receive.flow;

    if (!can_consume_in_place(peer, bytes)) {
        memcpy(peer_payload_target(peer), bytes, n_bytes);
        peer_payload_advance(peer, n_bytes);
        return n_bytes;
    }
    const size_t n_whole = n_bytes - n_bytes % flow->element_size;
    if (n_whole == 0)
        return 0;
    peer->receive.n_stored += n_whole;
    peer->receive.n_piece_reported += n_whole;
    peer_report_arrived(peer, flow, bytes, n_whole);
    return n_whole;
}

void
peer_payload_consume_all(struct peer *peer,
                         const uint8_t *bytes,
                         size_t n_bytes)
{
    const size_t n_used = peer_payload_consume(peer, bytes, n_bytes);

    if (n_used == n_bytes || peer->fd < 0)
        return;
    memcpy(peer_payload_target(peer), bytes + n_used, n_bytes - n_used);
    peer_payload_advance(peer, n_bytes - n_used);
}

/* The encoded payloads that a send request keeps. */

struct encoded_payload {
    TAILQ_ENTRY(encoded_payload) link;
    uint64_t offset;
    struct encoded encoded;
    uint8_t bytes[];
};

static void
encoded_payload_remove(struct send_request *flow,
                       struct encoded_payload *encoded_payload)
{
    TAILQ_REMOVE(&flow->encoded_payloads, encoded_payload, link);
    flow->n_encoded_payloads--;
    free(encoded_payload);
}

void
encoded_payload_clear(struct send_request *flow)
{
    while (flow->n_encoded_payloads > 0)
        encoded_payload_remove(flow, TAILQ_FIRST(&flow->encoded_payloads));
}

/* Returns where the last payload ends or, if there is none, where the next
 * frame begins. */
static uint64_t
encoded_payloads_end(const struct send_request *flow)
{
    const struct encoded_payload *last =
        flow->n_encoded_payloads > 0
            ? TAILQ_LAST(&flow->encoded_payloads, encoded_payload_list)
            : NULL;

    return last ? last->offset + last->encoded.n_raw : flow->framed;
}

void
encoded_payload_add(struct send_request *flow, const struct encoded *encoded)
{
    const uint64_t offset = (uint64_t)(encoded->raw - flow->bytes);

    /* Payloads come in order; one that does not is dropped. The window does
     * not pay for a payload that became larger by being encoded. */
    if (offset < flow->framed || offset < encoded_payloads_end(flow) ||
        flow->n_encoded_payloads == LIMIT_ENCODED_PAYLOADS ||
        encoded->stored.n_bytes > encoded->n_raw)
        return;
    struct encoded_payload *encoded_payload =
        malloc(sizeof(*encoded_payload) + encoded->stored.n_bytes);
    if (!encoded_payload)
        return;
    encoded_payload->offset = offset;
    encoded_payload->encoded = *encoded;
    encoded_payload->encoded.stored.bytes = encoded_payload->bytes;
    memcpy(encoded_payload->bytes, encoded->stored.bytes,
           encoded->stored.n_bytes);
    if (flow->n_encoded_payloads == 0)
        TAILQ_INIT(&flow->encoded_payloads);
    TAILQ_INSERT_TAIL(&flow->encoded_payloads, encoded_payload, link);
    flow->n_encoded_payloads++;
}

/* Returns the first payload that can still be used, or NULL. */
static struct encoded_payload *
encoded_payload_first(const struct send_request *flow)
{
    struct encoded_payload *encoded_payload = NULL;

    if (flow->n_encoded_payloads > 0)
        TAILQ_FOREACH(encoded_payload, &flow->encoded_payloads, link)
        {
            if (encoded_payload->offset >= flow->framed)
                break;
        }
    return encoded_payload;
}

uint64_t
encoded_payload_next_frame_bytes(const struct send_request *flow,
                                 uint64_t n_bytes)
{
    const struct encoded_payload *encoded_payload = encoded_payload_first(flow);

    if (!encoded_payload)
        return n_bytes;
    const uint64_t n_before = encoded_payload->offset - flow->framed;
    const uint64_t n_first =
        n_before > 0 ? n_before : encoded_payload->encoded.n_raw;
    return n_first < n_bytes ? n_first : n_bytes;
}

const struct encoded *
encoded_payload_next(struct send_request *flow, size_t n_raw)
{
    while (flow->n_encoded_payloads > 0 &&
           TAILQ_FIRST(&flow->encoded_payloads)->offset < flow->framed)
        encoded_payload_remove(flow, TAILQ_FIRST(&flow->encoded_payloads));

    const struct encoded_payload *encoded_payload = encoded_payload_first(flow);
    return encoded_payload && encoded_payload->offset == flow->framed &&
                   encoded_payload->encoded.n_raw == n_raw
               ? &encoded_payload->encoded
               : NULL;
}

/*
 * How the payload of a frame is stored.
 *
 * A payload that may lose bits always does, since the receiver counts on it.
 * Beyond that, a codec that was asked for is tried on everything. CODEC_AUTO
 * encodes where it pays: never inside a host, and elsewhere as the peer's
 * codec_autotune decides from a sample of a block and the state of the link.
 */

enum {
    /* Encoding smaller payloads costs more than it saves. */
    CODEC_ALWAYS_BYTES_MIN = 1024,
    CODEC_AUTO_BYTES_MIN = 4096,
    SAMPLE_BYTES = 16384, /* a multiple of every granule */
};

_Static_assert((int)TRANSPORT_INLINE_BYTES_MAX < (int)CODEC_ALWAYS_BYTES_MIN,
               "the inline path sends no encoded payload");

static struct codec_block
frame_codec_block(const struct send_request *flow,
                  const struct outbound_frame *out)
{
    const enum hoop_dtype dtype = (enum hoop_dtype)flow->label->call.dtype;

    return (struct codec_block){
        .bytes = flow->bytes + flow->framed,
        .n_bytes = out->n_raw,
        .word_size = dtype_float_size(dtype),
    };
}

uint8_t *
outbound_frame_make_room(struct outbound_frame *out, size_t n_bytes)
{
    free(out->owned);
    out->owned = malloc(n_bytes);
    out->payload_copy_capacity = out->owned ? n_bytes : 0;
    return out->owned;
}

bool
outbound_frame_own_payload(struct outbound_frame *out)
{
    const uint8_t *bytes = out->payload;

    if (out->n_stored == 0 || bytes == out->owned)
        return true;
    if (!outbound_frame_ensure_room(out, out->n_stored))
        return false;
    memcpy(out->owned, bytes, out->n_stored);
    out->payload = out->owned;
    return true;
}

/* Encode block by codec id. Returns 0 if that makes it no smaller. */
static size_t
block_encode(struct transport *transport,
             const struct send_request *flow,
             uint32_t id,
             struct codec_block block,
             uint8_t *out)
{
    uint32_t stored_id;

    if (flow->loss == LOSS_NONE)
        return codec_encode(transport->codec, (enum codec_id)id, block, out,
                            block.n_bytes);
    const uint32_t lossy = codec_with_loss((enum codec_id)id, flow->loss);
    const size_t n_stored =
        codec_encode_lossy(transport->codec, lossy, block, out, &stored_id);
    return stored_id == lossy ? n_stored : 0;
}

/* Returns how many bytes a block has on the wire without a codec. */
static size_t
unencoded_bytes(const struct send_request *flow, size_t n_bytes)
{
    return flow->loss == LOSS_NONE
               ? n_bytes
               : loss_n_stored(flow->loss, n_bytes / sizeof(float));
}

static void
codec_autotune_observe_send(struct peer *peer, uint64_t now_ns)
{
    uint64_t n_queued;
    const uint64_t n_gone = peer_sent_bytes(peer, &n_queued);

    codec_autotune_observe(&peer->send.codec_autotune,
                           &(struct codec_autotune_sample){
                               .now_ns = now_ns,
                               .n_gone = n_gone,
                               .n_queued = n_queued,
                           });
}

/* Returns a sample from the middle of block, or all of a block that is not
 * much larger. */
static struct codec_block
codec_block_cut_sample(struct codec_block block)
{
    if (block.n_bytes < 4 * SAMPLE_BYTES)
        return block;
    block.bytes +=
        (block.n_bytes - SAMPLE_BYTES) / 2 / SAMPLE_BYTES * SAMPLE_BYTES;
    block.n_bytes = SAMPLE_BYTES;
    return block;
}

/* Returns whether encoding a sample of block by codec id says that it pays. */
static bool
is_sample_smaller(struct peer *peer,
                  const struct send_request *flow,
                  enum codec_id id,
                  struct codec_block block,
                  uint8_t *out)
{
    const struct codec_block sample = codec_block_cut_sample(block);
    const size_t n_unpacked_bytes = unencoded_bytes(flow, sample.n_bytes);
    const size_t n_stored =
        block_encode(peer->transport, flow, id, sample, out);

    return codec_autotune_pays(&peer->send.codec_autotune, n_unpacked_bytes,
                               n_stored > 0 ? n_stored : n_unpacked_bytes);
}

static enum codec_id
codec_choose(struct peer *peer,
             const struct send_request *flow,
             struct codec_block block,
             uint8_t *out)
{
    const size_t word_size =
        flow->loss == LOSS_NONE ? block.word_size : loss_word_size(flow->loss);
    const enum codec_id id = word_size > 0 ? CODEC_PLANES : CODEC_ZSTD;

    if (peer->is_same_host || block.n_bytes < CODEC_AUTO_BYTES_MIN)
        return CODEC_NONE;
    codec_autotune_observe_send(peer, clock_now_ns());
    return codec_autotune_wants_trial(&peer->send.codec_autotune) &&
                   is_sample_smaller(peer, flow, id, block, out)
               ? id
               : CODEC_NONE;
}

static bool
is_worth_encoding(const struct peer *peer, size_t n_raw)
{
    switch (peer->transport->config->codec) {
    case CODEC_NONE:
        return false;
    case CODEC_ZSTD:
    case CODEC_PLANES:
        return n_raw >= CODEC_ALWAYS_BYTES_MIN;
    case CODEC_AUTO:
        break;
    }
    return !peer->is_same_host && n_raw >= CODEC_AUTO_BYTES_MIN;
}

/* Returns the time of this thread alone, since others may run while the codec
 * does. */
static uint64_t
thread_cpu_ns(void)
{
    struct timespec used = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * CLOCK_NS_PER_S + (uint64_t)used.tv_nsec;
}

static size_t
block_encode_timed(struct peer *peer,
                   const struct send_request *flow,
                   enum codec_id id,
                   struct codec_block block,
                   uint8_t *out)
{
    const uint64_t begun_ns = thread_cpu_ns();
    const size_t n_stored = block_encode(peer->transport, flow, id, block, out);

    codec_autotune_learn(&peer->send.codec_autotune,
                         unencoded_bytes(flow, block.n_bytes),
                         thread_cpu_ns() - begun_ns);
    return n_stored;
}

static void
report_encoded(const struct transport *transport,
               void *flow_owner,
               const struct encoded *encoded)
{
    /* An inline send has no owner. */
    if (transport->events->on_encoded && flow_owner)
        transport->events->on_encoded(transport->owner, flow_owner, encoded);
}

/* Returns whether this flow would send a payload in the encoding that it
 * already has. */
static bool
is_cached_encoding_usable(const struct peer *peer,
                          const struct send_request *flow,
                          const struct encoded *encoded)
{
    const bool is_packed =
        encoded->codec % (1 << CODEC_LOSS_SHIFT) != CODEC_NONE;

    return encoded->codec >> CODEC_LOSS_SHIFT == (uint32_t)flow->loss &&
           is_packed == is_worth_encoding(peer, encoded->n_raw);
}

void
transport_cache_encoded(const struct transport *transport,
                        struct send_request *flow,
                        const struct encoded *encoded)
{
    if (is_cached_encoding_usable(&transport->peers[flow->key.peer], flow,
                                  encoded))
        encoded_payload_add(flow, encoded);
}

/* Returns a cached payload for the frame; NULL if there is none or its
 * encoding is not wanted here. */
static const struct encoded *
find_cached_encoding(struct peer *peer,
                     struct outbound_frame *out,
                     struct send_request *flow)
{
    const struct encoded *encoded = encoded_payload_next(flow, out->n_raw);

    if (!encoded || !is_cached_encoding_usable(peer, flow, encoded))
        return NULL;
    if (encoded->codec % (1 << CODEC_LOSS_SHIFT) != CODEC_NONE &&
        peer->transport->config->codec == CODEC_AUTO)
        codec_autotune_observe_send(peer, clock_now_ns());
    return encoded;
}

/* Encode into room, which out owns. Returns the stored bytes, or 0 if the
 * payload is better sent as it is, and writes the codec. */
static size_t
payload_encode_into(struct peer *peer,
                    struct outbound_frame *out,
                    struct send_request *flow,
                    uint8_t *room,
                    uint32_t *out_codec)
{
    struct transport *transport = peer->transport;
    const struct codec_block block = frame_codec_block(flow, out);
    const struct encoded *encoded = find_cached_encoding(peer, out, flow);
    enum codec_id id = CODEC_NONE;
    size_t n_stored = 0;

    *out_codec = CODEC_NONE;
    if (encoded) {
        memcpy(room, encoded->stored.bytes, encoded->stored.n_bytes);
        *out_codec = encoded->codec;
        return encoded->stored.n_bytes;
    }
    if (is_worth_encoding(peer, out->n_raw))
        id = transport->config->codec == CODEC_AUTO
                 ? codec_choose(peer, flow, block, room)
                 : transport->config->codec;
    if (id != CODEC_NONE)
        n_stored = block_encode_timed(peer, flow, id, block, room);
    if (n_stored > 0)
        *out_codec = codec_with_loss(id, flow->loss);
    else if (flow->loss != LOSS_NONE)
        n_stored = codec_encode_lossy(transport->codec,
                                      codec_with_loss(CODEC_NONE, flow->loss),
                                      block, room, out_codec);
    if (n_stored > 0)
        report_encoded(transport, flow->owner,
                       &(struct encoded){.raw = block.bytes,
                                         .n_raw = block.n_bytes,
                                         .codec = *out_codec,
                                         .stored = {room, n_stored}});
    return n_stored;
}

bool
peer_encode_payload(struct peer *peer,
                    struct outbound_frame *out,
                    struct frame *frame,
                    struct send_request *flow)
{
    const bool is_lossy = flow->loss != LOSS_NONE && out->n_raw > 0;
    const bool is_encoded = is_lossy || is_worth_encoding(peer, out->n_raw);
    uint8_t *room = is_encoded
                        ? outbound_frame_ensure_room(out, LIMIT_FRAME_PAYLOAD)
                        : NULL;
    size_t n_stored = 0;

    if (is_lossy && !room) {
        peer_defer_failure(peer, TRANSPORT_NO_MEMORY, "no memory for a frame");
        return false;
    }
    frame->codec = CODEC_NONE;
    if (room)
        n_stored = payload_encode_into(peer, out, flow, room, &frame->codec);
    out->payload = n_stored ? room : flow->bytes + flow->framed;
    out->n_stored = n_stored ? n_stored : out->n_raw;
    frame->stored = (uint32_t)out->n_stored;
    return true;
}

void
peer_report_encoded(const struct peer *peer,
                    const struct recv_request *flow,
                    const struct frame *frame,
                    const uint8_t *stored)
{
    if (!flow->place || frame->codec == CODEC_NONE)
        return;
    report_encoded(peer->transport, flow->owner,
                   &(struct encoded){
                       .raw = flow->place + flow->arrived,
                       .n_raw = frame->raw,
                       .codec = frame->codec,
                       .stored = {stored, frame->stored},
                   });
}
