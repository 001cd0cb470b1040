/* tests/unit/worker/transport/test_transport.c - a transport in the test's
 * thread */

#include "test_transport.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "default_config.h"
#include "segments.h"

const struct flow_label test_transport_label = {
    .epoch = TEST_TRANSPORT_EPOCH,
    .signature = TEST_TRANSPORT_SIGNATURE,
    .tag = 0,
    .call = {.name = 1, .dtype = 1, .count = 9},
};

static void
on_bytes_sent(void *owner, struct send_request *flow, uint64_t n_bytes)
{
    assert_true(n_bytes > 0 || flow->total == 0);
    assert_true(flow->handed <= flow->framed);
    assert_true(flow->framed <= flow->total);
}

static void
on_arrived(void *owner,
           struct recv_request *flow,
           const uint8_t *piece,
           size_t n_bytes)
{
    struct test_transport *test_transport = owner;
    struct sink *sink = flow->owner;

    assert_true(flow->arrived <= flow->allowed);
    if (!flow->place && sink && n_bytes > 0) {
        assert_non_null(piece);
        assert_int_equal(n_bytes % flow->element_size, 0);
        assert_int_equal(flow->arrived, sink->n_bytes + n_bytes);
        memcpy(sink->bytes + sink->n_bytes, piece, n_bytes);
    }
    if (sink) {
        sink->n_bytes += n_bytes;
        sink->n_pieces++;
    }
    if (test_transport->arrived_hook)
        test_transport->arrived_hook(test_transport, flow);
}

static void
note_tensor(struct test_transport *test_transport,
            const struct frame_tensor *tensor)
{
    test_transport->has_tensor = tensor;
    if (tensor)
        test_transport->tensor = *tensor;
}

static void
on_matched(void *owner,
           struct recv_request *flow,
           const struct frame *frame,
           const struct frame_tensor *tensor)
{
    const struct frame_tensor *expected = flow->label->tensor;
    struct test_transport *test_transport = owner;

    assert_true(flow->is_matched);
    assert_int_equal(frame->total, flow->total);
    test_transport->n_matched++;
    note_tensor(test_transport, tensor);
    if (!expected || expected->shape.n_dims != HOOP_ANY_SHAPE)
        return;
    flow->place = test_transport->room;
    if (!test_transport->room)
        transport_receive_cancel(test_transport->transport, flow);
}

static void
on_send_withdrawn(void *owner, struct recv_request *flow)
{
    struct test_transport *test_transport = owner;

    test_transport->n_retracted++;
    transport_receive_cancel(test_transport->transport, flow);
}

static enum transport_unexpected_action
on_unexpected(void *owner, uint32_t peer, const struct frame *frame)
{
    struct test_transport *test_transport = owner;

    test_transport->n_unexpected++;
    test_transport->peer = peer;
    test_transport->frame = *frame;
    return test_transport->action;
}

static void
on_mismatch(void *owner, const struct transport_mismatch *mismatch)
{
    struct test_transport *test_transport = owner;

    if (mismatch->kind != TRANSPORT_LIST_ENDED_EARLY) {
        test_transport->peer = mismatch->peer;
        test_transport->frame = *mismatch->frame;
    }
    if (mismatch->kind == TRANSPORT_MESSAGE_DOES_NOT_FIT)
        note_tensor(owner, mismatch->tensor);
    switch (mismatch->kind) {
    case TRANSPORT_MESSAGE_DOES_NOT_FIT:
    case TRANSPORT_CALL_DIFFERS:
        test_transport->n_mismatches++;
        test_transport->mismatched = mismatch->flow;
        break;
    case TRANSPORT_SIZE_DIFFERS:
        test_transport->n_size_mismatches++;
        test_transport->mismatch_total = mismatch->total;
        return;
    case TRANSPORT_SURPLUS_LIST_TENSOR:
        test_transport->n_extra_tensors++;
        test_transport->extra_part = mismatch->tensor->part;
        break;
    case TRANSPORT_LIST_ENDED_EARLY:
        test_transport->n_lists_ended++;
        break;
    }
    /* As the engine does: what failed is over. */
    if (mismatch->flow)
        transport_receive_cancel(test_transport->transport, mismatch->flow);
}

static void
on_control(void *owner,
           uint32_t peer,
           const struct frame *frame,
           const char *text)
{
    struct test_transport *test_transport = owner;

    if (frame->kind != FRAME_FAILURE_NOTICE)
        return;
    test_transport->n_failure_notices++;
    test_transport->peer = peer;
    test_transport->frame = *frame;
    snprintf(test_transport->text, sizeof(test_transport->text), "%s", text);
}

static void
on_peer_event(void *owner,
              uint32_t peer,
              enum transport_peer_event event,
              const char *why)
{
    struct test_transport *test_transport = owner;

    if (event == TRANSPORT_CLOSED)
        return;
    test_transport->peer = peer;
    test_transport->n_leaving += event == TRANSPORT_GOODBYE_DUE;
    test_transport->n_left += event == TRANSPORT_GOODBYE_RECEIVED;
    test_transport->n_damaged += event == TRANSPORT_CORRUPTED && why[0] != '\0';
    test_transport->n_lost += event == TRANSPORT_LOST;
    if (event == TRANSPORT_LOST)
        snprintf(test_transport->text, sizeof(test_transport->text), "%s", why);
}

static void
on_connection_needed(void *owner, uint32_t peer, unsigned stream)
{
    struct test_transport *test_transport = owner;

    if (stream > 0)
        return;
    test_transport->n_needed++;
    test_transport->peer = peer;
}

static const struct transport_events events = {
    .on_bytes_sent = on_bytes_sent,
    .on_arrived = on_arrived,
    .on_matched = on_matched,
    .on_send_withdrawn = on_send_withdrawn,
    .on_unexpected = on_unexpected,
    .on_mismatch = on_mismatch,
    .on_control = on_control,
    .on_peer_event = on_peer_event,
    .on_connection_needed = on_connection_needed,
};

void
test_transport_open(struct test_transport *test_transport,
                    uint32_t rank,
                    enum codec_id codec)
{
    *test_transport =
        (struct test_transport){.action = TRANSPORT_KEEP, .raw = {-1, -1, -1}};
    assert_ok(roster_create(TEST_TRANSPORT_RANKS, &test_transport->roster));
    test_transport->roster->rank = rank;
    test_transport->roster->epoch = TEST_TRANSPORT_EPOCH;
    default_config_init(&test_transport->config);
    test_transport->config.codec = codec;
    test_transport->config.n_streams = segments_streams();

    const struct transport_options options = {
        .roster = test_transport->roster,
        .events = &events,
        .owner = test_transport,
        .config = &test_transport->config,
    };
    assert_ok(transport_create(&options, &test_transport->transport));
}

void
test_transport_close(struct test_transport *test_transport)
{
    transport_destroy(test_transport->transport);
    roster_destroy(test_transport->roster);
    for (int i = 0; i < TEST_TRANSPORT_RANKS; i++) {
        if (test_transport->raw[i] >= 0)
            close(test_transport->raw[i]);
    }
}

void
test_transport_attach(struct test_transport *test_transport, uint32_t rank)
{
    int fds[2];

    pair_open(fds);
    transport_add_connection(test_transport->transport, rank, fds[0]);
    test_transport->raw[rank] = fds[1];
}

void
test_transport_connect(struct test_transport *one, struct test_transport *other)
{
    struct segment *ends[2];
    int fds[2];

    pair_open(fds);
    segments_open(ends);
    transport_add_shm_connection(one->transport, other->roster->rank, fds[0],
                                 ends[0]);
    transport_add_shm_connection(other->transport, one->roster->rank, fds[1],
                                 ends[1]);
}

void
test_transports_settle(struct test_transport *one, struct test_transport *other)
{
    for (unsigned n_quiet = 0; n_quiet < 3; n_quiet++) {
        if (transport_progress(one->transport, 0))
            n_quiet = 0;
        if (other && transport_progress(other->transport, 0))
            n_quiet = 0;
    }
}

void
test_transport_settle(struct test_transport *test_transport)
{
    test_transports_settle(test_transport, NULL);
}

void
test_transport_feed_bytes(struct test_transport *test_transport,
                          uint32_t rank,
                          struct codec_span bytes,
                          size_t n_each)
{
    size_t n_done = 0;

    while (n_done < bytes.n_bytes && test_transport->n_lost == 0) {
        const size_t n_left = bytes.n_bytes - n_done;
        const ssize_t n = send(test_transport->raw[rank], bytes.bytes + n_done,
                               n_left < n_each ? n_left : n_each, MSG_NOSIGNAL);

        if (n < 0 && errno != EAGAIN)
            break;
        if (n > 0)
            n_done += (size_t)n;
        transport_progress(test_transport->transport, 0);
    }
    test_transport_settle(test_transport);
}

size_t
frame_bytes(const struct frame *frame, const uint8_t *payload, uint8_t *out)
{
    const size_t n_padded_payload = frame_padded(frame->stored);

    memset(out, 0, LIMIT_FRAME_HEADER + n_padded_payload);
    frame_encode(frame, out);
    if (frame->stored)
        memcpy(out + LIMIT_FRAME_HEADER, payload, frame->stored);
    return LIMIT_FRAME_HEADER + n_padded_payload;
}

void
test_transport_feed(struct test_transport *test_transport,
                    uint32_t rank,
                    const struct frame *frame,
                    const void *payload)
{
    test_transport_feed_tensor(test_transport, rank, frame, NULL, payload);
}

void
test_transport_feed_tensor(struct test_transport *test_transport,
                           uint32_t rank,
                           const struct frame *frame,
                           const struct frame_tensor *tensor,
                           const void *payload)
{
    uint8_t *bytes = malloc(LIMIT_FRAME_HEADER + LIMIT_FRAME_PAYLOAD);

    assert_non_null(bytes);
    const size_t n_bytes = frame_bytes(frame, payload, bytes);
    if (tensor)
        frame_tensor_append(tensor, bytes);
    test_transport_feed_bytes(test_transport, rank,
                              (struct codec_span){bytes, n_bytes}, n_bytes);
    free(bytes);
}

/* All n_bytes, while the transport writes; false: it writes nothing. */
static bool
raw_read(struct test_transport *test_transport,
         uint32_t rank,
         uint8_t *bytes,
         size_t n_bytes)
{
    size_t n_done = 0;
    unsigned n_quiet = 0;

    while (n_done < n_bytes && n_quiet < 3) {
        const ssize_t n = recv(test_transport->raw[rank], bytes + n_done,
                               n_bytes - n_done, 0);

        n_done += n > 0 ? (size_t)n : 0;
        n_quiet++;
        if (n > 0 || transport_progress(test_transport->transport, 0))
            n_quiet = 0;
    }
    assert_true(n_done == 0 || n_done == n_bytes);
    return n_done > 0;
}

struct frame_tensor test_transport_next_tensor;

bool
test_transport_next_frame(struct test_transport *test_transport,
                          uint32_t rank,
                          struct frame *out_frame,
                          uint8_t *out_payload)
{
    uint8_t header[LIMIT_FRAME_HEADER];
    uint8_t padding[LIMIT_FRAME_PAD];

    if (!raw_read(test_transport, rank, header, sizeof(header)))
        return false;
    assert_ok(frame_decode(header, out_frame));
    if (frame_is_tensor(out_frame))
        assert_ok(frame_tensor_read(header, &test_transport_next_tensor));
    assert_int_equal(out_frame->epoch, TEST_TRANSPORT_EPOCH);
    if (out_frame->stored == 0)
        return true;
    const size_t n_padding = -out_frame->stored % LIMIT_FRAME_PAD;
    assert_true(raw_read(test_transport, rank, out_payload, out_frame->stored));
    if (n_padding)
        assert_true(raw_read(test_transport, rank, padding, n_padding));
    return true;
}

void
test_transport_hang_up(struct test_transport *test_transport, uint32_t rank)
{
    close(test_transport->raw[rank]);
    test_transport->raw[rank] = -1;
    test_transport_settle(test_transport);
}

static uint8_t
pattern_at(size_t i, unsigned seed)
{
    return (uint8_t)((i * 2654435761u + seed * 40503u) >> 13);
}

void
pattern_fill(uint8_t *bytes, size_t n_bytes, unsigned seed)
{
    for (size_t i = 0; i < n_bytes; i++)
        bytes[i] = pattern_at(i, seed);
}

void
pattern_check(const uint8_t *bytes, size_t n_bytes, unsigned seed)
{
    for (size_t i = 0; i < n_bytes; i++) {
        if (bytes[i] != pattern_at(i, seed))
            fail_msg("byte %zu of %zu is wrong (seed %u)", i, n_bytes, seed);
    }
}

struct frame
frame_collective(uint64_t offset, uint32_t n_bytes, uint64_t total)
{
    return (struct frame){
        .kind = FRAME_COLLECTIVE,
        .epoch = TEST_TRANSPORT_EPOCH,
        .comm = TEST_TRANSPORT_COMM,
        .op = 1,
        .step = 2,
        .signature = TEST_TRANSPORT_SIGNATURE,
        .offset = offset,
        .total = total,
        .raw = n_bytes,
        .stored = n_bytes,
        .call = test_transport_label.call,
    };
}

struct frame
frame_message(uint64_t op, uint64_t tag, uint32_t n_bytes, uint64_t total)
{
    return (struct frame){
        .kind = FRAME_MESSAGE,
        .flags = FRAME_EAGER,
        .epoch = TEST_TRANSPORT_EPOCH,
        .comm = TEST_TRANSPORT_COMM,
        .op = op,
        .tag = tag,
        .total = total,
        .raw = n_bytes,
        .stored = n_bytes,
        .call = test_transport_label.call,
    };
}

struct send_request
send_request_collective(uint32_t peer, const uint8_t *bytes, uint64_t total)
{
    return (struct send_request){
        .key = {.comm = TEST_TRANSPORT_COMM, .op = 1, .step = 2, .peer = peer},
        .label = &test_transport_label,
        .bytes = bytes,
        .total = total,
        .ready = total,
    };
}

struct recv_request
recv_request_collective(uint32_t peer, uint8_t *place, uint64_t total)
{
    return (struct recv_request){
        .key = {.comm = TEST_TRANSPORT_COMM, .op = 1, .step = 2, .peer = peer},
        .label = &test_transport_label,
        .place = place,
        .element_size = 1,
        .total = total,
        .allowed = total,
    };
}
