/* tests/unit/worker/transport/stream/header_test.c - stream/header.c */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "transport/peer.h"
#include "unit/worker/transport/test_transport.h"

enum {
    SMALL = 40,
    LARGE = 3 << 20,
    WIRE_MAX = 4096,
    GUARD = 0xA5,
};

struct wire {
    uint8_t bytes[WIRE_MAX];
    size_t n_bytes;
};

static uint8_t sent[LARGE];
static uint8_t received[LARGE];

static void
summing_open(struct test_transport *test_transport,
             uint32_t rank,
             enum codec_id codec)
{
    test_transport_open(test_transport, rank, codec);
    test_transport->config.has_frame_checksums = true;
}

/* All that rank 0 writes to rank 1 when it is told to by ask. */
static void
wire_record(void (*ask)(struct transport *transport), struct wire *out_wire)
{
    struct test_transport test_transport;
    ssize_t n;

    summing_open(&test_transport, 0, CODEC_NONE);
    test_transport_attach(&test_transport, 1);
    ask(test_transport.transport);
    test_transport_settle(&test_transport);
    out_wire->n_bytes = 0;
    while ((n = recv(test_transport.raw[1], out_wire->bytes + out_wire->n_bytes,
                     WIRE_MAX - out_wire->n_bytes, MSG_DONTWAIT)) > 0)
        out_wire->n_bytes += (size_t)n;
    assert_true(n < 0 && errno == EAGAIN);
    assert_true(out_wire->n_bytes > 0);
    test_transport_close(&test_transport);
}

/* Rank 1, to whom wire comes from rank 0. */
static void
wire_play(const struct wire *wire, struct test_transport *test_transport)
{
    test_transport_feed_bytes(test_transport, 0,
                              (struct codec_span){wire->bytes, wire->n_bytes},
                              wire->n_bytes);
}

static void
ask_collective(struct transport *transport)
{
    static struct send_request flow;

    flow = send_request_collective(1, sent, SMALL);
    transport_send(transport, &flow);
    transport_flush(transport);
}

static const struct frame_tensor square = {0, {2, {2, 5}}};
static const struct flow_label tensor_label = {
    .epoch = TEST_TRANSPORT_EPOCH,
    .tag = 4,
    .call = {.name = 24, .dtype = HOOP_FLOAT32, .count = 10},
    .tensor = &square,
};

static void
ask_tensor(struct transport *transport)
{
    static struct send_request flow;

    flow = send_request_collective(1, sent, SMALL);
    flow.key.kind = FLOW_MESSAGE;
    flow.label = &tensor_label;
    transport_send(transport, &flow);
    transport_flush(transport);
}

static void
ask_verdict(struct transport *transport)
{
    const struct frame verdict = {.kind = FRAME_FAILURE_NOTICE,
                                  .epoch = TEST_TRANSPORT_EPOCH,
                                  .comm = TEST_TRANSPORT_COMM,
                                  .op = 1};

    transport_send_control(transport, 1, &verdict, "as it was");
    transport_flush(transport);
}

/* How the receiver takes the collective's or the tensor's bytes. */
enum way {
    WAY_PLACED,
    WAY_COMBINED,
    WAY_EARLY,
    WAY_TENSOR,
};

static struct sink sink;

static struct recv_request
inflow_open(struct test_transport *test_transport, enum way way)
{
    struct recv_request flow = recv_request_collective(0, received, SMALL);

    sink = (struct sink){.bytes = received};
    flow.owner = &sink;
    if (way == WAY_COMBINED)
        flow.place = NULL;
    if (way == WAY_TENSOR) {
        flow.key.kind = FLOW_MESSAGE;
        flow.label = &tensor_label;
    }
    memset(received, GUARD, SMALL);
    return flow;
}

/* True when all came; false when the peer was lost. Nothing in between, and no
 * byte that is not the sender's. */
static bool
arrives(const struct wire *wire, enum way way)
{
    struct test_transport test_transport;

    summing_open(&test_transport, 1, CODEC_NONE);
    test_transport_attach(&test_transport, 0);
    struct recv_request flow = inflow_open(&test_transport, way);
    if (way != WAY_EARLY)
        transport_receive(test_transport.transport, &flow);
    wire_play(wire, &test_transport);
    assert_int_equal(test_transport.n_mismatches, 0);
    if (way == WAY_EARLY && test_transport.n_lost == 0) {
        transport_receive(test_transport.transport, &flow);
        test_transport_settle(&test_transport);
    }
    const bool has_arrived = test_transport.n_lost == 0;
    if (has_arrived) {
        assert_int_equal(sink.n_bytes, SMALL);
        assert_memory_equal(received, sent, SMALL);
    } else {
        assert_int_equal(sink.n_bytes, 0);
        for (size_t i = 0; i < SMALL; i++)
            assert_int_equal(received[i], GUARD);
    }
    if (flow.is_open)
        transport_receive_cancel(test_transport.transport, &flow);
    test_transport_close(&test_transport);
    return has_arrived;
}

static void
flipped_bit_is_never_delivered(void **state)
{
    static const enum way ways[] = {WAY_PLACED, WAY_COMBINED, WAY_EARLY,
                                    WAY_TENSOR};
    struct wire wire;

    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        wire_record(ways[i] == WAY_TENSOR ? ask_tensor : ask_collective, &wire);
        assert_true(arrives(&wire, ways[i]));
        /* Of each byte one; all, the first way. */
        for (size_t bit = 0; bit < 8 * wire.n_bytes; bit += i == 0 ? 1 : 9) {
            const bool is_payload =
                bit / 8 >= LIMIT_FRAME_HEADER &&
                bit / 8 < LIMIT_FRAME_HEADER + (size_t)SMALL;

            wire.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            const bool has_arrived = arrives(&wire, ways[i]);
            wire.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
            assert_false(is_payload && has_arrived);
        }
    }
}

static void
flipped_bit_of_a_verdict_is_not_believed(void **state)
{
    struct wire wire;

    wire_record(ask_verdict, &wire);
    for (size_t bit = 0; bit < 8 * wire.n_bytes; bit++) {
        struct test_transport test_transport;

        summing_open(&test_transport, 1, CODEC_NONE);
        test_transport_attach(&test_transport, 0);
        wire.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        wire_play(&wire, &test_transport);
        wire.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_int_equal(
            test_transport.n_failure_notices + test_transport.n_lost, 1);
        if (test_transport.n_failure_notices > 0)
            assert_string_equal(test_transport.text, "as it was");
        test_transport_close(&test_transport);
    }
}

static void
damage_names_the_connection(void **state)
{
    struct test_transport test_transport;
    struct wire wire;

    wire_record(ask_verdict, &wire);
    summing_open(&test_transport, 1, CODEC_NONE);
    test_transport_attach(&test_transport, 0);
    wire.bytes[LIMIT_FRAME_HEADER] ^= 1;
    wire_play(&wire, &test_transport);
    assert_non_null(
        strstr(test_transport.text, "damaged on the way to rank 1"));
    assert_non_null(strstr(test_transport.text, "checksum of a payload"));
    test_transport_close(&test_transport);
}

static void
frame_without_checksum_is_refused_where_all_have_them(void **state)
{
    const struct frame frame = frame_collective(0, SMALL, SMALL);
    struct test_transport test_transport;

    summing_open(&test_transport, 0, CODEC_NONE);
    test_transport_attach(&test_transport, 1);
    test_transport_feed(&test_transport, 1, &frame, sent);
    assert_int_equal(test_transport.n_lost, 1);
    assert_non_null(strstr(test_transport.text,
                           "it has HOOP_CHECKSUM=off, but rank 0 has on"));
    test_transport_close(&test_transport);
}

/* Also by who sends none. */
static void
checksum_is_checked_wherever_there_is_one(void **state)
{
    struct test_transport test_transport;
    struct wire wire;

    wire_record(ask_verdict, &wire);
    test_transport_open(&test_transport, 1, CODEC_NONE);
    test_transport_attach(&test_transport, 0);
    wire.bytes[LIMIT_FRAME_HEADER] ^= 1;
    wire_play(&wire, &test_transport);
    assert_int_equal(test_transport.n_failure_notices, 0);
    assert_int_equal(test_transport.n_lost, 1);
    test_transport_close(&test_transport);
}

/* Many frames, coded or not, through sockets or memory. */
static void
large_message_with_checksums_comes_whole(void **state)
{
    static const enum codec_id codecs[] = {CODEC_NONE, CODEC_ZSTD};

    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        struct send_request send_request =
            send_request_collective(1, sent, LARGE);
        struct recv_request recv_request =
            recv_request_collective(0, received, LARGE);
        struct test_transport from;
        struct test_transport to;

        summing_open(&from, 0, codecs[i]);
        summing_open(&to, 1, codecs[i]);
        test_transport_connect(&from, &to);
        memset(received, GUARD, sizeof(received));
        transport_receive(to.transport, &recv_request);
        transport_send(from.transport, &send_request);
        test_transports_settle(&from, &to);
        assert_true(transport_has_all_bytes(&recv_request));
        assert_memory_equal(received, sent, LARGE);
        assert_int_equal(from.n_lost + to.n_lost, 0);
        transport_receive_cancel(to.transport, &recv_request);
        test_transport_close(&from);
        test_transport_close(&to);
    }
}

static const struct frame sign = {.kind = FRAME_HEARTBEAT,
                                  .epoch = TEST_TRANSPORT_EPOCH};

static void
sign_of_life_says_which_frame_it_is(void **state)
{
    struct send_request flow = send_request_collective(1, sent, SMALL);
    struct test_transport test_transport;
    struct frame frame;

    test_transport_open(&test_transport, 0, CODEC_NONE);
    test_transport_attach(&test_transport, 1);
    transport_send(test_transport.transport, &flow);
    assert_true(
        test_transport_next_frame(&test_transport, 1, &frame, received));
    assert_int_equal(frame.tag, flow.label->tag);
    for (uint64_t number = 2; number < 4; number++) {
        transport_send_control(test_transport.transport, 1, &sign, NULL);
        assert_true(
            test_transport_next_frame(&test_transport, 1, &frame, received));
        assert_int_equal(frame.kind, FRAME_HEARTBEAT);
        assert_int_equal(frame.tag, number);
    }
    transport_start_shutdown(test_transport.transport);
    assert_true(
        test_transport_next_frame(&test_transport, 1, &frame, received));
    assert_int_equal(frame.kind, FRAME_GOODBYE);
    assert_int_equal(frame.tag, 4);
    test_transport_close(&test_transport);
}

/* Two frames that say nothing have come from rank 0, then one of this kind. */
static void
third_frame_play(enum frame_kind kind,
                 uint64_t number,
                 struct test_transport *test_transport)
{
    struct frame third = sign;

    test_transport_open(test_transport, 1, CODEC_NONE);
    test_transport_attach(test_transport, 0);
    test_transport_feed(test_transport, 0, &sign, NULL);
    test_transport_feed(test_transport, 0, &sign, NULL);
    third.kind = kind;
    third.tag = number;
    test_transport_feed(test_transport, 0, &third, NULL);
}

static void
frame_that_is_missing_before_a_sign_of_life_loses_the_link(void **state)
{
    static const enum frame_kind kinds[] = {FRAME_HEARTBEAT, FRAME_GOODBYE};
    struct test_transport test_transport;

    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        third_frame_play(kinds[i], 3, &test_transport);
        assert_int_equal(test_transport.n_lost, 0);
        test_transport_close(&test_transport);

        third_frame_play(kinds[i], 4, &test_transport);
        assert_int_equal(test_transport.n_lost, 1);
        assert_non_null(strstr(test_transport.text,
                               "frames from it were lost on the way to rank 1: "
                               "3 of 4 have come (TCP, "));
        test_transport_close(&test_transport);

        /* One that came twice has shown it by other signs. */
        third_frame_play(kinds[i], 2, &test_transport);
        assert_int_equal(test_transport.n_lost, 0);
        test_transport_close(&test_transport);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flipped_bit_is_never_delivered),
        cmocka_unit_test(flipped_bit_of_a_verdict_is_not_believed),
        cmocka_unit_test(damage_names_the_connection),
        cmocka_unit_test(frame_without_checksum_is_refused_where_all_have_them),
        cmocka_unit_test(checksum_is_checked_wherever_there_is_one),
        cmocka_unit_test(large_message_with_checksums_comes_whole),
        cmocka_unit_test(sign_of_life_says_which_frame_it_is),
        cmocka_unit_test(
            frame_that_is_missing_before_a_sign_of_life_loses_the_link),
    };

    pattern_fill(sent, sizeof(sent), 5);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
