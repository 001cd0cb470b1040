/* tests/unit/worker/transport/match_tensor_test.c - tensors, in
 * transport/match.c and around */

#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "tcp_fixture.h"

enum {
    BYTES = 1200,
    LARGE = 2 * LIMIT_EAGER_WHOLE_MESSAGE,
    DTYPE = 1, /* of one byte, as test_transport_label has it */
};

static struct flow_label posted_label;
static struct frame_tensor posted_tensor;

static const struct frame_tensor table = {0, {2, {40, 30}}};
static const struct frame_tensor any = {0, {HOOP_ANY_SHAPE, {0}}};

/* tensor NULL: bytes. */
static struct recv_request
posted(const struct frame_tensor *tensor, uint64_t total)
{
    const bool is_any = tensor && tensor->shape.n_dims == HOOP_ANY_SHAPE;

    posted_label = test_transport_label;
    if (tensor) {
        posted_tensor = *tensor;
        posted_label.tensor = &posted_tensor;
    }
    if (is_any)
        posted_label.call.dtype = FRAME_ANY_DTYPE;
    return (struct recv_request){
        .key = {.comm = TEST_TRANSPORT_COMM, .peer = 1, .kind = FLOW_MESSAGE},
        .label = &posted_label,
        .place = is_any ? NULL : tcp_fixture.received,
        .element_size = 1,
        .total = is_any ? 0 : total,
    };
}

static void
feed(uint64_t op, const struct frame_tensor *tensor)
{
    struct frame frame = frame_message(op, 0, BYTES, BYTES);

    frame.call.dtype = DTYPE;
    if (tensor)
        frame.flags |= FRAME_TENSOR;
    test_transport_feed_tensor(&tcp_fixture.test_transport, 1, &frame, tensor,
                               tcp_fixture.bytes);
}

static void
assert_received(const struct recv_request *flow)
{
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 0);
    assert_int_equal(flow->arrived, BYTES);
    pattern_check(tcp_fixture.received, BYTES, 1);
    assert_int_equal(tcp_fixture.received[BYTES], TCP_FIXTURE_GUARD);
    assert_true(tcp_fixture.test_transport.has_tensor);
    assert_memory_equal(&tcp_fixture.test_transport.tensor, &table,
                        sizeof(table));
}

static void
expect_tensor(const struct frame_tensor *expected)
{
    struct transport *transport = tcp_fixture.test_transport.transport;
    struct recv_request flow = posted(expected, BYTES);

    tcp_fixture.test_transport.room = tcp_fixture.received;
    transport_receive(transport, &flow);
    feed(1, &table);
    assert_received(&flow);
    transport_receive_cancel(transport, &flow);

    /* And when it is there before. */
    memset(tcp_fixture.received, TCP_FIXTURE_GUARD, TCP_FIXTURE_BYTES);
    tcp_fixture.test_transport.has_tensor = false;
    feed(2, &table);
    flow = posted(expected, BYTES);
    transport_receive(transport, &flow);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_received(&flow);
    transport_receive_cancel(transport, &flow);
}

static void
tensor_that_is_expected_is_received(void **state)
{
    expect_tensor(&table);
}

static void
tensor_of_any_shape_is_placed_where_the_owner_says(void **state)
{
    expect_tensor(&any);
}

static void
tensor_is_announced_granted_and_received(void **state)
{
    const struct frame_tensor large = {0, {3, {4, 1, LARGE / 4}}};
    struct recv_request flow = posted(&any, 0);
    struct frame frame = frame_message(1, 0, 0, LARGE);

    tcp_fixture.test_transport.room = tcp_fixture.received;
    frame.kind = FRAME_ANNOUNCE;
    frame.flags = FRAME_POINT_TO_POINT | FRAME_TENSOR;
    frame.call.dtype = DTYPE;
    test_transport_feed_tensor(&tcp_fixture.test_transport, 1, &frame, &large,
                               NULL);
    assert_false(tcp_fixture_next_frame());
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    assert_memory_equal(&tcp_fixture.test_transport.tensor, &large,
                        sizeof(large));
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.kind, FRAME_GRANT);
    assert_int_equal(tcp_fixture.frame.flags, FRAME_POINT_TO_POINT);
    assert_int_equal(tcp_fixture.frame.offset, LARGE);
    frame = frame_message(1, 0, LARGE, LARGE);
    frame.flags = FRAME_TENSOR;
    frame.call.dtype = DTYPE;
    test_transport_feed_tensor(&tcp_fixture.test_transport, 1, &frame, &large,
                               tcp_fixture.bytes);
    assert_int_equal(flow.arrived, LARGE);
    pattern_check(tcp_fixture.received, LARGE, 1);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

/* The owner has no room: what comes is dropped, what is behind it is not. */
static void
tensor_without_room_is_dropped(void **state)
{
    struct recv_request flow = posted(&any, 0);

    tcp_fixture.test_transport.room = NULL;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    feed(1, &table);
    assert_false(flow.is_open);
    assert_int_equal(flow.arrived, 0);
    feed(2, &table);
    tcp_fixture.test_transport.room = tcp_fixture.received;
    flow = posted(&any, 0);
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_received(&flow);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

static void
what_differs_is_a_mismatch_and_gone(void **state)
{
    static const struct frame_tensor turned = {0, {2, {30, 40}}};
    static const struct frame_tensor flat = {0, {1, {BYTES}}};
    static const struct frame_tensor second = {1 << 16 | 0x8002, {2, {40, 30}}};
    static const struct {
        const struct frame_tensor *expected;
        const struct frame_tensor *sent;
    } cases[] = {
        {&table, &turned}, {&flat, &table}, {&table, &flat}, {&table, &second},
        {&any, &second},   {&table, NULL},  {NULL, &table},  {&any, NULL},
    };
    uint64_t op = 1;

    tcp_fixture.test_transport.room = tcp_fixture.received;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct recv_request flow = posted(cases[i].expected, BYTES);
        const bool is_first = i % 2 == 0;

        if (is_first)
            feed(op, cases[i].sent);
        transport_receive(tcp_fixture.test_transport.transport, &flow);
        if (!is_first)
            feed(op, cases[i].sent);
        test_transport_settle(&tcp_fixture.test_transport);
        op++;
        assert_int_equal(tcp_fixture.test_transport.n_mismatches, i + 1);
        assert_int_equal(tcp_fixture.test_transport.has_tensor,
                         cases[i].sent != NULL);
        assert_false(flow.is_open);
        assert_int_equal(tcp_fixture.received[0], TCP_FIXTURE_GUARD);
    }
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
}

/* A tensor of a list. */
static struct frame_tensor
listed(size_t n, size_t index)
{
    struct frame_tensor tensor = table;

    tensor.part = frame_part(n, index);
    return tensor;
}

/* Of three, for a receiver of one: what is behind the first is dropped, whether
 * it comes before the receive or after it, and the next list is not. */
static void
rest_of_a_longer_list_is_dropped(void **state)
{
    uint64_t op = 1;

    tcp_fixture.test_transport.room = tcp_fixture.received;
    for (unsigned n_early = 0; n_early <= 3; n_early++) {
        const struct frame_tensor only = listed(1, 0);
        struct recv_request flow = posted(&only, BYTES);

        for (unsigned i = 0; i < 3; i++) {
            const struct frame_tensor sent = listed(3, i);

            if (i == n_early)
                transport_receive(tcp_fixture.test_transport.transport, &flow);
            feed(op++, &sent);
        }
        if (n_early == 3)
            transport_receive(tcp_fixture.test_transport.transport, &flow);
        assert_false(flow.is_open);
        assert_int_equal(tcp_fixture.test_transport.n_mismatches, n_early + 1);
        assert_int_equal(tcp_fixture.test_transport.n_extra_tensors,
                         2 * (n_early + 1));
        assert_int_equal(tcp_fixture.test_transport.extra_part,
                         frame_part(3, 2));

        flow = posted(&only, BYTES);
        transport_receive(tcp_fixture.test_transport.transport, &flow);
        feed(op++, &only);
        assert_int_equal(flow.arrived, BYTES);
        transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
    }
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
}

/* The second receive of a list fails when the next list comes, which the
 * receive behind it gets. */
static void
receive_behind_a_shorter_list_fails(void **state)
{
    const struct frame_tensor parts[] = {listed(2, 1), listed(1, 0)};
    struct frame_tensor expected[COUNT_OF(parts)];
    struct flow_label labels[COUNT_OF(parts)];
    struct recv_request flows[COUNT_OF(parts)];

    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        flows[i] = posted(&parts[i], BYTES);
        expected[i] = parts[i];
        labels[i] = posted_label;
        labels[i].tensor = &expected[i];
        flows[i].label = &labels[i];
        transport_receive(tcp_fixture.test_transport.transport, &flows[i]);
    }
    feed(1, &parts[1]);
    assert_int_equal(tcp_fixture.test_transport.n_lists_ended, 1);
    assert_false(flows[0].is_open);
    assert_int_equal(flows[1].arrived, BYTES);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flows[1]);
}

/* Once, also where nothing is to come, and only where it is confirmed. */
static void
tensor_that_is_taken_is_granted(void **state)
{
    static const struct frame_tensor none = {0, {1, {0}}};

    for (unsigned i = 0; i < 3; i++) {
        const struct frame_tensor *sent = i == 1 ? &none : &table;
        const uint32_t n_bytes = i == 1 ? 0 : BYTES;
        struct recv_request flow = posted(sent, n_bytes);
        struct frame frame = frame_message(i + 1, 0, n_bytes, n_bytes);

        frame.call.dtype = DTYPE;
        frame.flags |= FRAME_TENSOR;
        posted_label.needs_receiver_confirmation = i < 2;
        transport_receive(tcp_fixture.test_transport.transport, &flow);
        test_transport_feed_tensor(&tcp_fixture.test_transport, 1, &frame, sent,
                                   tcp_fixture.bytes);
        assert_int_equal(flow.arrived, n_bytes);
        assert_int_equal(tcp_fixture_next_frame(), i < 2);
        if (i < 2) {
            assert_int_equal(tcp_fixture.frame.kind, FRAME_GRANT);
            assert_int_equal(tcp_fixture.frame.op, i + 1);
            assert_int_equal(tcp_fixture.frame.offset, n_bytes);
        }
        transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
        assert_false(tcp_fixture_next_frame());
    }
}

/* Of a message of no bytes there is no rest, and none of it may stay. */
static void
empty_message_that_differs_is_gone(void **state)
{
    static const struct frame_tensor none = {0, {1, {0}}};
    struct recv_request flow = posted(&table, BYTES);
    struct frame frame = frame_message(1, 0, 0, 0);

    frame.call.dtype = DTYPE;
    frame.flags |= FRAME_TENSOR;
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    test_transport_feed_tensor(&tcp_fixture.test_transport, 1, &frame, &none,
                               tcp_fixture.bytes);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 1);
    assert_false(flow.is_open);
    frame = frame_message(2, 0, 0, 0);
    frame.call.dtype = DTYPE;
    frame.kind = FRAME_ANNOUNCE;
    frame.flags = FRAME_TENSOR | FRAME_POINT_TO_POINT;
    flow = posted(&table, BYTES);
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    test_transport_feed_tensor(&tcp_fixture.test_transport, 1, &frame, &none,
                               tcp_fixture.bytes);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 2);
    flow = posted(&table, BYTES);
    transport_receive(tcp_fixture.test_transport.transport, &flow);
    test_transport_settle(&tcp_fixture.test_transport);
    assert_true(flow.is_open);
    assert_int_equal(tcp_fixture.test_transport.n_mismatches, 2);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 0);
    feed(3, &table);
    assert_int_equal(flow.arrived, BYTES);
    transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
}

/* A header that contradicts itself makes us allocate nothing. */
static void
forged_sizes_lose_the_peer(void **state)
{
    static const struct frame_tensor forged[] = {
        {0, {1, {BYTES - 1}}},
        {0, {1, {(size_t)1 << 40}}},
        {0, {2, {BYTES, 0}}},
        {0, {0, {0}}},
        {0, {2, {(size_t)1 << 62, (size_t)1 << 62}}},
        {0, {3, {(size_t)1 << 40, (size_t)1 << 40, 0}}},
        {0, {2, {((size_t)1 << 63) + BYTES / 2, 2}}},
    };

    for (size_t i = 0; i < COUNT_OF(forged); i++) {
        struct recv_request flow;

        if (i > 0)
            tcp_fixture_open(state);
        flow = posted(&any, 0);
        transport_receive(tcp_fixture.test_transport.transport, &flow);
        feed(1, &forged[i]);
        assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
        assert_int_equal(tcp_fixture.test_transport.n_matched, 0);
        transport_receive_cancel(tcp_fixture.test_transport.transport, &flow);
        if (i + 1 < COUNT_OF(forged))
            tcp_fixture_close(state);
    }
}

static void
flag_without_a_shape_loses_the_peer(void **state)
{
    struct frame frame = frame_message(1, 0, BYTES, BYTES);

    frame.flags |= FRAME_TENSOR;
    test_transport_feed(&tcp_fixture.test_transport, 1, &frame,
                        tcp_fixture.bytes);
    assert_int_equal(tcp_fixture.test_transport.n_lost, 1);
    assert_non_null(strstr(tcp_fixture.test_transport.text, "has no shape"));
}

/* Every frame says it, and so does what is announced. */
static void
sent_tensor_has_its_shape_in_each_frame(void **state)
{
    const struct frame_tensor large = {5, {2, {LARGE, 1}}};
    const struct flow_label label = {
        .epoch = TEST_TRANSPORT_EPOCH,
        .call = test_transport_label.call,
        .tensor = &large,
    };
    struct send_request flow = {
        .key = {.comm = TEST_TRANSPORT_COMM,
                .op = 1,
                .peer = 1,
                .kind = FLOW_MESSAGE},
        .label = &label,
        .bytes = tcp_fixture.bytes,
        .total = LARGE,
        .ready = LARGE,
    };
    struct frame grant = {.kind = FRAME_GRANT,
                          .flags = FRAME_POINT_TO_POINT,
                          .epoch = TEST_TRANSPORT_EPOCH,
                          .comm = TEST_TRANSPORT_COMM,
                          .op = 1,
                          .offset = LARGE,
                          .total = LARGE};
    uint64_t n_bytes = 0;

    transport_send(tcp_fixture.test_transport.transport, &flow);
    while (n_bytes < LARGE) {
        memset(&test_transport_next_tensor, 0,
               sizeof(test_transport_next_tensor));
        assert_true(tcp_fixture_next_frame());
        assert_true(frame_is_tensor(&tcp_fixture.frame));
        assert_memory_equal(&test_transport_next_tensor, &large, sizeof(large));
        assert_int_equal(tcp_fixture.frame.offset, n_bytes);
        n_bytes += tcp_fixture.frame.raw;
        if (n_bytes == LIMIT_EAGER_MESSAGE)
            test_transport_feed(&tcp_fixture.test_transport, 1, &grant, NULL);
    }
}

static void
announced_tensor_has_its_shape(void **state)
{
    const struct frame_tensor table_large = {0, {2, {2, 30000}}};
    const struct flow_label label = {
        .epoch = TEST_TRANSPORT_EPOCH,
        .call = test_transport_label.call,
        .tensor = &table_large,
    };
    struct send_request flows[LIMIT_EAGER_WINDOW / 60000 + 2] = {0};
    size_t n_announced = 0;

    for (size_t i = 0; i < COUNT_OF(flows); i++) {
        flows[i] = (struct send_request){
            .key = {.comm = TEST_TRANSPORT_COMM,
                    .op = i + 1,
                    .peer = 1,
                    .kind = FLOW_MESSAGE},
            .label = &label,
            .bytes = tcp_fixture.bytes,
            .total = 60000,
            .ready = 60000,
        };
        transport_send(tcp_fixture.test_transport.transport, &flows[i]);
    }
    while (tcp_fixture_next_frame()) {
        assert_memory_equal(&test_transport_next_tensor, &table_large,
                            sizeof(table_large));
        if (tcp_fixture.frame.kind != FRAME_ANNOUNCE)
            continue;
        assert_true(frame_is_tensor(&tcp_fixture.frame));
        n_announced++;
    }
    assert_true(n_announced > 0);
    for (size_t i = 0; i < COUNT_OF(flows); i++)
        transport_send_cancel(tcp_fixture.test_transport.transport, &flows[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TCP_FIXTURE_TEST(tensor_that_is_expected_is_received),
        TCP_FIXTURE_TEST(tensor_of_any_shape_is_placed_where_the_owner_says),
        TCP_FIXTURE_TEST(tensor_is_announced_granted_and_received),
        TCP_FIXTURE_TEST(tensor_without_room_is_dropped),
        TCP_FIXTURE_TEST(what_differs_is_a_mismatch_and_gone),
        TCP_FIXTURE_TEST(rest_of_a_longer_list_is_dropped),
        TCP_FIXTURE_TEST(receive_behind_a_shorter_list_fails),
        TCP_FIXTURE_TEST(tensor_that_is_taken_is_granted),
        TCP_FIXTURE_TEST(empty_message_that_differs_is_gone),
        TCP_FIXTURE_TEST(forged_sizes_lose_the_peer),
        TCP_FIXTURE_TEST(flag_without_a_shape_loses_the_peer),
        TCP_FIXTURE_TEST(sent_tensor_has_its_shape_in_each_frame),
        TCP_FIXTURE_TEST(announced_tensor_has_its_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
