/* tests/unit/common/rpc/rpc_deferred_test.c - replies that may not leave yet */

#include <poll.h>
#include <unistd.h>

#include "check.h"
#include "rpc_bench.h"
#include "rpc_raw.h"

static void
server_replies_wait_for_their_release(void **state)
{
    struct bench_server server = {0};
    const struct raw_request add = {"hoop.v1.Store/Add", 1, 5000};
    const struct raw_request get = {"hoop.v1.Store/Get", 2, 5000};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    atomic_store(&server.barrier, 1);
    raw_ask(fd, &add);
    bench_wait_for(&server.n_added, 1);
    /* Sent again, it must not learn of it either. */
    raw_ask(fd, &add);
    bench_wait_until_repeated(&server, 1);
    assert_int_equal(poll(&readable, 1, 20), 0);
    bench_server_release(&server, 1);
    assert_int_equal(raw_hear(fd).id, 1);
    assert_int_equal(raw_hear(fd).id, 1);

    atomic_store(&server.barrier, 3);
    raw_ask(fd, &get);
    bench_wait_for(&server.n_handled, 2);
    bench_server_release(&server, 2);
    assert_int_equal(poll(&readable, 1, 20), 0);
    bench_server_release(&server, 3);
    assert_int_equal(raw_hear(fd).id, 2);
    assert_int_equal(atomic_load(&server.n_added), 1);
    close(fd);
    bench_server_stop(&server);
}

static void
server_refusals_wait_for_nothing(void **state)
{
    struct bench_server server = {0};
    const struct raw_request unknown = {"hoop.v1.Store/Burn", 1, 5000};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    atomic_store(&server.barrier, 1);
    raw_ask(fd, &unknown);
    assert_int_equal(raw_hear(fd).status, HOOP_E_UNIMPLEMENTED);
    close(fd);
    bench_server_stop(&server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_replies_wait_for_their_release),
        cmocka_unit_test(server_refusals_wait_for_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
