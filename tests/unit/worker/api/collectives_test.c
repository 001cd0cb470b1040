/*
 * tests/unit/worker/api/collectives_test.c - api/collectives.c
 *
 * What calls of one rank give, and which are refused. Results of several ranks
 * are compared in tests/integration/collectives.
 */

#include "hoop/hoop.h"

#include "engine_pair_api.h"
#include "engine_pair_fixture.h"

static void
one_rank_alone_has_its_input(void **state)
{
    const int16_t mine[2] = {7, -7};
    int16_t result[2] = {0, 0};

    assert_ok(hoop_allreduce(mine, result, 2, HOOP_INT16, HOOP_AVG,
                             &engine_pair.sides[0].alone));
    assert_memory_equal(mine, result, sizeof(mine));
}

static void
one_rank_alone_waits_for_nobody(void **state)
{
    assert_ok(hoop_barrier(&engine_pair.sides[0].alone));
}

static void
root_without_a_buffer_is_invalid(void **state)
{
    int32_t result = 0;

    assert_int_equal(hoop_broadcast(NULL, &result, 1, HOOP_INT32, 0,
                                    &engine_pair.sides[0].comms[0]),
                     HOOP_E_INVALID);
    assert_string_equal(hoop_error_text(), "send is NULL on rank 0");
    assert_int_equal(hoop_broadcast(NULL, NULL, 1, HOOP_INT32, 0,
                                    &engine_pair.sides[1].comms[0]),
                     HOOP_E_INVALID);
}

static void
average_is_invalid(void **state)
{
    int32_t values[2] = {0};

    assert_invalid(
        hoop_scan(HOOP_IN_PLACE, values, 2, HOOP_INT32, HOOP_AVG, both()),
        "a scan has no avg: use HOOP_SUM and divide");
    assert_invalid(
        hoop_exscan(HOOP_IN_PLACE, values, 2, HOOP_INT32, HOOP_AVG, both()),
        "a scan has no avg");
}

static void
counts_that_cannot_be_are_invalid(void **state)
{
    int32_t values[8] = {0};
    const size_t out[2] = {1, 2};
    const size_t in[2] = {3, 1};
    const size_t large[2] = {1, SIZE_MAX};

    assert_invalid(hoop_alltoallv(values, NULL, values, in, HOOP_INT32, both()),
                   "counts is NULL");
    assert_invalid(
        hoop_alltoallv(values, out, values, NULL, HOOP_INT32, both()),
        "recv_counts is NULL");
    assert_invalid(
        hoop_alltoallv(values, out, values, in, HOOP_INT32, both()),
        "rank 0 sends 1 elements to itself, but receives 3 from itself");
    assert_invalid(
        hoop_alltoallv(values, out, values, large, HOOP_INT32, both()),
        "more than 2^64");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(one_rank_alone_has_its_input),
        ENGINE_PAIR_TEST(one_rank_alone_waits_for_nobody),
        ENGINE_PAIR_TEST(root_without_a_buffer_is_invalid),
        ENGINE_PAIR_TEST(average_is_invalid),
        ENGINE_PAIR_TEST(counts_that_cannot_be_are_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
