/* tests/unit/tools/hoop-perf/operation_test.c - hoop-perf/operation.c */

#include "check.h"
#include "hoop-perf/operation.h"

static void
operation_names_are_found(void **state)
{
    static const char *const names[OPERATION_COUNT] = {
        "allreduce",       "allgather", "allgatherv", "reduce_scatter",
        "reduce_scatterv", "broadcast", "reduce",     "gather",
        "gatherv",         "scatter",   "scatterv",   "alltoall",
        "alltoallv",       "scan",      "exscan",     "sendrecv",
        "barrier"};

    (void)state;
    for (size_t i = 0; i < OPERATION_COUNT; i++)
        assert_ptr_equal(operation_find(names[i]), &operations[i]);
    assert_null(operation_find("alltoallw"));
    assert_null(operation_find(""));
}

static void
operation_size_is_the_whole_buffers(void **state)
{
    (void)state;
    const struct extent all =
        operation_extent(operation_find("allreduce"), 4096, 4, 4);
    assert_int_equal(all.n_bytes, 4096);
    assert_int_equal(all.count, 1024);

    const struct extent gather =
        operation_extent(operation_find("allgather"), 4096, 4, 4);
    assert_int_equal(gather.n_bytes, 4096);
    assert_int_equal(gather.count, 256);
    assert_int_equal(gather.n_send, 256);
    assert_int_equal(gather.n_receive, 1024);

    const struct extent scatter =
        operation_extent(operation_find("reduce_scatter"), 4096, 4, 4);
    assert_int_equal(scatter.n_send, 1024);
    assert_int_equal(scatter.n_receive, 256);

    const struct extent exchange =
        operation_extent(operation_find("alltoall"), 4096, 4, 4);
    assert_int_equal(exchange.count, 256);
    assert_int_equal(exchange.n_send, 1024);
    assert_int_equal(exchange.n_receive, 1024);
}

static void
operation_size_is_cut_to_whole_parts(void **state)
{
    (void)state;
    const struct extent gather =
        operation_extent(operation_find("allgather"), 100, 8, 5);
    assert_int_equal(gather.count, 2);
    assert_int_equal(gather.n_bytes, 80);

    const struct extent none =
        operation_extent(operation_find("reduce_scatter"), 8, 4, 3);
    assert_int_equal(none.count, 0);
    assert_int_equal(none.n_bytes, 0);

    const struct extent odd =
        operation_extent(operation_find("sendrecv"), 11, 4, 3);
    assert_int_equal(odd.count, 2);
    assert_int_equal(odd.n_bytes, 8);
}

static void
operation_barrier_has_no_elements(void **state)
{
    (void)state;
    const struct extent none =
        operation_extent(operation_find("barrier"), 4096, 4, 4);
    assert_int_equal(none.n_bytes, 0);
    assert_int_equal(none.n_send + none.n_receive, 0);
}

static void
operation_bus_factors_are_nccl_tests(void **state)
{
    (void)state;
    assert_true(operation_bus_factor(operation_find("allreduce"), 4) == 1.5);
    assert_true(operation_bus_factor(operation_find("allreduce"), 1) == 0);
    assert_true(operation_bus_factor(operation_find("allgather"), 4) == 0.75);
    assert_true(operation_bus_factor(operation_find("reduce_scatter"), 2) ==
                0.5);
    assert_true(operation_bus_factor(operation_find("broadcast"), 4) == 1);
    assert_true(operation_bus_factor(operation_find("reduce"), 4) == 1);
    assert_true(operation_bus_factor(operation_find("sendrecv"), 4) == 1);
    assert_true(operation_bus_factor(operation_find("gather"), 4) == 0.75);
    assert_true(operation_bus_factor(operation_find("scatterv"), 4) == 0.75);
    assert_true(operation_bus_factor(operation_find("alltoall"), 4) == 0.75);
    assert_true(operation_bus_factor(operation_find("scan"), 4) == 1);
}

static void
operation_knows_whether_it_reduces(void **state)
{
    (void)state;
    assert_true(operation_reduces(operation_find("allreduce")));
    assert_true(operation_reduces(operation_find("reduce_scatterv")));
    assert_true(operation_reduces(operation_find("exscan")));
    assert_false(operation_reduces(operation_find("scatter")));
    assert_false(operation_reduces(operation_find("alltoallv")));
    assert_false(operation_reduces(operation_find("barrier")));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operation_names_are_found),
        cmocka_unit_test(operation_size_is_the_whole_buffers),
        cmocka_unit_test(operation_size_is_cut_to_whole_parts),
        cmocka_unit_test(operation_barrier_has_no_elements),
        cmocka_unit_test(operation_bus_factors_are_nccl_tests),
        cmocka_unit_test(operation_knows_whether_it_reduces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
