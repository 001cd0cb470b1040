/*
 * transport/coding.c - how the payload of a frame is stored
 *
 * What may lose bits always does: the receiver counts on it. Beyond that, a
 * codec that was asked for is tried on everything, and CODEC_AUTO where it
 * pays: never inside a host, elsewhere as the peer's judge says, who is shown
 * a sample of a block and how the link does.
 */

#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "dtype/dtype.h"
#include "transport/echo.h"
#include "transport/peer.h"

enum {
    /* Coding smaller payloads costs more than it saves. */
    CODED_MIN = 1024,
    AUTO_MIN = 4096,
    SAMPLE_BYTES = 16384, /* a multiple of every granule */
};

static struct codec_block
block_of(const struct outflow *flow, const struct outframe *out)
{
    const enum hoop_dtype dtype = (enum hoop_dtype)flow->label->call.dtype;

    return (struct codec_block){
        .bytes = flow->bytes + flow->framed,
        .n_bytes = out->n_raw,
        .word_size = dtype_float_size(dtype),
    };
}

/* Packed by id; 0: that makes nothing smaller. */
static size_t
block_code(struct transport *transport,
           const struct outflow *flow,
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

/* Bytes that a block has on the wire when it is not packed. */
static size_t
n_unpacked(const struct outflow *flow, size_t n_bytes)
{
    return flow->loss == LOSS_NONE
               ? n_bytes
               : loss_n_stored(flow->loss, n_bytes / sizeof(float));
}

static void
link_see(struct peer *peer, uint64_t now_ns)
{
    uint64_t n_queued;
    const uint64_t n_gone = peer_gone(peer, &n_queued);

    judge_see(&peer->judge, &(struct judge_sight){
                                .now_ns = now_ns,
                                .n_gone = n_gone,
                                .n_queued = n_queued,
                            });
}

/* From its middle; all of what is not much larger. */
static struct codec_block
block_sample(struct codec_block block)
{
    if (block.n_bytes < 4 * SAMPLE_BYTES)
        return block;
    block.bytes +=
        (block.n_bytes - SAMPLE_BYTES) / 2 / SAMPLE_BYTES * SAMPLE_BYTES;
    block.n_bytes = SAMPLE_BYTES;
    return block;
}

/* Whether a sample of block, packed by id, says that it pays. */
static bool
sample_pays(struct peer *peer,
            const struct outflow *flow,
            enum codec_id id,
            struct codec_block block,
            uint8_t *out)
{
    const struct codec_block sample = block_sample(block);
    const size_t n_unpacked_bytes = n_unpacked(flow, sample.n_bytes);
    const size_t n_stored = block_code(peer->transport, flow, id, sample, out);

    return judge_pays(&peer->judge, n_unpacked_bytes,
                      n_stored > 0 ? n_stored : n_unpacked_bytes);
}

static enum codec_id
choose(struct peer *peer,
       const struct outflow *flow,
       struct codec_block block,
       uint8_t *out)
{
    const size_t word_size =
        flow->loss == LOSS_NONE ? block.word_size : loss_word_size(flow->loss);
    const enum codec_id id = word_size > 0 ? CODEC_PLANES : CODEC_ZSTD;

    if (peer->is_near || block.n_bytes < AUTO_MIN)
        return CODEC_NONE;
    link_see(peer, clock_now_ns());
    return judge_asks(&peer->judge) && sample_pays(peer, flow, id, block, out)
               ? id
               : CODEC_NONE;
}

static bool
is_considered(const struct peer *peer, size_t n_raw)
{
    switch (peer->transport->codec_id) {
    case CODEC_NONE:
        return false;
    case CODEC_ZSTD:
    case CODEC_PLANES:
        return n_raw >= CODED_MIN;
    case CODEC_AUTO:
        break;
    }
    return !peer->is_near && n_raw >= AUTO_MIN;
}

/* Of this thread: what others did in between is not the codec's. */
static uint64_t
processor_ns(void)
{
    struct timespec used = {0};

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * CLOCK_NS_PER_S + (uint64_t)used.tv_nsec;
}

static size_t
pack(struct peer *peer,
     const struct outflow *flow,
     enum codec_id id,
     struct codec_block block,
     uint8_t *out)
{
    const uint64_t begun_ns = processor_ns();
    const size_t n_stored = block_code(peer->transport, flow, id, block, out);

    judge_learn(&peer->judge, n_unpacked(flow, block.n_bytes),
                processor_ns() - begun_ns);
    return n_stored;
}

static void
tell_coded(const struct transport *transport,
           void *flow_owner,
           const struct coded *coded)
{
    /* What is sent at once is nobody's. */
    if (transport->events->on_coded && flow_owner)
        transport->events->on_coded(transport->owner, flow_owner, coded);
}

/* Whether what somebody else had coded is wanted so here. */
static bool
is_wanted(const struct peer *peer,
          const struct outflow *flow,
          const struct coded *coded)
{
    const bool is_packed = coded->codec % (1 << CODEC_LOSS_SHIFT) != CODEC_NONE;

    return coded->codec >> CODEC_LOSS_SHIFT == (uint32_t)flow->loss &&
           is_packed == is_considered(peer, coded->n_raw);
}

void
transport_lend(const struct transport *transport,
               struct outflow *flow,
               const struct coded *coded)
{
    if (is_wanted(&transport->peers[flow->key.peer], flow, coded))
        echo_add(flow, coded);
}

/* What somebody else had coded; NULL: nothing, or it is not wanted so here. */
static const struct coded *
find_coded(struct peer *peer, struct outframe *out, struct outflow *flow)
{
    const struct coded *coded = echo_next(flow, out->n_raw);

    if (!coded || !is_wanted(peer, flow, coded))
        return NULL;
    if (coded->codec % (1 << CODEC_LOSS_SHIFT) != CODEC_NONE &&
        peer->transport->codec_id == CODEC_AUTO)
        link_see(peer, clock_now_ns());
    return coded;
}

/* To out's own room: what it is stored as, or nothing, and by which codec. */
static size_t
code(struct peer *peer,
     struct outframe *out,
     struct outflow *flow,
     uint8_t *room,
     uint32_t *out_codec)
{
    struct transport *transport = peer->transport;
    const struct codec_block block = block_of(flow, out);
    const struct coded *coded = find_coded(peer, out, flow);
    enum codec_id id = CODEC_NONE;
    size_t n_stored = 0;

    *out_codec = CODEC_NONE;
    if (coded) {
        memcpy(room, coded->stored.bytes, coded->stored.n_bytes);
        *out_codec = coded->codec;
        return coded->stored.n_bytes;
    }
    if (is_considered(peer, out->n_raw))
        id = transport->codec_id == CODEC_AUTO ? choose(peer, flow, block, room)
                                               : transport->codec_id;
    if (id != CODEC_NONE)
        n_stored = pack(peer, flow, id, block, room);
    if (n_stored > 0)
        *out_codec = codec_with_loss(id, flow->loss);
    else if (flow->loss != LOSS_NONE)
        n_stored = codec_encode_lossy(transport->codec,
                                      codec_with_loss(CODEC_NONE, flow->loss),
                                      block, room, out_codec);
    if (n_stored > 0)
        tell_coded(transport, flow->owner,
                   &(struct coded){.raw = block.bytes,
                                   .n_raw = block.n_bytes,
                                   .codec = *out_codec,
                                   .stored = {room, n_stored}});
    return n_stored;
}

bool
peer_code(struct peer *peer,
          struct outframe *out,
          struct frame *frame,
          struct outflow *flow)
{
    const bool is_lossy = flow->loss != LOSS_NONE && out->n_raw > 0;
    const bool is_coded = is_lossy || is_considered(peer, out->n_raw);
    uint8_t *room = is_coded ? outframe_room(out, LIMIT_FRAME_PAYLOAD) : NULL;
    size_t n_stored = 0;

    if (is_lossy && !room) {
        peer_doom(peer, "no memory for a frame");
        return false;
    }
    frame->codec = CODEC_NONE;
    if (room)
        n_stored = code(peer, out, flow, room, &frame->codec);
    out->payload = n_stored ? room : flow->bytes + flow->framed;
    out->n_stored = n_stored ? n_stored : out->n_raw;
    frame->stored = (uint32_t)out->n_stored;
    return true;
}

void
peer_came_coded(const struct peer *peer,
                const struct inflow *flow,
                const struct frame *frame,
                const uint8_t *stored)
{
    if (!flow->place || frame->codec == CODEC_NONE)
        return;
    tell_coded(peer->transport, flow->owner,
               &(struct coded){
                   .raw = flow->place + flow->arrived,
                   .n_raw = frame->raw,
                   .codec = frame->codec,
                   .stored = {stored, frame->stored},
               });
}
