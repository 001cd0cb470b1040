/* tests/unit/common/rpc/rpc_connections_test.c - rpc/rpc_connections.c */

#include <stdlib.h>

#include "check.h"
#include "net/loop.h"
#include "rpc/rpc_connections.h"

static const struct address nowhere;

struct fixture {
    struct loop *loop;
    struct connection_pool *lobby;
    struct rpc_connections *connections;
};

static void
on_close(struct pool_entry *guest)
{
    fail_msg("%p is closed, and nobody was to be", (void *)guest);
}

static struct rpc_connections *
fixture_init(struct fixture *fixture)
{
    const struct connection_pool_limits usual = {0};

    assert_int_equal(loop_create(&fixture->loop), HOOP_OK);
    assert_int_equal(
        connection_pool_create(fixture->loop, &usual, &fixture->lobby),
        HOOP_OK);
    assert_int_equal(
        rpc_connections_create(fixture->lobby, on_close, &fixture->connections),
        HOOP_OK);
    return fixture->connections;
}

static void
fixture_deinit(struct fixture *fixture)
{
    rpc_connections_destroy(fixture->connections);
    connection_pool_destroy(fixture->lobby);
    loop_destroy(fixture->loop);
}

static void
connections_are_found_until_removed(void **state)
{
    struct fixture fixture;
    struct rpc_connections *connections = fixture_init(&fixture);

    (void)state;
    for (uint32_t id = 1; id <= 100; id++)
        assert_int_equal(rpc_connections_add(connections, id, &nowhere),
                         HOOP_OK);
    assert_int_equal(rpc_connections_count(connections), 100);

    struct rpc_connection *seventh = rpc_connections_find(connections, 7);
    assert_non_null(seventh);
    assert_int_equal(seventh->id, 7);
    rpc_connections_remove(connections, 7);
    assert_null(rpc_connections_find(connections, 7));
    assert_int_equal(rpc_connections_count(connections), 99);

    /* Gone, but still there for who has found it before. */
    assert_int_equal(seventh->id, 7);
    assert_ptr_equal(rpc_connections_take_gone(connections), seventh);
    assert_null(rpc_connections_take_gone(connections));
    free(seventh);
    fixture_deinit(&fixture);
}

static void
connections_unknown_are_removed_without_harm(void **state)
{
    struct fixture fixture;
    struct rpc_connections *connections = fixture_init(&fixture);

    (void)state;
    rpc_connections_remove(connections, 1);
    assert_null(rpc_connections_take_gone(connections));
    assert_null(rpc_connections_find(connections, 1));
    fixture_deinit(&fixture);
    rpc_connections_destroy(NULL);
}

static void
connections_left_are_freed_gone_or_not(void **state)
{
    struct fixture fixture;
    struct rpc_connections *connections = fixture_init(&fixture);

    (void)state;
    assert_int_equal(rpc_connections_add(connections, 1, &nowhere), HOOP_OK);
    assert_int_equal(rpc_connections_add(connections, 2, &nowhere), HOOP_OK);
    rpc_connections_remove(connections, 1);
    fixture_deinit(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_are_found_until_removed),
        cmocka_unit_test(connections_unknown_are_removed_without_harm),
        cmocka_unit_test(connections_left_are_freed_gone_or_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
