/* tests/unit/worker/transport/transport_leave_test.c - goodbyes */

#include <string.h>
#include <sys/socket.h>

#include "transport_pair.h"

enum {
    SMALL = 1000,
};

static void
goodbyes_end_both_sides_without_a_loss(void **state)
{
    static const uint8_t bytes[SMALL];
    struct send_request out = send_request_collective(1, bytes, SMALL);
    struct transport_stats stats;

    /* What was sent before is delivered before. */
    transport_send(here.transport, &out);
    transport_progress(here.transport, 0);
    assert_false(transport_is_shut_down(here.transport));
    transport_start_shutdown(here.transport);
    assert_false(transport_is_shut_down(here.transport));
    test_transports_settle(&here, &there);
    assert_true(transport_is_shut_down(here.transport));
    assert_int_equal(there.n_left, 1);
    assert_int_equal(there.n_unexpected, 1);
    transport_start_shutdown(there.transport);
    assert_true(transport_is_shut_down(there.transport));
    assert_int_equal(here.n_lost + there.n_lost, 0);
    transport_stats(here.transport, &stats);
    assert_int_equal(stats.connections, 0);
    transport_stats(there.transport, &stats);
    assert_int_equal(stats.connections, 0);
}

/* Where the stream has ended, another frame could only fail. */
static void
nothing_is_told_after_the_goodbye(void **state)
{
    static const struct frame verdict = {.kind = FRAME_FAILURE_NOTICE,
                                         .epoch = TEST_TRANSPORT_EPOCH,
                                         .comm = 7,
                                         .op = 8};

    transport_start_shutdown(here.transport);
    transport_progress(here.transport, 0);
    transport_send_control(here.transport, 1, &verdict, "too late");
    transport_progress(here.transport, 0);
    test_transports_settle(&here, &there);
    assert_true(transport_is_shut_down(here.transport));
    assert_int_equal(there.n_failure_notices, 0);
    assert_int_equal(here.n_lost + there.n_lost, 0);
}

static void
peer_that_connects_to_a_leaving_rank_hears_its_goodbye(void **state)
{
    struct frame frame;
    uint8_t payload[SMALL];

    transport_start_shutdown(here.transport);
    test_transport_attach(&here, 2);
    assert_true(test_transport_next_frame(&here, 2, &frame, payload));
    assert_int_equal(frame.kind, FRAME_GOODBYE);
    test_transports_settle(&here, &there);
    assert_false(transport_is_shut_down(here.transport));
    test_transport_hang_up(&here, 2);
    assert_true(transport_is_shut_down(here.transport));
}

static void
both_may_leave_at_once(void **state)
{
    transport_start_shutdown(here.transport);
    transport_start_shutdown(there.transport);
    test_transports_settle(&here, &there);
    assert_true(transport_is_shut_down(here.transport));
    assert_true(transport_is_shut_down(there.transport));
    assert_int_equal(here.n_lost + there.n_lost, 0);
}

/* It heard the other's goodbye and leaves before its answer is out. */
static void
answer_to_a_goodbye_goes_before_its_rank_leaves(void **state)
{
    transport_start_shutdown(there.transport);
    transport_progress(there.transport, 0);
    transport_progress(here.transport, 0);
    assert_int_equal(here.n_left, 1);
    transport_start_shutdown(here.transport);
    assert_false(transport_is_shut_down(here.transport));
    while (!transport_is_shut_down(here.transport))
        assert_true(transport_progress(here.transport, 5000));
    test_transport_settle(&there);
    assert_true(transport_is_shut_down(there.transport));
    assert_int_equal(here.n_lost + there.n_lost, 0);
}

static void
peer_that_dies_does_not_hold_up_leaving(void **state)
{
    test_transport_attach(&here, 2);
    transport_start_shutdown(here.transport);
    test_transports_settle(&here, &there);
    assert_false(transport_is_shut_down(here.transport));
    test_transport_hang_up(&here, 2);
    assert_true(transport_is_shut_down(here.transport));
}

/* It left, and went away before it had read all that was for it. */
static void
peer_that_left_and_went_away_does_not_hold_up_leaving(void **state)
{
    static const struct frame verdict = {.kind = FRAME_FAILURE_NOTICE,
                                         .epoch = TEST_TRANSPORT_EPOCH,
                                         .comm = 7,
                                         .op = 8};
    static const struct frame goodbye = {.kind = FRAME_GOODBYE,
                                         .epoch = TEST_TRANSPORT_EPOCH};
    static char text[1000];

    memset(text, 'x', sizeof(text) - 1);
    test_transport_attach(&here, 2);
    for (unsigned i = 0; i < 20000; i++)
        transport_send_control(here.transport, 2, &verdict, text);
    test_transport_feed(&here, 2, &goodbye, NULL);
    assert_int_equal(here.n_left, 1);
    shutdown(here.raw[2], SHUT_WR);
    test_transport_settle(&here);
    transport_start_shutdown(here.transport);
    test_transport_hang_up(&here, 2);
    test_transports_settle(&here, &there);
    assert_true(transport_is_shut_down(here.transport));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TRANSPORT_PAIR_TEST(goodbyes_end_both_sides_without_a_loss),
        TRANSPORT_PAIR_TEST(nothing_is_told_after_the_goodbye),
        TRANSPORT_PAIR_TEST(
            peer_that_connects_to_a_leaving_rank_hears_its_goodbye),
        TRANSPORT_PAIR_TEST(both_may_leave_at_once),
        TRANSPORT_PAIR_TEST(answer_to_a_goodbye_goes_before_its_rank_leaves),
        TRANSPORT_PAIR_TEST(peer_that_dies_does_not_hold_up_leaving),
        TRANSPORT_PAIR_TEST(
            peer_that_left_and_went_away_does_not_hold_up_leaving),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
