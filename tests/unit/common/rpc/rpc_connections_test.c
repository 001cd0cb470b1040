/* tests/unit/common/rpc/rpc_connections_test.c - rpc/rpc_connections.c */

#include <stdlib.h>

#include "check.h"
#include "rpc/rpc_connections.h"

static void
connections_are_found_until_removed(void **state)
{
    struct rpc_connections *connections;

    (void)state;
    assert_int_equal(rpc_connections_create(&connections), HOOP_OK);
    for (uint32_t id = 1; id <= 100; id++)
        assert_int_equal(rpc_connections_add(connections, id), HOOP_OK);
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
    rpc_connections_destroy(connections);
}

static void
connections_unknown_are_removed_without_harm(void **state)
{
    struct rpc_connections *connections;

    (void)state;
    assert_int_equal(rpc_connections_create(&connections), HOOP_OK);
    rpc_connections_remove(connections, 1);
    assert_null(rpc_connections_take_gone(connections));
    assert_null(rpc_connections_find(connections, 1));
    rpc_connections_destroy(connections);
    rpc_connections_destroy(NULL);
}

static void
connections_left_are_freed_gone_or_not(void **state)
{
    struct rpc_connections *connections;

    (void)state;
    assert_int_equal(rpc_connections_create(&connections), HOOP_OK);
    assert_int_equal(rpc_connections_add(connections, 1), HOOP_OK);
    assert_int_equal(rpc_connections_add(connections, 2), HOOP_OK);
    rpc_connections_remove(connections, 1);
    rpc_connections_destroy(connections);
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
