/* tests/unit/worker/transport/stream/send_test.c - transport/stream/send.c */

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "unit/worker/transport/tcp_fixture.h"

enum {
    BIG = TCP_FIXTURE_BYTES,
    SMALL = 1000,
};

/* The next frame is a payload of this size that belongs at offset. */
static void
expect_payload(uint64_t offset, uint32_t n_bytes)
{
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.kind, FRAME_COLLECTIVE);
    assert_int_equal(tcp_fixture.frame.offset, offset);
    assert_int_equal(tcp_fixture.frame.raw, n_bytes);
    assert_memory_equal(tcp_fixture.payload, tcp_fixture.bytes + offset,
                        n_bytes);
}

static void
grant(uint64_t up_to, uint64_t total)
{
    struct frame frame = frame_collective(up_to, 0, total);

    frame.kind = FRAME_GRANT;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame, NULL);
}

static void
credit(uint64_t n_bytes)
{
    const struct frame frame = {
        .kind = FRAME_CREDIT, .epoch = TEST_TRANSPORT_EPOCH, .total = n_bytes};

    test_transport_feed(&tcp_fixture.test_transport, 1, &frame, NULL);
}

static void
send_of_little_goes_eagerly_in_one_frame(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, SMALL);
    struct transport_stats stats;

    transport_send(tcp_fixture.test_transport.transport, &flow);
    assert_int_equal(flow.handed, 0);
    expect_payload(0, SMALL);
    assert_int_equal(tcp_fixture.frame.flags, FRAME_EAGER);
    assert_int_equal(tcp_fixture.frame.comm, TEST_TRANSPORT_COMM);
    assert_int_equal(tcp_fixture.frame.op, 1);
    assert_int_equal(tcp_fixture.frame.step, 2);
    assert_int_equal(tcp_fixture.frame.total, SMALL);
    assert_int_equal(tcp_fixture.frame.call.count, 9);
    assert_int_equal(flow.handed, SMALL);
    assert_false(tcp_fixture_next_frame());
    transport_stats(tcp_fixture.test_transport.transport, &stats);
    assert_int_equal(stats.bytes_sent, SMALL);
}

static void
send_of_nothing_is_one_empty_frame(void **state)
{
    struct send_request flow = send_request_collective(1, NULL, 0);

    transport_send(tcp_fixture.test_transport.transport, &flow);
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.raw, 0);
    assert_int_equal(tcp_fixture.frame.kind, FRAME_COLLECTIVE);
    assert_true(flow.is_first_frame_cut);
    assert_false(tcp_fixture_next_frame());
}

static void
send_of_much_waits_for_grants_and_stays_within(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, BIG);

    transport_send(tcp_fixture.test_transport.transport, &flow);
    expect_payload(0, LIMIT_EAGER_MESSAGE);
    assert_int_equal(tcp_fixture.frame.flags & FRAME_EAGER, FRAME_EAGER);
    assert_false(tcp_fixture_next_frame());

    grant(LIMIT_EAGER_MESSAGE + 700000, BIG);
    expect_payload(LIMIT_EAGER_MESSAGE, LIMIT_FRAME_PAYLOAD);
    assert_int_equal(tcp_fixture.frame.flags & FRAME_EAGER, 0);
    expect_payload(LIMIT_EAGER_MESSAGE + LIMIT_FRAME_PAYLOAD,
                   700000 - LIMIT_FRAME_PAYLOAD);
    assert_false(tcp_fixture_next_frame());
    assert_int_equal(flow.handed, LIMIT_EAGER_MESSAGE + 700000);

    /* A smaller grant takes nothing back. */
    grant(1, BIG);
    assert_false(tcp_fixture_next_frame());
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
grant_of_all_lets_all_go(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, BIG);
    uint64_t n_bytes = 0;

    transport_send(tcp_fixture.test_transport.transport, &flow);
    expect_payload(0, LIMIT_EAGER_MESSAGE);
    n_bytes = LIMIT_EAGER_MESSAGE;
    grant(BIG, BIG);
    while (tcp_fixture_next_frame()) {
        assert_int_equal(tcp_fixture.frame.offset, n_bytes);
        assert_memory_equal(tcp_fixture.payload, tcp_fixture.bytes + n_bytes,
                            tcp_fixture.frame.raw);
        n_bytes += tcp_fixture.frame.raw;
    }
    assert_int_equal(n_bytes, BIG);
    assert_int_equal(flow.handed, BIG);
    assert_false(flow.is_queued);
}

static void
send_stays_within_what_is_ready(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, SMALL);

    flow.ready = 0;
    transport_send(tcp_fixture.test_transport.transport, &flow);
    assert_false(tcp_fixture_next_frame());
    flow.ready = 300;
    transport_send_data_ready(tcp_fixture.test_transport.transport, &flow);
    expect_payload(0, 300);
    assert_false(tcp_fixture_next_frame());
    assert_int_equal(flow.handed, 300);
    flow.ready = SMALL;
    transport_send_data_ready(tcp_fixture.test_transport.transport, &flow);
    expect_payload(300, SMALL - 300);
}

static void
send_of_what_is_forwarded_goes_first(void **state)
{
    struct send_request own =
        send_request_collective(1, tcp_fixture.bytes, SMALL);
    struct send_request forwarded = own;

    forwarded.key.step++;
    forwarded.ready = 0;
    transport_send(tcp_fixture.test_transport.transport, &own);
    transport_send(tcp_fixture.test_transport.transport, &forwarded);
    forwarded.ready = SMALL;
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.step, forwarded.key.step);
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.step, own.key.step);
}

/* Announced flows are asked for with the whole call. */
static void
expect_announcement(uint64_t op)
{
    assert_int_equal(tcp_fixture.frame.kind, FRAME_ANNOUNCE);
    assert_int_equal(tcp_fixture.frame.op, op);
    assert_int_equal(tcp_fixture.frame.raw, 0);
    assert_int_equal(tcp_fixture.frame.total, SMALL);
    assert_int_equal(tcp_fixture.frame.signature, TEST_TRANSPORT_SIGNATURE);
}

static void
window_is_never_exceeded_and_returned_credit_is_used(void **state)
{
    enum {
        COST = SMALL + LIMIT_FRAME_HEADER,
        N_FIT = LIMIT_EAGER_WINDOW / COST,
        N_FLOWS = N_FIT + 2
    };
    struct send_request *flows = calloc(N_FLOWS, sizeof(*flows));
    unsigned n_eager = 0;

    for (unsigned i = 0; i < N_FLOWS; i++) {
        flows[i] = send_request_collective(1, tcp_fixture.bytes, SMALL);
        flows[i].key.op = i;
        transport_send(tcp_fixture.test_transport.transport, &flows[i]);
    }
    while (tcp_fixture_next_frame() &&
           tcp_fixture.frame.kind == FRAME_COLLECTIVE) {
        assert_int_equal(tcp_fixture.frame.op, n_eager);
        n_eager++;
    }
    assert_int_equal(n_eager, N_FIT);
    expect_announcement(N_FIT);
    assert_true(tcp_fixture_next_frame());
    expect_announcement(N_FIT + 1);
    assert_false(tcp_fixture_next_frame());

    /* A grant costs no credit. */
    struct frame frame = frame_collective(SMALL, 0, SMALL);
    frame.kind = FRAME_GRANT;
    frame.op = N_FIT + 1;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame, NULL);
    expect_payload(0, SMALL);
    assert_int_equal(tcp_fixture.frame.op, N_FIT + 1);
    assert_int_equal(tcp_fixture.frame.flags, 0);

    /* Returned credit is for those that come: who has asked is granted. */
    struct send_request late =
        send_request_collective(1, tcp_fixture.bytes, SMALL);
    late.key.op = N_FLOWS;
    credit(COST);
    assert_false(tcp_fixture_next_frame());
    transport_send(tcp_fixture.test_transport.transport, &late);
    expect_payload(0, SMALL);
    assert_int_equal(tcp_fixture.frame.op, N_FLOWS);
    assert_int_equal(tcp_fixture.frame.flags, FRAME_EAGER);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flows[N_FIT]);
    free(flows);
}

/* Nobody reads: what fits the socket is out, one frame is half. */
static void
fill_socket(struct send_request *flow)
{
    transport_send(tcp_fixture.test_transport.transport, flow);
    flow->granted = flow->total;
    test_transport_settle(&tcp_fixture.test_transport);
    assert_true(flow->handed > 0);
    assert_true(flow->handed < flow->framed);
}

static void
send_cancel_copies_the_rest_of_a_half_sent_frame(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, BIG);
    struct send_request other =
        send_request_collective(1, tcp_fixture.bytes, SMALL);
    uint64_t n_bytes = 0;

    fill_socket(&flow);
    const uint64_t n_framed = flow.framed;
    uint8_t *before = malloc(BIG);
    memcpy(before, tcp_fixture.bytes, BIG);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
    memset(tcp_fixture.bytes, 0xEE, BIG);

    /* Frames that were cut are ended as they were; no other is begun. */
    while (tcp_fixture_next_frame()) {
        assert_int_equal(tcp_fixture.frame.offset, n_bytes);
        assert_memory_equal(tcp_fixture.payload, before + n_bytes,
                            tcp_fixture.frame.raw);
        n_bytes += tcp_fixture.frame.raw;
    }
    assert_int_equal(n_bytes, n_framed);

    /* The stream is as good as before. */
    other.key.op = 2;
    transport_send(tcp_fixture.test_transport.transport, &other);
    expect_payload(0, SMALL);
    assert_int_equal(tcp_fixture.frame.op, 2);
    free(before);
}

static void
send_cancel_of_what_has_not_begun_sends_nothing(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, SMALL);

    transport_send(tcp_fixture.test_transport.transport, &flow);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
    assert_false(tcp_fixture_next_frame());
    assert_int_equal(flow.framed, 0);
}

static void
send_is_handed_when_the_kernel_has_it(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, BIG);
    uint64_t n_read = 0;

    fill_socket(&flow);
    assert_true(flow.handed < BIG);
    while (tcp_fixture_next_frame())
        n_read += tcp_fixture.frame.raw;
    assert_int_equal(n_read, BIG);
    assert_int_equal(flow.handed, BIG);
}

static void
verdict_goes_before_the_data_with_its_text(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, SMALL);
    const struct frame verdict = {.kind = FRAME_FAILURE_NOTICE,
                                  .epoch = TEST_TRANSPORT_EPOCH,
                                  .comm = TEST_TRANSPORT_COMM,
                                  .op = 3};

    transport_send(tcp_fixture.test_transport.transport, &flow);
    transport_send_control(tcp_fixture.test_transport.transport, 1, &verdict,
                           "rank 2 is gone");
    /* Nobody is there to hear it. */
    transport_send_control(tcp_fixture.test_transport.transport, 2, &verdict,
                           "rank 2 is gone");
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.kind, FRAME_FAILURE_NOTICE);
    assert_int_equal(tcp_fixture.frame.op, 3);
    assert_int_equal(tcp_fixture.frame.raw, 14);
    assert_int_equal(tcp_fixture.frame.total, 14);
    assert_memory_equal(tcp_fixture.payload, "rank 2 is gone", 14);
    expect_payload(0, SMALL);
}

static void
send_codes_what_shrinks_and_hands_it_at_once(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, 50000);
    struct codec *codec = NULL;
    uint8_t *raw = malloc(50000);

    memset(tcp_fixture.bytes, 7, 50000);
    transport_send(tcp_fixture.test_transport.transport, &flow);
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.codec, CODEC_ZSTD);
    assert_int_equal(tcp_fixture.frame.raw, 50000);
    assert_true(tcp_fixture.frame.stored < 1000);
    assert_int_equal(flow.handed, 50000);
    assert_ok(codec_create(&codec));
    assert_ok(codec_decode(
        codec, CODEC_ZSTD,
        (struct codec_span){tcp_fixture.payload, tcp_fixture.frame.stored}, raw,
        50000));
    assert_memory_equal(raw, tcp_fixture.bytes, 50000);
    codec_destroy(codec);
    free(raw);
}

static void
send_leaves_uncoded_what_is_small_or_dense(void **state)
{
    struct send_request small =
        send_request_collective(1, tcp_fixture.bytes, 512);
    struct send_request dense =
        send_request_collective(1, tcp_fixture.bytes, 50000);
    uint32_t random = 1;

    dense.key.op = 2;
    memset(tcp_fixture.bytes, 7, 512);
    for (size_t i = 512; i < 50000; i++) {
        random = random * 1664525 + 1013904223;
        tcp_fixture.bytes[i] = (uint8_t)(random >> 24);
    }
    transport_send(tcp_fixture.test_transport.transport, &small);
    transport_send(tcp_fixture.test_transport.transport, &dense);
    expect_payload(0, 512);
    assert_int_equal(tcp_fixture.frame.codec, CODEC_NONE);
    expect_payload(0, 50000);
    assert_int_equal(tcp_fixture.frame.codec, CODEC_NONE);
}

/* Coded: a cancelled frame is a copy already. */
static void
send_cancel_of_coded_frames_ends_them(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, BIG);
    uint32_t random = 9;

    for (size_t i = 0; i < BIG; i++) {
        random = random * 1664525 + 1013904223;
        tcp_fixture.bytes[i] = (uint8_t)(random >> 25);
    }
    transport_send(tcp_fixture.test_transport.transport, &flow);
    flow.granted = BIG;
    test_transport_settle(&tcp_fixture.test_transport);
    assert_true(flow.framed > 0);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
    const uint64_t n_framed = flow.framed;
    uint64_t n_bytes = 0;
    memset(tcp_fixture.bytes, 0xEE, BIG);
    while (tcp_fixture_next_frame()) {
        assert_int_equal(tcp_fixture.frame.codec, CODEC_ZSTD);
        n_bytes += tcp_fixture.frame.raw;
    }
    assert_int_equal(n_bytes, n_framed);
}

static void
send_to_a_peer_that_is_gone_loses_it(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, SMALL);

    test_transport_hang_up(&tcp_fixture.test_transport, 1);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_string_equal(tcp_fixture.test_transport.text, "connection reset");
    transport_send(tcp_fixture.test_transport.transport, &flow);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_int_equal(flow.handed, 0);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
peer_that_dies_while_the_socket_is_full_is_lost(void **state)
{
    struct send_request flow =
        send_request_collective(1, tcp_fixture.bytes, BIG);

    fill_socket(&flow);
    test_transport_hang_up(&tcp_fixture.test_transport, 1);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_false(flow.is_queued);
    transport_send_cancel(tcp_fixture.test_transport.transport, &flow);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TCP_FIXTURE_TEST(send_of_little_goes_eagerly_in_one_frame),
        TCP_FIXTURE_TEST(send_of_nothing_is_one_empty_frame),
        TCP_FIXTURE_TEST(send_of_much_waits_for_grants_and_stays_within),
        TCP_FIXTURE_TEST(grant_of_all_lets_all_go),
        TCP_FIXTURE_TEST(send_stays_within_what_is_ready),
        TCP_FIXTURE_TEST(send_of_what_is_forwarded_goes_first),
        TCP_FIXTURE_TEST(window_is_never_exceeded_and_returned_credit_is_used),
        TCP_FIXTURE_TEST(send_cancel_copies_the_rest_of_a_half_sent_frame),
        TCP_FIXTURE_TEST(send_cancel_of_what_has_not_begun_sends_nothing),
        TCP_FIXTURE_TEST(send_is_handed_when_the_kernel_has_it),
        TCP_FIXTURE_TEST(verdict_goes_before_the_data_with_its_text),
        TCP_FIXTURE_TEST_ZSTD(send_codes_what_shrinks_and_hands_it_at_once),
        TCP_FIXTURE_TEST_ZSTD(send_leaves_uncoded_what_is_small_or_dense),
        TCP_FIXTURE_TEST_ZSTD(send_cancel_of_coded_frames_ends_them),
        TCP_FIXTURE_TEST(send_to_a_peer_that_is_gone_loses_it),
        TCP_FIXTURE_TEST(peer_that_dies_while_the_socket_is_full_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
