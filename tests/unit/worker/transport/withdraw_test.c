/* tests/unit/worker/transport/withdraw_test.c - sends that are given up */

#include <string.h>

#include "base/limits.h"
#include "transport_pair.h"

enum {
    LARGE = 2 * LIMIT_EAGER_WHOLE_MESSAGE,
    GUARD = 0xA5,
};

static uint8_t sent[LARGE];
static uint8_t received[LARGE];

static int
messages_open(void **state)
{
    pattern_fill(sent, LARGE, 4);
    memset(received, GUARD, LARGE);
    return transport_pair_open(state);
}

static struct send_request
message_out(uint64_t op)
{
    struct send_request flow = send_request_collective(1, sent, LARGE);

    flow.key.kind = FLOW_MESSAGE;
    flow.key.op = op;
    flow.key.step = 0;
    return flow;
}

static struct recv_request
message_in(void)
{
    struct recv_request flow = recv_request_collective(0, received, LARGE);

    flow.key.kind = FLOW_MESSAGE;
    flow.key.op = 0;
    flow.key.step = 0;
    flow.allowed = 0;
    return flow;
}

static void
send_given_up_half_way_leaves_its_receive_to_the_next(void **state)
{
    struct send_request first = message_out(1);
    struct send_request second = message_out(2);
    struct recv_request in = message_in();

    transport_send(here.transport, &first);
    test_transports_settle(&here, &there);
    assert_int_equal(first.handed, LIMIT_EAGER_MESSAGE);
    transport_send_cancel(here.transport, &first);
    test_transports_settle(&here, &there);

    transport_receive(there.transport, &in);
    test_transports_settle(&here, &there);
    assert_false(in.is_matched);
    transport_send(here.transport, &second);
    test_transports_settle(&here, &there);
    assert_int_equal(in.arrived, LARGE);
    pattern_check(received, LARGE, 4);
    assert_int_equal(here.n_lost + there.n_lost, 0);
    transport_receive_cancel(there.transport, &in);
}

static void
send_given_up_while_it_is_received_is_told(void **state)
{
    struct send_request out = message_out(1);
    struct recv_request in = message_in();

    transport_receive(there.transport, &in);
    out.ready = 100;
    transport_send(here.transport, &out);
    test_transports_settle(&here, &there);
    assert_int_equal(in.arrived, 100);
    transport_send_cancel(here.transport, &out);
    test_transports_settle(&here, &there);
    assert_int_equal(there.n_retracted, 1);
    assert_false(in.is_open);
    assert_int_equal(received[100], GUARD);
}

static void
send_that_nobody_knows_of_is_given_up_in_silence(void **state)
{
    struct send_request out = message_out(1);
    struct recv_request in = message_in();

    transport_receive(there.transport, &in);
    transport_send(here.transport, &out);
    transport_send_cancel(here.transport, &out);
    test_transports_settle(&here, &there);
    assert_int_equal(there.n_retracted, 0);
    assert_true(in.is_open);
    transport_receive_cancel(there.transport, &in);
}

/* Given up again and again: neither window nor memory is used up. */
static void
sends_given_up_give_their_window_back(void **state)
{
    for (uint64_t op = 1; op <= 100; op++) {
        struct send_request out = message_out(op);

        transport_send(here.transport, &out);
        test_transports_settle(&here, &there);
        /* Eagerly, not only announced: the window was there. */
        assert_int_equal(out.handed, LIMIT_EAGER_MESSAGE);
        transport_send_cancel(here.transport, &out);
        test_transports_settle(&here, &there);
    }
    assert_int_equal(here.n_lost + there.n_lost, 0);
}

#define WITHDRAW_TEST(name)                                                    \
    cmocka_unit_test_setup_teardown(name, messages_open, transport_pair_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WITHDRAW_TEST(send_given_up_half_way_leaves_its_receive_to_the_next),
        WITHDRAW_TEST(send_given_up_while_it_is_received_is_told),
        WITHDRAW_TEST(send_that_nobody_knows_of_is_given_up_in_silence),
        WITHDRAW_TEST(sends_given_up_give_their_window_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
