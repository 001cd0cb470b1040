/* tests/unit/worker/api/alltoall_test.c - api/collectives.c */

#include "couple_case.h"

static int
side_forms(struct side *side)
{
    const int32_t base = 10 * (int32_t)side->rank;
    const int32_t place = 2 * (int32_t)side->rank;
    int32_t mine[4] = {base, base + 1, base + 2, base + 3};
    const int32_t expected[4] = {place, place + 1, 10 + place, 11 + place};
    int32_t came[4] = {0};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_alltoall(mine, came, 2, HOOP_INT32, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(values_are(came, expected, 4));
    SIDE_CHECK(finish(hoop_alltoall_start(mine, HOOP_IN_PLACE, 2, HOOP_INT32,
                                          side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(values_are(mine, expected, 4));
    return 0;
}

static void
block_s_is_what_rank_s_sent(void **state)
{
    (void)state;
    couple_run(&couple, side_forms);
}

/* Rank 0 sends 1 to itself and 2 to rank 1, which sends nothing to rank 0 and
 * 3 to itself. */
static int
side_uneven(struct side *side)
{
    static const size_t counts[2][2] = {{1, 2}, {0, 3}};
    const size_t coming[2] = {counts[0][side->rank], counts[1][side->rank]};
    int32_t mine[5] = {10, 11, 12, -1, -1};
    int32_t came[5] = {-1, -1, -1, -1, -1};
    const int32_t expected[2][5] = {{10, -1, -1, -1, -1}, {11, 12, 10, 11, 12}};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_alltoallv(mine, counts[side->rank], came, coming,
                              HOOP_INT32, side->comms) == HOOP_OK);
    SIDE_CHECK(values_are(came, expected[side->rank], 5));
    SIDE_CHECK(
        finish(hoop_alltoallv_start(HOOP_IN_PLACE, counts[side->rank], mine,
                                    coming, HOOP_INT32, side->comms, &op),
               &op) == HOOP_OK);
    SIDE_CHECK(values_are(mine, expected[side->rank], side->rank ? 5 : 1));
    return 0;
}

static void
uneven_blocks_are_packed(void **state)
{
    (void)state;
    couple_run(&couple, side_uneven);
}

static void
counts_that_cannot_be_are_invalid(void **state)
{
    int32_t values[8] = {0};
    const size_t out[2] = {1, 2};
    const size_t in[2] = {3, 1};
    const size_t large[2] = {1, SIZE_MAX};

    (void)state;
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
        COUPLE_TEST(block_s_is_what_rank_s_sent),
        COUPLE_TEST(uneven_blocks_are_packed),
        COUPLE_TEST(counts_that_cannot_be_are_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
