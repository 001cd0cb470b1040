/* tests/unit/worker/transport/tcp/control_test.c - transport/tcp/control.c */

#include "base/limits.h"
#include "check.h"
#include "transport/peer.h"
#include "unit/worker/transport/desk.h"

enum {
    BIG = DESK_BYTES,
    SMALL = 1000,
};

static void
grant_of_another_length_is_a_misfit(void **state)
{
    struct send_request flow = send_request_collective(1, desk.bytes, BIG);
    struct frame frame = frame_collective(BIG, 0, BIG + 1);

    (void)state;
    frame.kind = FRAME_GRANT;
    transport_send(desk.station.transport, &flow);
    assert_true(desk_next());
    assert_int_equal(desk.frame.raw, LIMIT_EAGER_MESSAGE);
    station_feed(&desk.station, 1, &frame, NULL);
    assert_int_equal(desk.station.n_size_mismatches, 1);
    assert_int_equal(desk.station.mismatch_total, BIG);
    assert_int_equal(flow.granted, 0);
    transport_send_cancel(desk.station.transport, &flow);
}

/* Whoever notices may be in the middle of telling others. */
static void
peer_that_is_doomed_is_lost_with_the_next_turn(void **state)
{
    struct send_request flow = send_request_collective(1, desk.bytes, SMALL);

    (void)state;
    transport_send(desk.station.transport, &flow);
    peer_defer_failure(&desk.station.transport->peers[1], "no memory");
    assert_int_equal(desk.station.n_lost, 0);
    transport_progress(desk.station.transport, 0);
    assert_int_equal(desk.station.n_lost, 1);
    assert_string_equal(desk.station.text, "no memory");
    assert_int_equal(flow.framed, 0);
    transport_send_cancel(desk.station.transport, &flow);
}

static void
grant_of_another_call_is_a_mismatch(void **state)
{
    struct send_request flow = send_request_collective(1, desk.bytes, BIG);
    struct frame frame = frame_collective(BIG, 0, BIG);

    (void)state;
    frame.kind = FRAME_GRANT;
    frame.signature++;
    transport_send(desk.station.transport, &flow);
    assert_true(desk_next());
    assert_int_equal(desk.frame.raw, LIMIT_EAGER_MESSAGE);
    station_feed(&desk.station, 1, &frame, NULL);
    assert_int_equal(desk.station.n_mismatches, 1);
    assert_null(desk.station.mismatched);
    assert_int_equal(flow.granted, 0);
    transport_send_cancel(desk.station.transport, &flow);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        DESK_TEST(grant_of_another_call_is_a_mismatch),
        DESK_TEST(grant_of_another_length_is_a_misfit),
        DESK_TEST(peer_that_is_doomed_is_lost_with_the_next_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
