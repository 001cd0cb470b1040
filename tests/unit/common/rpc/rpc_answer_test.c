/*
 * tests/unit/common/rpc/rpc_answer_test.c - rpc/rpc_request.c behind a server:
 * what is sent again is applied once
 */

#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "rpc_bench.h"
#include "rpc_raw.h"

static void
server_repeats_the_reply_to_a_request_sent_again(void **state)
{
    struct bench_server server = {0};
    const struct raw_request add = {"hoop.v1.Store/Add", 1, 5000};
    const struct raw_request next = {"hoop.v1.Store/Add", 2, 5000};

    bench_server_start(&server, 0);
    int fd = raw_greet(&server);
    raw_ask(fd, &add);
    assert_string_equal(raw_hear(fd).body, "1");
    raw_ask(fd, &add);
    assert_string_equal(raw_hear(fd).body, "1");
    close(fd);

    fd = raw_greet(&server);
    raw_ask(fd, &add);
    assert_string_equal(raw_hear(fd).body, "1");
    raw_ask(fd, &next);
    assert_string_equal(raw_hear(fd).body, "2");
    assert_int_equal(server.n_added, 2);
    assert_int_equal(bench_server_counters(&server).requests_repeated, 2);
    close(fd);
    bench_server_stop(&server);
}

static void
server_keeps_no_reply_to_whoever_is_not_believed(void **state)
{
    struct bench_server server = {0};
    const struct raw_request add = {"hoop.v1.Store/Add", 1, 5000};
    const char *const bodies[] = {"1", "2", "3", "3"};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        atomic_store(&server.is_doubtful, i != 2);
        raw_ask(fd, &add);
        assert_string_equal(raw_hear(fd).body, bodies[i]);
    }
    close(fd);
    bench_server_stop(&server);
}

/* Who asked is gone, and nobody waits for the answer. */
static void
ask_and_leave(struct bench_server *server, const struct raw_request *request)
{
    const int fd = raw_greet(server);

    raw_ask(fd, request);
    bench_wait_for(&server->n_parked, 1);
    close(fd);
    bench_wait_for(&server->n_abandoned, 1);
}

/* Store/Delete CHANGES something and is parked here until Store/Set. */
static void
server_attaches_a_request_sent_again_to_the_running_one(void **state)
{
    struct bench_server server = {0};
    const struct raw_request slow = {"hoop.v1.Store/Delete", 1, 5000};
    const struct raw_request set = {"hoop.v1.Store/Set", 2, 5000};

    bench_server_start(&server, 0);
    ask_and_leave(&server, &slow);
    const int second = raw_greet(&server);
    raw_ask(second, &slow);
    bench_wait_until_repeated(&server, 1);
    raw_ask(second, &set);
    assert_int_equal(raw_hear(second).id, 1);
    assert_int_equal(raw_hear(second).id, 2);
    assert_int_equal(server.n_handled, 2);
    close(second);
    bench_server_stop(&server);
}

static void
server_keeps_the_reply_that_nobody_waited_for(void **state)
{
    struct bench_server server = {0};
    const struct raw_request slow = {"hoop.v1.Store/Delete", 1, 5000};
    const struct raw_request set = {"hoop.v1.Store/Set", 2, 5000};

    bench_server_start(&server, 0);
    ask_and_leave(&server, &slow);
    const int second = raw_greet(&server);
    raw_ask(second, &set);
    assert_int_equal(raw_hear(second).id, 2);
    raw_ask(second, &slow);
    assert_int_equal(raw_hear(second).id, 1);
    assert_int_equal(server.n_handled, 2);
    close(second);
    bench_server_stop(&server);
}

/* It was applied: who is told that it was refused would ask for more. */
static void
server_full_of_parked_requests_repeats_replies(void **state)
{
    struct bench_server server = {.n_requests_max = 3};
    const struct raw_request add = {"hoop.v1.Store/Add", 1, 5000};
    const struct raw_request more = {"hoop.v1.Store/Add", 9, 5000};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    raw_ask(fd, &add);
    assert_string_equal(raw_hear(fd).body, "1");
    for (uint64_t i = 2; i <= 4; i++)
        raw_ask(fd, &(struct raw_request){"hoop.v1.Store/Wait", i, 60000});
    bench_wait_for(&server.n_parked, 3);
    raw_ask(fd, &add);
    const struct raw_reply reply = raw_hear(fd);
    assert_ok(reply.status);
    assert_string_equal(reply.body, "1");
    raw_ask(fd, &more);
    assert_int_equal(raw_hear(fd).status, HOOP_E_EXHAUSTED);
    assert_int_equal(server.n_added, 1);
    close(fd);
    bench_server_stop(&server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_repeats_the_reply_to_a_request_sent_again),
        cmocka_unit_test(server_keeps_no_reply_to_whoever_is_not_believed),
        cmocka_unit_test(
            server_attaches_a_request_sent_again_to_the_running_one),
        cmocka_unit_test(server_keeps_the_reply_that_nobody_waited_for),
        cmocka_unit_test(server_full_of_parked_requests_repeats_replies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
