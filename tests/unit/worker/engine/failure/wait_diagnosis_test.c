/* tests/unit/worker/engine/failure/wait_diagnosis_test.c - engine/failure/wait_diagnosis.c */

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "unit/worker/engine/engine_pair_fixture.h"

static void
open_timed(void)
{
    struct config config = engine_pair_config();

    config.op_timeout_ms = 30000;
    engine_pair_open_with(&engine_pair,
                          &(struct engine_options){.config = &config});
}

static int
engine_pair_set_up_timed(void **state)
{
    open_timed();
    return 0;
}

/* By who knows that rank 1 is lost. */
static void
failure_tells_who_waited_for_whom_and_how_long(void **state)
{
    struct side *side = &engine_pair.sides[0];
    int32_t value = 1;
    struct op *op = NULL;

    engine_add_connection(side->engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    assert_ok(sum_start(side->comms[0].context, &value, 1, &op));
    close(engine_pair.fds[1]);
    engine_pair.fds[1] = -1;
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "allreduce #1 (int32, 1 elements"));
    assert_non_null(strstr(
        error_text(), "; rank 0 (host:40) waited for rank 1 (host:41) to "));
    assert_non_null(strstr(error_text(), "(0 of 4 bytes); after "));
    assert_non_null(
        strstr(error_text(), " s of the 30 s that HOOP_TIMEOUT allows"));
}

static void
deadline_of_a_communicator_is_named_as_its(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    char bytes[4];
    struct op *op = NULL;

    context_set_timeout(context, 60);
    assert_ok(receive_start(context, bytes, 4, 1, &op));
    assert_int_equal(engine_wait(op, patience()), HOOP_E_TIMEOUT);
    assert_non_null(strstr(
        error_text(), " s: the 0.06 s that its communicator allows are over"));
    /* It tells of its wait itself. */
    assert_null(strstr(error_text(), "waited for"));
}

static void
operation_that_was_given_up_has_no_deadline_to_tell(void **state)
{
    char bytes[4];
    struct op *op = NULL;

    assert_ok(
        receive_start(engine_pair.sides[0].comms[0].context, bytes, 4, 1, &op));
    engine_cancel_op(op);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_CANCELLED);
    assert_null(strstr(error_text(), "allows"));
}

/* Rank 0 is in a sum of the first communicator, rank 1 in one of the second. */
static int
peer_in_another_communicator_is_said_to_be_there(struct side *side)
{
    struct comm_context *context = side->comms[side->rank].context;
    int32_t value = 1;
    struct op *op = NULL;

    context_set_name(side->comms[1].context, side->rank == 0 ? "b" : "");
    context_set_timeout(context, 600);
    SIDE_CHECK(sum_start(context, &value, 1, &op) == HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_E_TIMEOUT);
    if (side->rank == 0)
        SIDE_CHECK(
            strstr(error_text(),
                   "; it has not called this, but allreduce #1 (int32, 1 "
                   "elements, sum) of communicator 'b')"));
    else
        SIDE_CHECK(
            strstr(error_text(),
                   "; it has not called this, but allreduce #1 (int32, 1 "
                   "elements, sum) of another communicator of 2 ranks)"));
    return 0;
}

/* Rank 1 waits for a message of the second communicator. */
static int
peer_in_a_message_of_another_communicator_is_said_to_be_there(struct side *side)
{
    struct comm_context *context = side->comms[side->rank].context;
    char bytes[4];
    struct op *op = NULL;

    context_set_timeout(context, 600);
    SIDE_CHECK(receive_start(context, bytes, 4, 7, &op) == HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_E_TIMEOUT);
    SIDE_CHECK(strstr(error_text(), "tag 7; it is in recv (uint8, 4 elements"));
    SIDE_CHECK(strstr(error_text(), " of another communicator of 2 ranks)"));
    return 0;
}

enum {
    RELAYED_COUNT = 1 << 20, /* elements */
    RELAYED_QUOTA = 1 << 20, /* bytes from rank 1, a fourth of what it sends */
    RELAYED_MS = 1500,
};

/* A link that carries so many bytes from rank 1 to rank 0, and then no more. */
struct relay {
    int ends[2]; /* the ranks' */
    int fds[2];  /* ours, of the same connections */
    int stop_fd;
    pthread_t thread;
};

static void
tcp_pair(int out_fds[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n_bytes = sizeof(address);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(listener, (struct sockaddr *)&address, n_bytes), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(
        getsockname(listener, (struct sockaddr *)&address, &n_bytes), 0);
    out_fds[0] = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(out_fds[0], (struct sockaddr *)&address, n_bytes),
                     0);
    out_fds[1] = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    assert_true(out_fds[1] >= 0);
    close(listener);
}

static void
relay_write(int fd, const char *bytes, ssize_t n_bytes)
{
    for (ssize_t at = 0; at < n_bytes;) {
        const ssize_t n =
            send(fd, bytes + at, (size_t)(n_bytes - at), MSG_NOSIGNAL);

        if (n <= 0)
            return;
        at += n;
    }
}

static void *
relay_run(void *owner)
{
    struct relay *relay = owner;
    size_t n_left = RELAYED_QUOTA;
    char bytes[16384];

    for (;;) {
        struct pollfd polled[] = {
            {.fd = relay->stop_fd, .events = POLLIN},
            {.fd = relay->fds[0], .events = POLLIN},
            {.fd = n_left > 0 ? relay->fds[1] : -1, .events = POLLIN},
        };

        if (poll(polled, 3, -1) < 0 || polled[0].revents)
            return NULL;
        for (int from = 0; from < 2; from++) {
            const size_t n_most =
                from == 1 && n_left < sizeof(bytes) ? n_left : sizeof(bytes);

            if (!polled[1 + from].revents)
                continue;
            const ssize_t n = read(relay->fds[from], bytes, n_most);
            if (n <= 0)
                return NULL;
            relay_write(relay->fds[1 - from], bytes, n);
            n_left -= from == 1 ? (size_t)n : 0;
        }
    }
}

static void
relay_start(struct relay *relay)
{
    for (int i = 0; i < 2; i++) {
        int pair[2];

        tcp_pair(pair);
        relay->fds[i] = pair[0];
        relay->ends[i] = pair[1];
    }
    relay->stop_fd = eventfd(0, 0);
    assert_int_equal(pthread_create(&relay->thread, NULL, relay_run, relay), 0);
}

static void
relay_stop(struct relay *relay)
{
    eventfd_write(relay->stop_fd, 1);
    pthread_join(relay->thread, NULL);
    close(relay->stop_fd);
    close(relay->fds[0]);
    close(relay->fds[1]);
}

static int32_t relayed[2][RELAYED_COUNT];

static int
side_relayed(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    struct op *op = NULL;

    context_set_timeout(context, RELAYED_MS);
    SIDE_CHECK(sum_start(context, relayed[side->rank], RELAYED_COUNT, &op) ==
               HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_E_TIMEOUT);
    if (side->rank == 1)
        return 0;
    SIDE_CHECK(strstr(error_text(), "waiting for rank 1 (host:41) to "));
    SIDE_CHECK(
        strstr(error_text(), "; it has called this; its last byte came "));
    SIDE_CHECK(strstr(error_text(), " s ago; "));
    SIDE_CHECK(strstr(error_text(), " MB/s so far)"));
    SIDE_CHECK(!strstr(error_text(), "not called"));
    SIDE_CHECK(!strstr(error_text(), "not answer"));
    return 0;
}

/* The link takes all of its answers, too: nothing but its bytes tells. */
static void
peer_of_which_a_part_came_is_said_to_have_called(void **state)
{
    struct relay relay;

    open_timed();
    relay_start(&relay);
    for (uint32_t i = 0; i < 2; i++)
        engine_add_connection(engine_pair.sides[i].engine, 1 - i,
                              relay.ends[i]);
    engine_pair_start_backgrounds(&engine_pair);
    engine_pair_run(&engine_pair, side_relayed);
    relay_stop(&relay);
    engine_pair_close(&engine_pair);
}

#define TIMED_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, engine_pair_set_up_timed,            \
                                    engine_pair_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TIMED_TEST(failure_tells_who_waited_for_whom_and_how_long),
        TIMED_TEST(deadline_of_a_communicator_is_named_as_its),
        TIMED_TEST(operation_that_was_given_up_has_no_deadline_to_tell),
        SIDES_BACKGROUND_TEST(peer_in_another_communicator_is_said_to_be_there),
        SIDES_BACKGROUND_TEST(
            peer_in_a_message_of_another_communicator_is_said_to_be_there),
        cmocka_unit_test(peer_of_which_a_part_came_is_said_to_have_called),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
