/* tests/unit/common/rpc/connection_pool_test.c - rpc/connection_pool.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "error_words.h"
#include "net/loop.h"
#include "rpc/connection_pool.h"
#include "rpc/sp_stream.h"
#include "rpc_bench.h"
#include "rpc_raw.h"

enum {
    CONNECTIONS = 8,
    SILENCE_MS = 30,
};

struct fixture;

struct connection {
    struct pool_entry entry;
    struct fixture *fixture;
    unsigned n_closed;
};

struct fixture {
    struct loop *loop;
    struct connection_pool *pool;
    struct connection connections[CONNECTIONS];
    unsigned n_closed;
    unsigned n_wanted; /* closed, then the loop stops */
};

static void
on_close(struct pool_entry *entry, const char *reason)
{
    struct connection *connection =
        CONTAINER_OF(entry, struct connection, entry);
    struct fixture *fixture = connection->fixture;

    assert_true(strlen(reason) > 0);
    connection->n_closed++;
    connection_pool_remove(fixture->pool, entry);
    if (++fixture->n_closed == fixture->n_wanted)
        loop_stop(fixture->loop);
}

static void
fixture_init(struct fixture *fixture, struct connection_pool_limits limits)
{
    *fixture = (struct fixture){0};
    if (limits.silence_ms == 0)
        limits.silence_ms = SILENCE_MS;
    assert_ok(loop_create(&fixture->loop));
    const struct connection_pool_options options = {
        .loop = fixture->loop,
        .limits = limits,
        .close = on_close,
    };
    assert_ok(connection_pool_create(&options, &fixture->pool));
    for (size_t i = 0; i < CONNECTIONS; i++)
        fixture->connections[i].fixture = fixture;
}

static void
fixture_deinit(struct fixture *fixture)
{
    for (size_t i = 0; i < CONNECTIONS; i++)
        connection_pool_remove(fixture->pool, &fixture->connections[i].entry);
    connection_pool_destroy(fixture->pool);
    loop_destroy(fixture->loop);
}

static enum hoop_status
try_enter(struct fixture *fixture, size_t i, const char *text)
{
    struct address address;

    assert_ok(address_parse(text, &address));
    return connection_pool_add(fixture->pool, &fixture->connections[i].entry,
                               &address, 0);
}

static void
enter(struct fixture *fixture, size_t i, const char *text)
{
    assert_ok(try_enter(fixture, i, text));
}

static void
admit(struct fixture *fixture, size_t i)
{
    assert_ok(connection_pool_set_role(
        fixture->pool, &fixture->connections[i].entry, ROLE_WORKER));
}

static void
hear(struct fixture *fixture, size_t i)
{
    connection_pool_touch(fixture->pool, &fixture->connections[i].entry);
}

/* As the listener asks when somebody comes. */
static bool
has_room(const struct fixture *fixture)
{
    return !connection_pool_is_full(fixture->pool) ||
           connection_pool_make_room(fixture->pool);
}

/* All that are there have been silent for long enough then. */
static void
silence(const struct fixture *fixture)
{
    const uint64_t deadline_ns = clock_deadline_ns(SILENCE_MS + 1);

    while (!clock_is_past(deadline_ns))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Who was closed, as bits. */
static unsigned
closed(const struct fixture *fixture)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < CONNECTIONS; i++) {
        assert_true(fixture->connections[i].n_closed <= 1);
        bits |= fixture->connections[i].n_closed << i;
    }
    return bits;
}

static void
too_many_of_one_address_cost_its_longest_silent_strangers(void **state)
{
    struct fixture f;

    fixture_init(&f, (struct connection_pool_limits){.n_network_max = 3});
    enter(&f, 0, "10.0.0.2:1");
    for (size_t i = 1; i < 4; i++)
        enter(&f, i, i % 2 ? "10.0.0.1:1" : "10.0.0.1:2");
    silence(&f);
    hear(&f, 1);
    enter(&f, 4, "10.0.0.1:1");
    enter(&f, 5, "10.0.0.1:2");
    assert_int_equal(closed(&f), 1 << 2 | 1 << 3);
    assert_int_equal(connection_pool_n_closed(f.pool), 2);
    fixture_deinit(&f);
}

/* Who is about to show a token is not displaced by who comes faster. */
static void
those_heard_just_now_are_not_displaced(void **state)
{
    struct fixture f;

    fixture_init(&f, (struct connection_pool_limits){.n_network_max = 2,
                                                     .n_all_max = 3,
                                                     .silence_ms = 60000});
    enter(&f, 0, "10.0.0.1:1");
    enter(&f, 1, "10.0.0.1:2");
    assert_int_equal(try_enter(&f, 2, "10.0.0.1:3"), HOOP_E_EXHAUSTED);
    assert_words("2 connections of its address");
    assert_true(has_room(&f));
    enter(&f, 3, "10.0.0.2:1");
    assert_false(has_room(&f));
    assert_false(connection_pool_make_room(f.pool));
    assert_int_equal(closed(&f), 0);
    assert_int_equal(connection_pool_n_closed(f.pool), 1);
    fixture_deinit(&f);
}

/* A host may use every address of its network of 64 bits. */
static void
addresses_of_one_ipv6_network_count_as_one(void **state)
{
    struct fixture f;

    fixture_init(&f, (struct connection_pool_limits){.n_network_max = 2,
                                                     .silence_ms = 60000});
    enter(&f, 0, "[2001:db8:0:1::1]:1");
    enter(&f, 1, "[2001:db8:0:1:8000::2]:1");
    assert_int_equal(try_enter(&f, 2, "[2001:db8:0:1:ffff:ffff:ffff:3]:1"),
                     HOOP_E_EXHAUSTED);
    enter(&f, 3, "[2001:db8:0:2::1]:1");
    enter(&f, 4, "10.0.0.1:1");
    enter(&f, 5, "10.0.0.2:1");
    fixture_deinit(&f);
}

static void
known_ones_never_make_room(void **state)
{
    struct fixture f;

    fixture_init(&f, (struct connection_pool_limits){.n_network_max = 1,
                                                     .n_all_max = 3});
    for (size_t i = 0; i < 3; i++) {
        enter(&f, i, "10.0.0.1:1");
        admit(&f, i);
        admit(&f, i);
    }
    silence(&f);
    assert_false(has_room(&f));
    assert_int_equal(closed(&f), 0);
    /* One has gone: there is room again. */
    connection_pool_remove(f.pool, &f.connections[0].entry);
    assert_true(has_room(&f));
    enter(&f, 3, "10.0.0.1:1");
    silence(&f);
    assert_true(has_room(&f));
    assert_int_equal(closed(&f), 1 << 3);
    fixture_deinit(&f);
}

static void
own_host_has_a_bound_of_its_own(void **state)
{
    struct fixture f;

    fixture_init(&f, (struct connection_pool_limits){.n_network_max = 1,
                                                     .n_loopback_max = 2,
                                                     .silence_ms = 60000});
    enter(&f, 0, "127.0.0.1:1");
    enter(&f, 1, "127.0.0.1:1");
    assert_int_equal(try_enter(&f, 2, "127.0.0.1:1"), HOOP_E_EXHAUSTED);
    enter(&f, 3, "[::1]:1");
    enter(&f, 4, "[::1]:2");
    fixture_deinit(&f);
}

static void
too_many_in_all_cost_the_longest_silent_of_all(void **state)
{
    struct fixture f;
    char text[32];

    fixture_init(&f, (struct connection_pool_limits){.n_all_max = 4});
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof(text), "10.0.0.%zu:1", i);
        enter(&f, i, text);
    }
    admit(&f, 0);
    silence(&f);
    hear(&f, 1);
    assert_true(has_room(&f));
    enter(&f, 4, "10.0.0.4:1");
    assert_true(has_room(&f));
    enter(&f, 5, "10.0.0.5:1");
    assert_int_equal(closed(&f), 1 << 2 | 1 << 3);
    /* Those that are left have all been heard. */
    assert_false(has_room(&f));
    fixture_deinit(&f);
}

static void
enter_silent(struct fixture *fixture,
             size_t i,
             const char *text,
             uint64_t silent_ms)
{
    struct address address;

    assert_ok(address_parse(text, &address));
    assert_ok(connection_pool_add(fixture->pool, &fixture->connections[i].entry,
                                  &address, silent_ms));
}

/* What was silent while it waited to be accepted goes before those that
 * spoke. */
static void
silence_before_it_was_accepted_counts(void **state)
{
    struct fixture f;

    fixture_init(&f, (struct connection_pool_limits){.n_all_max = 3,
                                                     .silence_ms = 60000});
    enter(&f, 0, "10.0.0.1:1");
    enter(&f, 1, "10.0.0.2:1");
    enter_silent(&f, 2, "10.0.0.3:1", 60000);
    assert_true(has_room(&f));
    assert_int_equal(closed(&f), 1 << 2);
    enter_silent(&f, 3, "10.0.0.4:1", 59000);
    assert_false(has_room(&f));
    fixture_deinit(&f);
}

/* One that is slow to shake hands is not ended by many of another network,
 * neither while they are fresh nor when they are silent, too. */
static void
crowd_of_one_network_displaces_itself(void **state)
{
    struct fixture f;

    fixture_init(&f, (struct connection_pool_limits){.n_all_max = 5,
                                                     .silence_ms = 60000});
    enter_silent(&f, 0, "10.0.0.1:1", 200000);
    for (size_t i = 1; i < 5; i++)
        enter(&f, i, "10.0.0.2:1");
    assert_false(has_room(&f));
    assert_int_equal(closed(&f), 0);
    connection_pool_remove(f.pool, &f.connections[1].entry);
    enter_silent(&f, 5, "10.0.0.2:1", 100000);
    assert_true(has_room(&f));
    assert_int_equal(closed(&f), 1 << 5);
    assert_ptr_equal(connection_pool_choose_to_close(f.pool,
                                                     &f.connections[0].entry,
                                                     &f.connections[2].entry),
                     &f.connections[2].entry);
    assert_ptr_equal(connection_pool_choose_to_close(f.pool,
                                                     &f.connections[2].entry,
                                                     &f.connections[0].entry),
                     &f.connections[2].entry);
    fixture_deinit(&f);
}

/* Whoever holds few of many is no crowd: two silent for longer go first. */
static void
few_of_many_are_no_crowd(void **state)
{
    struct fixture f;
    char text[32];

    fixture_init(&f, (struct connection_pool_limits){.n_all_max = 1000,
                                                     .silence_ms = 60000});
    struct pool_entry *others = calloc(100, sizeof(*others));
    assert_non_null(others);
    for (size_t i = 0; i < 100; i++) {
        struct address address;

        snprintf(text, sizeof(text), "10.0.%zu.1:1", i);
        assert_ok(address_parse(text, &address));
        assert_ok(connection_pool_add(f.pool, &others[i], &address, 0));
    }
    for (size_t i = 0; i < 3; i++)
        enter(&f, i, "10.1.0.1:1");
    enter_silent(&f, 3, "10.1.0.2:1", 60000);
    assert_true(connection_pool_make_room(f.pool));
    assert_int_equal(closed(&f), 1 << 3);
    for (size_t i = 0; i < 100; i++)
        connection_pool_remove(f.pool, &others[i]);
    free(others);
    fixture_deinit(&f);
}

static void
lesser_roles_leave_room_for_workers(void **state)
{
    struct fixture f;

    fixture_init(&f, (struct connection_pool_limits){.n_all_max = 8});
    for (size_t i = 0; i < 3; i++)
        enter(&f, i, "10.0.0.1:1");
    for (size_t i = 0; i < 2; i++)
        assert_ok(connection_pool_set_role(f.pool, &f.connections[i].entry,
                                           ROLE_OPERATOR));
    assert_int_equal(connection_pool_set_role(f.pool, &f.connections[2].entry,
                                              ROLE_OPERATOR),
                     HOOP_E_EXHAUSTED);
    assert_words("2 connections of role operator");
    assert_int_equal(f.connections[2].entry.state, POOL_ENTRY_UNAUTHENTICATED);
    admit(&f, 2);
    connection_pool_remove(f.pool, &f.connections[0].entry);
    enter(&f, 3, "10.0.0.1:1");
    assert_ok(connection_pool_set_role(f.pool, &f.connections[3].entry,
                                       ROLE_OPERATOR));
    fixture_deinit(&f);
}

static void
who_shows_nothing_is_closed_after_a_while(void **state)
{
    struct fixture f;

    fixture_init(&f, (struct connection_pool_limits){.auth_timeout_ms = 30});
    for (size_t i = 0; i < 3; i++)
        enter(&f, i, "10.0.0.1:1");
    admit(&f, 1);
    /* A byte now and then is no token. */
    hear(&f, 2);
    f.n_wanted = 2;
    loop_run(f.loop);
    assert_int_equal(closed(&f), 1 << 0 | 1 << 2);
    assert_int_equal(connection_pool_n_closed(f.pool), 2);
    fixture_deinit(&f);
}

static void
who_has_left_is_not_closed(void **state)
{
    struct fixture f;

    fixture_init(&f, (struct connection_pool_limits){.n_network_max = 1});
    enter(&f, 0, "10.0.0.1:1");
    connection_pool_remove(f.pool, &f.connections[0].entry);
    connection_pool_remove(f.pool, &f.connections[0].entry);
    enter(&f, 1, "10.0.0.1:1");
    silence(&f);
    enter(&f, 2, "10.0.0.1:1");
    assert_int_equal(closed(&f), 1 << 1);
    fixture_deinit(&f);
}

/* The same in a server, which is told who has proved himself. */
static void
server_closes_who_does_not_prove_itself(void **state)
{
    /* Of which those who are known must have been heard, on a busy machine. */
    struct bench_server server = {.auth_timeout_ms = 2000};
    const struct raw_request add = {"hoop.v1.Store/Add", 1, 5000};
    const struct raw_request get = {"hoop.v1.Store/Get", 2, 5000};
    uint8_t header[SP_HEADER_BYTES];

    bench_server_start(&server, 0);
    const int member = raw_greet(&server);
    raw_ask(member, &add);
    assert_ok(raw_hear(member).status);
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
        cmocka_unit_test(
            too_many_of_one_address_cost_its_longest_silent_strangers),
        cmocka_unit_test(those_heard_just_now_are_not_displaced),
        cmocka_unit_test(addresses_of_one_ipv6_network_count_as_one),
        cmocka_unit_test(known_ones_never_make_room),
        cmocka_unit_test(own_host_has_a_bound_of_its_own),
        cmocka_unit_test(too_many_in_all_cost_the_longest_silent_of_all),
        cmocka_unit_test(silence_before_it_was_accepted_counts),
        cmocka_unit_test(crowd_of_one_network_displaces_itself),
        cmocka_unit_test(few_of_many_are_no_crowd),
        cmocka_unit_test(lesser_roles_leave_room_for_workers),
        cmocka_unit_test(who_shows_nothing_is_closed_after_a_while),
        cmocka_unit_test(who_has_left_is_not_closed),
        cmocka_unit_test(server_closes_who_does_not_prove_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
