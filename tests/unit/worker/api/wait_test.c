/* tests/unit/worker/api/wait_test.c - api/wait.c */

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "hoop/hoop.h"

#include "engine_pair_fixture.h"

static void
pipe_close_at(int (*ends)[2])
{
    for (int i = 0; i < 2; i++)
        if ((*ends)[i] >= 0)
            close((*ends)[i]);
}

static hoop_comm_t *
comm_of(uint32_t rank)
{
    return &engine_pair.sides[rank].comms[0];
}

static void
send_from_1(int64_t tag)
{
    assert_ok(hoop_send("x", 1, HOOP_UINT8, 0, tag, comm_of(1)));
}

static hoop_op_t *
receive_on_0(char *byte, int64_t tag)
{
    hoop_op_t *op = NULL;

    assert_ok(
        hoop_recv_start(byte, 1, HOOP_UINT8, 1, tag, comm_of(0), NULL, &op));
    return op;
}

static void
null_is_invalid(void **state)
{
    assert_int_equal(hoop_wait(NULL, 0), HOOP_E_INVALID);
    assert_string_equal(hoop_error_text(), "op is NULL");
    assert_int_equal(hoop_test(NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_wait_all(NULL, 1, 0), HOOP_E_INVALID);
    assert_string_equal(hoop_error_text(), "ops is NULL");
    assert_ok(hoop_wait_all(NULL, 0, 0));
    assert_int_equal(hoop_op_notify(NULL, -1), HOOP_E_INVALID);
    assert_string_equal(hoop_error_text(), "op is NULL");
    assert_false(hoop_op_has_ended(NULL));
}

static void
test_is_pending_until_it_has_come(void **state)
{
    char byte = 0;
    hoop_op_t *op = receive_on_0(&byte, 1);

    assert_int_equal(hoop_test(op), HOOP_E_PENDING);
    assert_non_null(strstr(hoop_error_text(), "still under way"));
    assert_int_equal(hoop_wait(op, 5), HOOP_E_PENDING);
    assert_non_null(
        strstr(hoop_error_text(), "after the 5 ms that this wait allows"));
    send_from_1(1);
    assert_ok(hoop_wait(op, HOOP_FOREVER));
    assert_int_equal(byte, 'x');
    assert_string_equal(hoop_error_text(), "");
}

static void
wait_all_frees_what_has_ended_and_keeps_the_rest(void **state)
{
    char bytes[3] = {0};
    hoop_op_t *ops[4] = {receive_on_0(&bytes[0], 1), NULL,
                         receive_on_0(&bytes[1], 2),
                         receive_on_0(&bytes[2], 3)};

    send_from_1(1);
    send_from_1(3);
    /* As soon as they have come. */
    for (int i = 0; i < 1000 && (ops[0] || ops[3]); i++)
        assert_int_equal(hoop_wait_all(ops, 4, 5), HOOP_E_PENDING);
    assert_null(ops[0]);
    assert_null(ops[3]);
    assert_non_null(ops[2]);
    assert_non_null(strstr(hoop_error_text(), "still under way"));
    send_from_1(2);
    assert_ok(hoop_wait_all(ops, 4, 20000));
    assert_null(ops[2]);
    assert_memory_equal(bytes, "xxx", 3);
}

static void
wait_all_tells_the_first_failure_before_what_is_pending(void **state)
{
    char bytes[2] = {0};
    hoop_op_t *ops[2] = {receive_on_0(&bytes[0], 1), NULL};

    hoop_comm_set_timeout(comm_of(0), 30);
    ops[1] = receive_on_0(&bytes[1], 2);
    /* The second times out while the first is waited for. */
    assert_int_equal(hoop_wait_all(ops, 2, 200), HOOP_E_TIMEOUT);
    assert_non_null(strstr(hoop_error_text(), "timed out"));
    assert_null(ops[1]);
    assert_non_null(ops[0]);
    send_from_1(1);
    assert_ok(hoop_wait_all(ops, 2, 20000));
}

/* Whether fd can be read within the time, and its bytes, which are gone
 * then. */
static ssize_t
told(int fd, int timeout_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    uint64_t numbers[8];

    return poll(&poll_fd, 1, timeout_ms) == 1
               ? read(fd, numbers, sizeof(numbers))
               : 0;
}

static void
notify_tells_of_the_end_without_a_waiter(void **state)
{
    CLEANUP(pipe_close) int ends[2] = {-1, -1};
    char bytes[2] = {0};
    hoop_op_t *ops[2] = {receive_on_0(&bytes[0], 1),
                         receive_on_0(&bytes[1], 2)};

    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(hoop_op_notify(ops[i], ends[1]));
        assert_false(hoop_op_has_ended(ops[i]));
    }
    assert_int_equal(told(ends[0], 0), 0);
    send_from_1(2);
    assert_int_equal(told(ends[0], 20000), 8);
    assert_false(hoop_op_has_ended(ops[0]));
    assert_true(hoop_op_has_ended(ops[1]));
    assert_ok(hoop_wait(ops[1], 0));
    /* Not any more. */
    assert_ok(hoop_op_notify(ops[0], -1));
    send_from_1(1);
    assert_ok(hoop_wait(ops[0], 20000));
    assert_int_equal(told(ends[0], 0), 0);
    assert_memory_equal(bytes, "xx", 2);
}

static void
notify_of_what_has_ended_tells_at_once(void **state)
{
    CLEANUP(pipe_close) int ends[2] = {-1, -1};
    hoop_op_t *op = NULL;

    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_ok(hoop_send_start("x", 1, HOOP_UINT8, 0, 7, comm_of(0), &op));
    for (int i = 0; i < 2; i++) {
        assert_ok(hoop_op_notify(op, ends[1]));
        assert_int_equal(told(ends[0], i == 0 ? 20000 : 0), 8);
        assert_true(hoop_op_has_ended(op));
    }
    assert_ok(hoop_wait(op, 0));
    op = (hoop_op_t *)engine_null_op();
    assert_ok(hoop_op_notify(op, ends[1]));
    assert_int_equal(told(ends[0], 0), 8);
    assert_true(hoop_op_has_ended(op));
}

/* One half ends before the other. */
static void
notify_tells_of_the_end_of_both_halves(void **state)
{
    CLEANUP(pipe_close) int ends[2] = {-1, -1};
    char byte = 0;
    const struct hoop_message send = {.kind = HOOP_SEND,
                                      .buffer = "y",
                                      .count = 1,
                                      .dtype = HOOP_UINT8,
                                      .peer = 1};
    const struct hoop_message recv = {.kind = HOOP_RECV,
                                      .buffer = &byte,
                                      .count = 1,
                                      .dtype = HOOP_UINT8,
                                      .peer = 1};
    hoop_op_t *op = NULL;

    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_ok(hoop_sendrecv_start(&send, &recv, comm_of(0), NULL, &op));
    assert_ok(hoop_op_notify(op, ends[1]));
    assert_false(hoop_op_has_ended(op));
    send_from_1(0);
    hoop_op_t *received = NULL;
    char sent = 0;
    assert_ok(hoop_recv_start(&sent, 1, HOOP_UINT8, 0, 0, comm_of(1), NULL,
                              &received));
    while (!hoop_op_has_ended(op))
        assert_int_not_equal(told(ends[0], 20000), 0);
    assert_ok(hoop_wait(op, 0));
    assert_ok(hoop_wait(received, 20000));
    assert_int_equal(byte, 'x');
    assert_int_equal(sent, 'y');
}

static void
notify_that_finds_no_room_does_not_wait(void **state)
{
    CLEANUP(pipe_close) int ends[2] = {-1, -1};
    const char page[4096] = {0};
    char bytes[2] = {0};
    hoop_op_t *ops[2] = {receive_on_0(&bytes[0], 1),
                         receive_on_0(&bytes[1], 2)};

    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    while (write(ends[1], page, sizeof(page)) > 0)
        continue;
    assert_ok(hoop_op_notify(ops[0], ends[1]));
    send_from_1(1);
    send_from_1(2);
    assert_ok(hoop_wait(ops[1], 20000));
    assert_true(hoop_op_has_ended(ops[0]));
    assert_ok(hoop_wait(ops[0], 0));
}

static void
notify_refuses_what_cannot_be_written_to_at_once(void **state)
{
    CLEANUP(pipe_close) int ends[2] = {-1, -1};
    char byte = 0;
    hoop_op_t *op = receive_on_0(&byte, 1);

    assert_int_equal(pipe2(ends, 0), 0);
    assert_int_equal(hoop_op_notify(op, ends[1]), HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), "may block: set O_NONBLOCK"));
    assert_int_equal(hoop_op_notify(op, ends[0]), HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), "for reading only"));
    assert_int_equal(hoop_op_notify(op, INT_MAX), HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), "is not open"));
    send_from_1(1);
    assert_ok(hoop_wait(op, 20000));
}

static volatile sig_atomic_t n_broken;

static void
on_broken(int number)
{
    n_broken++;
}

/* Neither where it ends meanwhile, nor where it has ended. */
static void
notify_of_a_pipe_without_a_reader_raises_no_signal(void **state)
{
    CLEANUP(pipe_close) int ends[2] = {-1, -1};
    const struct sigaction counted = {.sa_handler = on_broken};
    struct sigaction before;
    char byte = 0;
    hoop_op_t *op = receive_on_0(&byte, 1);

    assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
    assert_int_equal(close(ends[0]), 0);
    ends[0] = -1;
    assert_int_equal(sigaction(SIGPIPE, &counted, &before), 0);
    assert_ok(hoop_op_notify(op, ends[1]));
    send_from_1(1);
    while (!hoop_op_has_ended(op))
        sched_yield();
    assert_ok(hoop_op_notify(op, ends[1]));
    assert_ok(hoop_wait(op, 0));
    assert_int_equal(n_broken, 0);
    /* One of the program's own still comes. */
    assert_true(write(ends[1], "x", 1) < 0);
    assert_int_equal(n_broken, 1);
    assert_int_equal(sigaction(SIGPIPE, &before, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(null_is_invalid),
        ENGINE_PAIR_TEST(test_is_pending_until_it_has_come),
        ENGINE_PAIR_TEST(wait_all_frees_what_has_ended_and_keeps_the_rest),
        ENGINE_PAIR_TEST(
            wait_all_tells_the_first_failure_before_what_is_pending),
        ENGINE_PAIR_BACKGROUND_TEST(notify_tells_of_the_end_without_a_waiter),
        ENGINE_PAIR_BACKGROUND_TEST(notify_of_what_has_ended_tells_at_once),
        ENGINE_PAIR_BACKGROUND_TEST(notify_tells_of_the_end_of_both_halves),
        ENGINE_PAIR_BACKGROUND_TEST(notify_that_finds_no_room_does_not_wait),
        ENGINE_PAIR_BACKGROUND_TEST(
            notify_refuses_what_cannot_be_written_to_at_once),
        ENGINE_PAIR_BACKGROUND_TEST(
            notify_of_a_pipe_without_a_reader_raises_no_signal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
