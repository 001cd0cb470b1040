/* tests/unit/common/rpc/connection_pool_test.c - rpc/connection_pool.c */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "net/loop.h"
#include "rpc/connection_pool.h"
#include "rpc/sp_stream.h"
#include "rpc_bench.h"
#include "rpc_raw.h"

enum {
    GUESTS = 8,
};

struct visitor {
    struct pool_entry guest;
    struct fixture *fixture;
    unsigned n_closed;
};

struct fixture {
    struct loop *loop;
    struct connection_pool *lobby;
    struct visitor visitors[GUESTS];
    unsigned n_closed;
    unsigned n_wanted; /* closed, then the loop stops */
};

/* As a connection that goes at once. */
static void
on_close(struct pool_entry *guest)
{
    struct visitor *visitor = CONTAINER_OF(guest, struct visitor, guest);
    struct fixture *fixture = visitor->fixture;

    visitor->n_closed++;
    connection_pool_leave(fixture->lobby, guest);
    if (++fixture->n_closed == fixture->n_wanted)
        loop_stop(fixture->loop);
}

static void
fixture_init(struct fixture *fixture,
             const struct connection_pool_limits *bounds)
{
    *fixture = (struct fixture){0};
    assert_int_equal(loop_create(&fixture->loop), HOOP_OK);
    assert_int_equal(
        connection_pool_create(fixture->loop, bounds, &fixture->lobby),
        HOOP_OK);
    for (size_t i = 0; i < GUESTS; i++) {
        fixture->visitors[i].fixture = fixture;
        fixture->visitors[i].guest.close = on_close;
    }
}

static void
fixture_deinit(struct fixture *fixture)
{
    for (size_t i = 0; i < GUESTS; i++)
        connection_pool_leave(fixture->lobby, &fixture->visitors[i].guest);
    connection_pool_destroy(fixture->lobby);
    loop_destroy(fixture->loop);
}

static void
enter(struct fixture *fixture, size_t i, const char *text)
{
    struct address address;

    assert_int_equal(address_parse(text, &address), HOOP_OK);
    assert_int_equal(connection_pool_enter(
                         fixture->lobby, &fixture->visitors[i].guest, &address),
                     HOOP_OK);
}

static void
prove(struct fixture *fixture, size_t i)
{
    connection_pool_prove(fixture->lobby, &fixture->visitors[i].guest);
}

static void
on_end(void *owner)
{
    loop_stop(owner);
}

/* What was posted until now happens; who is closed then, as bits. */
static unsigned
closed(struct fixture *fixture)
{
    unsigned bits = 0;

    assert_int_equal(loop_post(fixture->loop, on_end, fixture->loop), HOOP_OK);
    loop_run(fixture->loop);
    for (unsigned i = 0; i < GUESTS; i++) {
        assert_true(fixture->visitors[i].n_closed <= 1);
        bits |= fixture->visitors[i].n_closed << i;
    }
    return bits;
}

static void
too_many_of_one_address_cost_its_oldest_strangers(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct connection_pool_limits){.n_origin_max = 3});
    enter(&f, 0, "10.0.0.2:1");
    for (size_t i = 1; i < 6; i++)
        enter(&f, i, i % 2 ? "10.0.0.1:1" : "10.0.0.1:2");
    enter(&f, 6, "[fe80::1]:1");
    assert_int_equal(closed(&f), 1 << 1 | 1 << 2);
    assert_int_equal(connection_pool_n_closed(f.lobby), 2);
    fixture_deinit(&f);
}

static void
known_ones_never_make_room(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct connection_pool_limits){.n_origin_max = 3});
    for (size_t i = 0; i < 3; i++)
        enter(&f, i, "10.0.0.1:1");
    prove(&f, 0);
    prove(&f, 1);
    prove(&f, 1);
    enter(&f, 3, "10.0.0.1:1");
    assert_int_equal(closed(&f), 1 << 2);
    prove(&f, 3);
    enter(&f, 4, "10.0.0.1:1");
    assert_int_equal(closed(&f), 1 << 2 | 1 << 4);
    /* One has gone: there is room again. */
    connection_pool_leave(f.lobby, &f.visitors[0].guest);
    enter(&f, 5, "10.0.0.1:1");
    assert_int_equal(closed(&f), 1 << 2 | 1 << 4);
    fixture_deinit(&f);
}

static void
own_host_has_a_bound_of_its_own(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct connection_pool_limits){.n_origin_max = 1,
                                                      .n_loopback_max = 2});
    for (size_t i = 0; i < 3; i++)
        enter(&f, i, "127.0.0.1:1");
    enter(&f, 3, "[::1]:1");
    enter(&f, 4, "[::1]:2");
    assert_int_equal(closed(&f), 1 << 0);
    fixture_deinit(&f);
}

static void
too_many_in_all_cost_the_oldest_of_all(void **state)
{
    struct fixture f;
    char text[32];

    (void)state;
    fixture_init(&f, &(struct connection_pool_limits){.n_all_max = 4});
    for (size_t i = 0; i < 6; i++) {
        snprintf(text, sizeof(text), "10.0.0.%zu:1", i);
        enter(&f, i, text);
        if (i == 0)
            prove(&f, i);
    }
    assert_int_equal(closed(&f), 1 << 1 | 1 << 2);
    fixture_deinit(&f);
}

static void
who_shows_nothing_is_closed_after_a_while(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct connection_pool_limits){.patience_ms = 30});
    for (size_t i = 0; i < 3; i++)
        enter(&f, i, "10.0.0.1:1");
    prove(&f, 1);
    f.n_wanted = 2;
    loop_run(f.loop);
    assert_int_equal(closed(&f), 1 << 0 | 1 << 2);
    assert_int_equal(connection_pool_n_closed(f.lobby), 2);
    fixture_deinit(&f);
}

static void
who_has_left_is_not_closed(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct connection_pool_limits){.n_origin_max = 1});
    for (size_t i = 0; i < 4; i++)
        enter(&f, i, "10.0.0.1:1");
    connection_pool_leave(f.lobby, &f.visitors[0].guest);
    connection_pool_leave(f.lobby, &f.visitors[0].guest);
    connection_pool_leave(f.lobby, &f.visitors[3].guest);
    assert_int_equal(closed(&f), 1 << 1 | 1 << 2);
    assert_int_equal(connection_pool_n_closed(f.lobby), 3);
    fixture_deinit(&f);
}

static void
lobby_outlives_its_creator_for_who_refers_to_it(void **state)
{
    struct fixture f;

    (void)state;
    fixture_init(&f, &(struct connection_pool_limits){.n_origin_max = 1});
    assert_ptr_equal(connection_pool_ref(f.lobby), f.lobby);
    assert_null(connection_pool_ref(NULL));
    enter(&f, 0, "10.0.0.1:1");
    connection_pool_destroy(f.lobby);
    loop_destroy(f.loop);
    /* As on a thread of NNG's that could not be stopped. */
    enter(&f, 1, "10.0.0.1:1");
    connection_pool_leave(f.lobby, &f.visitors[0].guest);
    connection_pool_leave(f.lobby, &f.visitors[1].guest);
    assert_int_equal(f.n_closed, 0);
    connection_pool_unref(f.lobby);
    connection_pool_destroy(NULL);
}

/* The same in a server, which is told who has proved himself. */
static void
server_closes_who_does_not_prove_itself(void **state)
{
    /* Of which those who are known must have been heard, on a busy machine. */
    struct bench_server server = {.patience_ms = 2000};
    const struct raw_request add = {"hoop.v1.Store/Add", 1, 5000};
    const struct raw_request get = {"hoop.v1.Store/Get", 2, 5000};
    uint8_t header[SP_HEADER_BYTES];

    (void)state;
    bench_server_start(&server, 0);
    const int member = raw_greet(&server);
    raw_ask(member, &add);
    assert_int_equal(raw_hear(member).status, HOOP_OK);
    const int silent = raw_greet(&server);
    const int halting = raw_greet(&server);
    sp_header_encode(17, 1000, header);
    raw_send(halting, header, sizeof(header));
    const int asking = raw_greet(&server);
    raw_ask(asking, &get);
    assert_int_equal(raw_hear(asking).id, 2);

    assert_closed_by_server(silent);
    assert_closed_by_server(halting);
    assert_closed_by_server(asking);
    raw_ask(member, &get);
    assert_int_equal(raw_hear(member).id, 2);
    const struct rpc_server_counters counters = bench_server_counters(&server);
    assert_int_equal(counters.connections_closed, 3);
    close(member);
    bench_server_stop(&server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(too_many_of_one_address_cost_its_oldest_strangers),
        cmocka_unit_test(known_ones_never_make_room),
        cmocka_unit_test(own_host_has_a_bound_of_its_own),
        cmocka_unit_test(too_many_in_all_cost_the_oldest_of_all),
        cmocka_unit_test(who_shows_nothing_is_closed_after_a_while),
        cmocka_unit_test(who_has_left_is_not_closed),
        cmocka_unit_test(server_closes_who_does_not_prove_itself),
        cmocka_unit_test(lobby_outlives_its_creator_for_who_refers_to_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
