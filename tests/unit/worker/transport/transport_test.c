/* tests/unit/worker/transport/transport_test.c - transport/transport.c */

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "proc_state.h"
#include "pseudo_random.h"
#include "segments.h"
#include "transport_pair.h"

enum {
    BIG = 3 << 20,
    SMALL = 1000,
    /* Of so many, the headers alone are 64 KiB. */
    QUESTIONS = 64 * 1024 / LIMIT_FRAME_HEADER,
    /* In one thread, where TSan finds nothing. */
#if defined(__SANITIZE_THREAD__)
    SEEDS = 3,
#else
    SEEDS = 12,
#endif
};

static void
large_messages_cross_in_both_directions_at_once(void **state)
{
    uint8_t *sent = calloc(1, BIG);
    uint8_t *received[2] = {malloc(BIG), malloc(BIG)};
    struct send_request out[2] = {send_request_collective(1, sent, BIG),
                                  send_request_collective(0, sent, BIG)};
    struct recv_request in[2] = {recv_request_collective(1, received[0], BIG),
                                 recv_request_collective(0, received[1], BIG)};
    struct transport_stats stats;

    pattern_fill(sent, BIG, 8);
    transport_receive(here.transport, &in[0]);
    transport_receive(there.transport, &in[1]);
    transport_send(here.transport, &out[0]);
    transport_send(there.transport, &out[1]);
    test_transports_settle(&here, &there);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(out[i].handed, BIG);
        assert_int_equal(in[i].arrived, BIG);
        pattern_check(received[i], BIG, 8);
        free(received[i]);
    }
    transport_stats(here.transport, &stats);
    assert_int_equal(stats.bytes_sent, BIG);
    assert_int_equal(stats.bytes_received, BIG);
    assert_int_equal(stats.connections, 1);
    transport_receive_cancel(here.transport, &in[0]);
    transport_receive_cancel(there.transport, &in[1]);
    free(sent);
}

static void
connection_is_asked_for_once_and_flows_wait_for_it(void **state)
{
    static const uint8_t bytes[SMALL];
    struct send_request out = send_request_collective(2, bytes, SMALL);
    struct recv_request in = recv_request_collective(2, NULL, SMALL);

    transport_send(here.transport, &out);
    transport_receive(here.transport, &in);
    transport_request_connect(here.transport, 2);
    assert_int_equal(here.n_needed, 1);
    assert_int_equal(here.peer, 2);
    test_transport_settle(&here);
    assert_int_equal(out.handed, 0);
    assert_false(transport_is_connected(here.transport, 2));
    test_transport_attach(&here, 2);
    assert_true(transport_is_connected(here.transport, 2));
    test_transport_settle(&here);
    assert_int_equal(out.handed, SMALL);
    transport_request_connect(here.transport, 2);
    assert_int_equal(here.n_needed, 1);
    transport_receive_cancel(here.transport, &in);
}

static void
second_connection_is_closed(void **state)
{
    int fds[2];
    char byte;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    transport_add_connection(here.transport, 1, fds[0]);
    assert_int_equal(recv(fds[1], &byte, 1, 0), 0);
    close(fds[1]);
    assert_true(transport_is_connected(here.transport, 1));
    assert_int_equal(here.n_lost, 0);
}

static void
unreachable_peer_is_lost_once(void **state)
{
    transport_mark_unreachable(here.transport, 2, "connection refused");
    assert_int_equal(here.n_lost, 1);
    assert_int_equal(here.peer, 2);
    assert_string_equal(here.text, "connection refused");
    transport_mark_unreachable(here.transport, 2, "again");
    transport_request_connect(here.transport, 2);
    assert_int_equal(here.n_lost, 1);
    assert_int_equal(here.n_needed, 0);
    /* Who is connected is not unreachable. */
    transport_mark_unreachable(here.transport, 1, "a rumour");
    assert_true(transport_is_connected(here.transport, 1));
    test_transport_attach(&here, 2);
    assert_false(transport_is_connected(here.transport, 2));
}

static void
tell_all_reaches_all_but_one(void **state)
{
    const struct frame verdict = {.kind = FRAME_FAILURE_NOTICE,
                                  .epoch = TEST_TRANSPORT_EPOCH,
                                  .comm = 1,
                                  .op = 8};
    struct frame frame;
    uint8_t payload[256];

    test_transport_attach(&here, 2);
    transport_broadcast_control(here.transport, 2, &verdict, "why");
    test_transports_settle(&here, &there);
    assert_int_equal(there.n_failure_notices, 1);
    assert_int_equal(there.frame.op, 8);
    assert_string_equal(there.text, "why");
    assert_false(test_transport_next_frame(&here, 2, &frame, payload));
}

/* The first thread is this one's test. */
static void *
wake_asleep(void *owner)
{
    bool *out_was_asleep = owner;

    *out_was_asleep = proc_state_await(getpid(), 'S');
    transport_wake(here.transport);
    return NULL;
}

static void
turn_that_waits_is_woken_by_another_thread(void **state)
{
    pthread_t thread;
    bool was_asleep = false;

    const uint64_t begin_ns = clock_now_ns();
    assert_int_equal(pthread_create(&thread, NULL, wake_asleep, &was_asleep),
                     0);
    assert_false(transport_progress(here.transport, 20000));
    assert_true(clock_now_ns() - begin_ns < 10 * CLOCK_NS_PER_S);
    pthread_join(thread, NULL);
    assert_true(was_asleep);
}

static void
fd_is_readable_when_something_has_come(void **state)
{
    static const uint8_t bytes[SMALL];
    struct send_request out = send_request_collective(0, bytes, SMALL);
    struct pollfd poll_fd = {.fd = transport_fd(here.transport),
                             .events = POLLIN};

    assert_true(transport_prepare_sleep(here.transport));
    assert_int_equal(poll(&poll_fd, 1, 0), 0);
    transport_send(there.transport, &out);
    test_transport_settle(&there);
    assert_int_equal(poll(&poll_fd, 1, 5000), 1);
    test_transport_settle(&here);
    assert_int_equal(poll(&poll_fd, 1, 0), 0);
}

static void
spin_reads_who_is_waited_for(void **state)
{
    static const uint8_t bytes[SMALL];
    uint8_t received[SMALL];
    struct send_request out = send_request_collective(0, bytes, SMALL);
    struct recv_request in = recv_request_collective(1, received, SMALL);

    transport_send(there.transport, &out);
    test_transport_settle(&there);
    assert_false(transport_spin_once(here.transport));
    assert_int_equal(here.n_unexpected, 0);
    transport_receive(here.transport, &in);
    while (transport_spin_once(here.transport))
        ;
    assert_int_equal(in.arrived, SMALL);
    transport_receive_cancel(here.transport, &in);
}

/* Whoever that may be only from memory, where that costs nothing. */
static void
spin_reads_who_may_send_a_message(void **state)
{
    static uint8_t bytes[SMALL] = "for you";
    const uint32_t sources[] = {1, FLOW_ANY_PEER};
    const size_t n_sources = segments_mode() == SHM_MODE_NEVER ? 1 : 2;

    for (size_t i = 0; i < n_sources; i++) {
        uint8_t received[SMALL] = "";
        struct send_request out = send_request_collective(0, bytes, SMALL);
        struct recv_request in =
            recv_request_collective(sources[i], received, SMALL);

        out.key = (struct flow_key){
            .comm = TEST_TRANSPORT_COMM, .op = i + 1, .kind = FLOW_MESSAGE};
        in.key.kind = FLOW_MESSAGE;
        transport_receive(here.transport, &in);
        assert_false(transport_spin_once(here.transport));
        transport_send(there.transport, &out);
        test_transport_settle(&there);
        while (transport_spin_once(here.transport))
            ;
        assert_int_equal(in.arrived, SMALL);
        assert_memory_equal(received, bytes, SMALL);
        transport_receive_cancel(here.transport, &in);
        assert_false(transport_spin_once(here.transport));
    }
}

/* No socket says that a ring has room again, so spinning must find out. The
 * answer that is waited for keeps the peer among those that are read, which
 * brings the credit. */
static void
spin_writes_to_a_ring_that_has_room_again(void **state)
{
    static uint8_t sent[BIG];
    static uint8_t received[BIG];
    uint8_t answer[SMALL];
    struct send_request out = send_request_collective(1, sent, BIG);
    struct recv_request in = recv_request_collective(0, received, BIG);
    struct recv_request answer_in = recv_request_collective(1, answer, SMALL);

    if (segments_mode() == SHM_MODE_NEVER)
        skip();
    pattern_fill(sent, BIG, 8);
    transport_receive(there.transport, &in);
    transport_receive(here.transport, &answer_in);
    transport_send(here.transport, &out);
    for (unsigned i = 0; i < BIG / SMALL && in.arrived < BIG; i++) {
        while (transport_spin_once(here.transport))
            ;
        while (transport_spin_once(there.transport))
            ;
    }
    assert_int_equal(in.arrived, BIG);
    pattern_check(received, BIG, 8);
    transport_receive_cancel(here.transport, &answer_in);
    transport_receive_cancel(there.transport, &in);
}

/* Random traffic, against the simplest model there is: what goes in at one
 * end comes out at the other. */

enum {
    N_FLOWS = 48,
    FLOW_BYTES_MAX = 300000,
};

struct traffic {
    struct test_transport *from;
    struct test_transport *to;
    struct send_request out[N_FLOWS];
    struct recv_request in[N_FLOWS];
    struct sink sinks[N_FLOWS];
    uint8_t *sent[N_FLOWS];
    uint8_t *received[N_FLOWS];
    bool is_sent[N_FLOWS];
    bool is_received[N_FLOWS];
};

static uint64_t random_state;

static uint64_t
random_total(void)
{
    static const uint32_t bounds[] = {1, 64, 1000, 70000, FLOW_BYTES_MAX / 8};

    return 8 * (uint64_t)random_below(&random_state,
                                      bounds[random_below(&random_state, 5)]);
}

static void
traffic_prepare(struct traffic *traffic, unsigned i)
{
    const uint64_t total = random_total();

    traffic->sent[i] = malloc(total + 1);
    traffic->received[i] = calloc(1, total + 1);
    for (uint64_t k = 0; k < total; k++)
        traffic->sent[i][k] = (uint8_t)random_below(
            &random_state, 1 + random_below(&random_state, 256));
    traffic->sinks[i] = (struct sink){.bytes = traffic->received[i]};
    traffic->out[i] = send_request_collective(traffic->to->roster->rank,
                                              traffic->sent[i], total);
    traffic->in[i] = recv_request_collective(
        traffic->from->roster->rank,
        random_below(&random_state, 2) ? traffic->received[i] : NULL, total);
    traffic->in[i].element_size = 8;
    traffic->in[i].owner = &traffic->sinks[i];
    traffic->out[i].key.op = traffic->in[i].key.op = 10 + i;
    traffic->out[i].ready =
        total ? 8 * random_below(&random_state, (uint32_t)total / 8) : 0;
    traffic->in[i].allowed =
        total ? 8 * random_below(&random_state, (uint32_t)total / 8) : 0;
}

static void
traffic_step(struct traffic *traffic)
{
    const unsigned i = random_below(&random_state, N_FLOWS);
    struct send_request *out = &traffic->out[i];
    struct recv_request *in = &traffic->in[i];

    if (random_below(&random_state, 2)) {
        if (!traffic->is_sent[i])
            transport_send(traffic->from->transport, out);
        else
            out->ready =
                random_below(&random_state, 3) ? out->total : out->ready;
        traffic->is_sent[i] = true;
        transport_send_data_ready(traffic->from->transport, out);
    } else {
        if (!traffic->is_received[i])
            transport_receive(traffic->to->transport, in);
        else
            in->allowed =
                random_below(&random_state, 3) ? in->total : in->allowed;
        traffic->is_received[i] = true;
        transport_receive_buffer_grew(traffic->to->transport, in);
    }
    if (random_below(&random_state, 3) == 0)
        transport_progress(traffic->from->transport, 0);
    if (random_below(&random_state, 3) == 0)
        transport_progress(traffic->to->transport, 0);
}

static void
traffic_finish(struct traffic *traffic, unsigned i)
{
    const uint64_t total = traffic->in[i].total;

    assert_int_equal(traffic->in[i].arrived, total);
    assert_int_equal(traffic->out[i].handed, total);
    assert_memory_equal(traffic->received[i], traffic->sent[i], total);
    transport_receive_cancel(traffic->to->transport, &traffic->in[i]);
    free(traffic->sent[i]);
    free(traffic->received[i]);
}

static void
traffic_run(uint32_t seed, enum codec_id codec)
{
    static struct traffic ways[2];

    transport_pair_open_with(codec);
    random_state = seed;
    memset(ways, 0, sizeof(ways));
    ways[0].from = ways[1].to = &here;
    ways[0].to = ways[1].from = &there;
    for (unsigned i = 0; i < N_FLOWS; i++) {
        traffic_prepare(&ways[0], i);
        traffic_prepare(&ways[1], i);
    }
    for (unsigned i = 0; i < N_FLOWS * 40; i++)
        traffic_step(&ways[random_below(&random_state, 2)]);
    /* Whatever was left over. */
    for (unsigned i = 0; i < N_FLOWS; i++) {
        for (unsigned w = 0; w < 2; w++) {
            struct traffic *way = &ways[w];

            way->out[i].ready = way->out[i].total;
            way->in[i].allowed = way->in[i].total;
            if (!way->is_sent[i])
                transport_send(way->from->transport, &way->out[i]);
            if (!way->is_received[i])
                transport_receive(way->to->transport, &way->in[i]);
            transport_send_data_ready(way->from->transport, &way->out[i]);
            transport_receive_buffer_grew(way->to->transport, &way->in[i]);
        }
    }
    test_transports_settle(&here, &there);
    assert_int_equal(here.n_lost + there.n_lost, 0);
    for (unsigned i = 0; i < N_FLOWS; i++) {
        traffic_finish(&ways[0], i);
        traffic_finish(&ways[1], i);
    }
    test_transport_close(&here);
    test_transport_close(&there);
}

/* Nothing comes: a question would have to wait behind what is sent. */
static void
peer_that_takes_much_is_heard(void **state)
{
    struct send_request flow;
    struct frame frame = frame_collective(BIG, 0, BIG);
    uint8_t *bytes = calloc(1, BIG);

    assert_non_null(bytes);
    flow = send_request_collective(1, bytes, BIG);
    frame.kind = FRAME_GRANT;
    test_transport_open(&here, 0, CODEC_NONE);
    test_transport_attach(&here, 1);
    transport_send(here.transport, &flow);
    test_transport_feed(&here, 1, &frame, NULL);
    test_transport_settle(&here);
    assert_true(flow.handed < BIG);
    const uint64_t n_heard = transport_activity_count(here.transport, 1);
    test_transport_settle(&here);
    assert_int_equal(transport_activity_count(here.transport, 1), n_heard);
    while (test_transport_next_frame(&here, 1, &frame, bytes))
        ;
    assert_true(transport_activity_count(here.transport, 1) > n_heard);
    test_transport_close(&here);
    free(bytes);
}

/* The kernel of a stopped process takes questions for as long as they come. Over
 * this socket they are taken when they are read. */
static void
peer_that_only_takes_questions_is_not_heard(void **state)
{
    const struct frame question = {.kind = FRAME_HEARTBEAT,
                                   .flags = FRAME_ASKS,
                                   .epoch = TEST_TRANSPORT_EPOCH};
    uint8_t bytes[LIMIT_FRAME_HEADER];
    struct frame frame;

    test_transport_open(&here, 0, CODEC_NONE);
    test_transport_attach(&here, 1);
    const uint64_t n_heard = transport_activity_count(here.transport, 1);
    for (unsigned i = 0; i < 4 * QUESTIONS; i++) {
        transport_send_control(here.transport, 1, &question, NULL);
        assert_true(test_transport_next_frame(&here, 1, &frame, bytes));
        assert_int_equal(transport_activity_count(here.transport, 1), n_heard);
    }
    test_transport_close(&here);
}

static void
random_traffic_arrives_as_it_was_sent(void **state)
{
    for (uint32_t seed = 1; seed <= SEEDS; seed++) {
        print_message("seed %u\n", seed);
        traffic_run(seed, seed % 3 == 0 ? CODEC_ZSTD : CODEC_NONE);
    }
}

static void
destroy_with_everything_under_way_is_fine(void **state)
{
    static const uint8_t bytes[BIG];
    static uint8_t received[BIG];
    struct send_request out = send_request_collective(1, bytes, BIG);
    struct recv_request in = recv_request_collective(0, received, BIG);

    transport_pair_open_with(CODEC_NONE);
    transport_receive(there.transport, &in);
    transport_send(here.transport, &out);
    for (int i = 0; i < 3; i++) {
        transport_progress(there.transport, 0);
        transport_progress(here.transport, 0);
    }
    test_transport_close(&here);
    test_transport_settle(&there);
    assert_int_equal(there.n_lost, 1);
    transport_receive_cancel(there.transport, &in);
    test_transport_close(&there);
    transport_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TRANSPORT_PAIR_TEST(large_messages_cross_in_both_directions_at_once),
        TRANSPORT_PAIR_TEST(connection_is_asked_for_once_and_flows_wait_for_it),
        TRANSPORT_PAIR_TEST(second_connection_is_closed),
        TRANSPORT_PAIR_TEST(unreachable_peer_is_lost_once),
        TRANSPORT_PAIR_TEST(tell_all_reaches_all_but_one),
        TRANSPORT_PAIR_TEST(turn_that_waits_is_woken_by_another_thread),
        TRANSPORT_PAIR_TEST(fd_is_readable_when_something_has_come),
        TRANSPORT_PAIR_TEST(spin_reads_who_is_waited_for),
        TRANSPORT_PAIR_TEST(spin_reads_who_may_send_a_message),
        TRANSPORT_PAIR_TEST(spin_writes_to_a_ring_that_has_room_again),
        cmocka_unit_test(peer_that_takes_much_is_heard),
        cmocka_unit_test(peer_that_only_takes_questions_is_not_heard),
        cmocka_unit_test(random_traffic_arrives_as_it_was_sent),
        cmocka_unit_test(destroy_with_everything_under_way_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
