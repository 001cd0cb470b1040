/* tests/unit/worker/transport/stream/packetize_test.c - stream/packetize.c and
 * flow.h: what goes unasked; all else about cutting is in send_test.c */

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "transport/flow.h"
#include "transport/peer.h"
#include "unit/worker/transport/tcp_fixture.h"

enum {
    /* More than the window has room for, if each began. */
    N_FLOWS = 2 * LIMIT_EAGER_WINDOW / LIMIT_EAGER_MESSAGE,
};

static struct send_request flows[N_FLOWS];

static struct peer *
peer_of(void)
{
    return &tcp_fixture.test_transport.transport->peers[1];
}

static int
flows_open(void **state)
{
    for (size_t i = 0; i < N_FLOWS; i++)
        flows[i] = (struct send_request){.key = {.peer = 1}};
    return tcp_fixture_open(state);
}

static int
flows_close(void **state)
{
    for (size_t i = 0; i < N_FLOWS; i++)
        transport_send_cancel(tcp_fixture.test_transport.transport, &flows[i]);
    return tcp_fixture_close(state);
}

/* As if there were so many ranks that this is one's share. */
static void
window_set(uint64_t n_bytes)
{
    tcp_fixture.test_transport.transport->window = n_bytes;
    peer_of()->send.credit = n_bytes;
}

static struct send_request *
send_of(size_t i, uint64_t total, uint64_t ready)
{
    struct send_request *flow = &flows[i];

    *flow = send_request_collective(1, tcp_fixture.bytes, total);
    flow->key.op = 1 + i;
    flow->ready = ready;
    transport_send(tcp_fixture.test_transport.transport, flow);
    return flow;
}

static void
expect_eager(uint64_t offset, uint64_t n_bytes)
{
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.kind, FRAME_COLLECTIVE);
    assert_int_equal(tcp_fixture.frame.flags, FRAME_EAGER);
    assert_int_equal(tcp_fixture.frame.offset, offset);
    assert_int_equal(tcp_fixture.frame.raw, n_bytes);
}

/* ... of all of flow; then what is left of it goes, and costs nothing. */
static void
expect_rest_when_granted(const struct send_request *flow, uint64_t offset)
{
    const uint64_t credit = peer_of()->send.credit;
    struct frame grant = frame_collective(flow->total, 0, flow->total);

    assert_false(tcp_fixture_next_frame());
    grant.kind = FRAME_GRANT;
    grant.op = flow->key.op;
    test_transport_feed(&tcp_fixture.test_transport, 1, &grant, NULL);
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.kind, FRAME_COLLECTIVE);
    assert_int_equal(tcp_fixture.frame.flags, 0);
    assert_int_equal(tcp_fixture.frame.offset, offset);
    assert_int_equal(tcp_fixture.frame.raw, flow->total - offset);
    assert_int_equal(flow->handed, flow->total);
    assert_int_equal(peer_of()->send.credit, credit);
    assert_false(tcp_fixture_next_frame());
}

static void
message_that_needs_no_grant_goes_whole(void **state)
{
    const struct send_request *flow =
        send_of(0, LIMIT_EAGER_WHOLE_MESSAGE, LIMIT_EAGER_WHOLE_MESSAGE);

    expect_eager(0, LIMIT_EAGER_WHOLE_MESSAGE);
    assert_false(tcp_fixture_next_frame());
    assert_int_equal(flow->handed, flow->total);
    assert_false(flow->is_queued);
}

static void
message_that_needs_a_grant_begins_with_little(void **state)
{
    const struct send_request *flow = send_of(0, LIMIT_EAGER_WHOLE_MESSAGE + 1,
                                              LIMIT_EAGER_WHOLE_MESSAGE + 1);

    expect_eager(0, LIMIT_EAGER_MESSAGE);
    expect_rest_when_granted(flow, LIMIT_EAGER_MESSAGE);
}

/* Then they only begin, as if they were larger, and then they ask. */
static void
whole_messages_leave_a_quarter_of_the_window_to_others(void **state)
{
    size_t n_whole = 0;
    size_t n_begun = 0;

    for (size_t i = 0; i < N_FLOWS; i++)
        send_of(i, LIMIT_EAGER_WHOLE_MESSAGE, LIMIT_EAGER_WHOLE_MESSAGE);
    while (tcp_fixture_next_frame() &&
           tcp_fixture.frame.raw == LIMIT_EAGER_WHOLE_MESSAGE)
        n_whole++;
    assert_in_range(n_whole, 2,
                    LIMIT_EAGER_WINDOW * 3 / 4 / LIMIT_EAGER_WHOLE_MESSAGE);
    while (tcp_fixture.frame.kind == FRAME_COLLECTIVE) {
        assert_int_equal(tcp_fixture.frame.raw, LIMIT_EAGER_MESSAGE);
        n_begun++;
        assert_true(tcp_fixture_next_frame());
    }
    assert_true(n_begun >= LIMIT_EAGER_WINDOW / 4 / LIMIT_EAGER_MESSAGE - 1);
    assert_int_equal(tcp_fixture.frame.kind, FRAME_ANNOUNCE);
    assert_int_equal(tcp_fixture.frame.op, 1 + n_whole + n_begun);
    while (tcp_fixture_next_frame())
        assert_int_equal(tcp_fixture.frame.kind, FRAME_ANNOUNCE);
}

/* As it is among hundreds of ranks ... */
static void
small_window_begins_what_it_has_no_room_for(void **state)
{
    const struct send_request *flow;

    window_set(LIMIT_EAGER_WHOLE_MESSAGE);
    flow = send_of(0, LIMIT_EAGER_WHOLE_MESSAGE, LIMIT_EAGER_WHOLE_MESSAGE);
    expect_eager(0, LIMIT_EAGER_MESSAGE);
    expect_rest_when_granted(flow, LIMIT_EAGER_MESSAGE);
}

/* ... and among thousands. */
static void
smaller_window_asks_first(void **state)
{
    const struct send_request *flow;

    window_set(LIMIT_EAGER_MESSAGE);
    flow = send_of(0, LIMIT_EAGER_WHOLE_MESSAGE, LIMIT_EAGER_WHOLE_MESSAGE);
    assert_true(tcp_fixture_next_frame());
    assert_int_equal(tcp_fixture.frame.kind, FRAME_ANNOUNCE);
    expect_rest_when_granted(flow, 0);
}

/* Others have used the window meanwhile. It has begun: nobody asks for it. */
static void
message_that_is_ready_too_late_waits_for_its_grant(void **state)
{
    static const uint64_t readies[] = {1000, LIMIT_EAGER_MESSAGE,
                                       LIMIT_EAGER_MESSAGE + 1000};

    for (size_t i = 0; i < COUNT_OF(readies); i++) {
        struct send_request *flow =
            send_of(i, LIMIT_EAGER_WHOLE_MESSAGE, readies[i]);

        expect_eager(0, readies[i]);
        assert_false(tcp_fixture_next_frame());
        peer_of()->send.credit = 0;
        flow->ready = flow->total;
        transport_send_data_ready(tcp_fixture.test_transport.transport, flow);
        expect_rest_when_granted(flow, readies[i]);
        peer_of()->send.credit = LIMIT_EAGER_WINDOW;
    }
}

/* Both sides reckon so, and so does who grants. */
static void
what_goes_whole_depends_on_the_share_of_the_window(void **state)
{
    static const struct {
        uint32_t n_ranks;
        uint64_t whole;
    } cases[] = {{2, LIMIT_EAGER_WHOLE_MESSAGE},
                 {64, LIMIT_EAGER_WHOLE_MESSAGE},
                 {191, LIMIT_EAGER_WHOLE_MESSAGE},
                 {192, LIMIT_EAGER_MESSAGE},
                 {2000, LIMIT_EAGER_MESSAGE}};

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(
            eager_whole_message_max(eager_window_per_rank(cases[i].n_ranks)),
            cases[i].whole);
}

#define FLOWS_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, flows_open, flows_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        FLOWS_TEST(message_that_needs_no_grant_goes_whole),
        FLOWS_TEST(message_that_needs_a_grant_begins_with_little),
        FLOWS_TEST(whole_messages_leave_a_quarter_of_the_window_to_others),
        FLOWS_TEST(small_window_begins_what_it_has_no_room_for),
        FLOWS_TEST(smaller_window_asks_first),
        FLOWS_TEST(message_that_is_ready_too_late_waits_for_its_grant),
        cmocka_unit_test(what_goes_whole_depends_on_the_share_of_the_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
