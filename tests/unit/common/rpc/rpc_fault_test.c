/* tests/unit/common/rpc/rpc_fault_test.c - faults of rpc/rpc_exchange.c */

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "check.h"
#include "fault/fault.h"
#include "rpc/rpc_exchange.h"
#include "rpc_bench.h"
#include "rpc_raw.h"

enum {
    SILENCE_MS = 100,
};

static const struct raw_request add = {"hoop.v1.Store/Add", 1, 5000};
static const struct raw_request get = {"hoop.v1.Store/Get", 2, 5000};

/* The environment's faults are those of one server. */
static void
server_start(struct bench_server *server, const char *faults)
{
    setenv("HOOP_DEBUG_FAULT", faults, 1);
    bench_server_start(server, 0);
    unsetenv("HOOP_DEBUG_FAULT");
}

static void
assert_silent(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};

    assert_int_equal(poll(&look, 1, SILENCE_MS), 0);
}

/* Who asks again, over another connection, is served as if nothing had been. */
static void
assert_answered_again(struct bench_server *server, unsigned n_added)
{
    const int fd = raw_greet(server);

    raw_ask(fd, &add);
    assert_int_equal(raw_hear(fd).id, add.id);
    assert_int_equal(atomic_load(&server->n_added), n_added);
    close(fd);
}

static void
call_that_is_lost_was_never_made(void **state)
{
    struct bench_server server = {0};

    server_start(&server, "rank=coordinator,op=store_add,at=begin,do=drop");
    const int fd = raw_greet(&server);
    raw_ask(fd, &add);
    assert_silent(fd);
    assert_int_equal(atomic_load(&server.n_added), 0);
    assert_answered_again(&server, 1);
    close(fd);
    bench_server_stop(&server);
}

static void
answer_that_is_lost_is_given_again(void **state)
{
    struct bench_server server = {0};

    server_start(&server, "rank=coordinator,op=store_add,do=drop");
    const int fd = raw_greet(&server);
    raw_ask(fd, &add);
    bench_wait_for(&server.n_added, 1);
    assert_silent(fd);
    assert_answered_again(&server, 1);
    close(fd);
    bench_server_stop(&server);
}

static void
connection_ends_before_or_behind_an_answer(void **state)
{
    static const struct {
        const char *text;
        unsigned n_added;
        bool is_answered;
    } rows[] = {
        {"rank=coordinator,op=store_add,at=begin,do=reset", 0, false},
        {"rank=coordinator,op=store_add,do=reset", 1, false},
        {"rank=coordinator,op=store_add,at=end,do=reset", 1, true},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct bench_server server = {0};

        server_start(&server, rows[i].text);
        const int fd = raw_greet(&server);
        raw_ask(fd, &add);
        if (rows[i].is_answered)
            assert_int_equal(raw_hear(fd).id, add.id);
        assert_closed_by_server(fd);
        assert_int_equal(atomic_load(&server.n_added), rows[i].n_added);
        assert_answered_again(&server, 1);
        bench_server_stop(&server);
    }
}

static void
calls_are_counted_by_method(void **state)
{
    struct bench_server server = {0};
    const struct raw_request third = {"hoop.v1.Store/Add", 3, 5000};

    server_start(&server, "rank=coordinator,op=store_add,seq=2,do=reset;"
                          "rank=0,op=allreduce,do=kill;do=kill");
    const int fd = raw_greet(&server);
    raw_ask(fd, &add);
    assert_int_equal(raw_hear(fd).id, add.id);
    raw_ask(fd, &get);
    assert_int_equal(raw_hear(fd).id, get.id);
    raw_ask(fd, &third);
    assert_closed_by_server(fd);
    bench_server_stop(&server);
}

static void
delayed_answer_comes_later(void **state)
{
    const uint64_t begin_ns = clock_now_ns();
    struct bench_server server = {0};

    server_start(&server, "rank=coordinator,op=store_get,do=delay:50ms");
    const int fd = raw_greet(&server);
    raw_ask(fd, &get);
    assert_int_equal(raw_hear(fd).id, get.id);
    assert_true(clock_now_ns() - begin_ns >= 50 * CLOCK_NS_PER_MS);
    close(fd);
    bench_server_stop(&server);
}

static void
names_of_methods_are_known(void **state)
{
    static const struct {
        const char *text;
        enum hoop_status status;
    } rows[] = {
        {"rank=coordinator,op=rendezvous_join,do=kill", HOOP_OK},
        {"rank=coordinator,op=store_compare_set,do=kill", HOOP_OK},
        {"rank=coordinator,op=store_multi_get,do=kill", HOOP_OK},
        {"rank=coordinator,op=groups_agree,at=end,do=kill", HOOP_OK},
        {"rank=coordinator,op=allreduce,do=kill", HOOP_E_INVALID},
        {"rank=coordinator,op=add,do=kill", HOOP_E_INVALID},
        {"rank=1,op=allreduce,do=kill", HOOP_OK},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct faults *faults = NULL;

        setenv("HOOP_DEBUG_FAULT", rows[i].text, 1);
        if (rpc_faults_create(&faults) != rows[i].status)
            fail_msg("%s: %s", rows[i].text, error_text());
        faults_destroy(faults);
    }
    unsetenv("HOOP_DEBUG_FAULT");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_that_is_lost_was_never_made),
        cmocka_unit_test(answer_that_is_lost_is_given_again),
        cmocka_unit_test(connection_ends_before_or_behind_an_answer),
        cmocka_unit_test(calls_are_counted_by_method),
        cmocka_unit_test(delayed_answer_comes_later),
        cmocka_unit_test(names_of_methods_are_known),
    };

    /* Released ones have no faults, and refuse them. */
    return FAULT_IS_BUILT ? cmocka_run_group_tests(tests, NULL, NULL) : 77;
}
