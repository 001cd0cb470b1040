/* tests/unit/worker/api/scan_test.c - api/collectives.c */

#include "couple_case.h"

static int
side_forms(struct side *side)
{
    int32_t mine[2] = {3 + (int32_t)side->rank, 5};
    const int32_t sums[2][2] = {{3, 5}, {7, 10}};
    const int32_t before[2][2] = {{-1, -1}, {3, 5}};
    int32_t came[2] = {-1, -1};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_exscan(mine, came, 2, HOOP_INT32, HOOP_SUM, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(values_are(came, before[side->rank], 2));
    SIDE_CHECK(hoop_scan(mine, came, 2, HOOP_INT32, HOOP_SUM, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(values_are(came, sums[side->rank], 2));
    SIDE_CHECK(finish(hoop_scan_start(HOOP_IN_PLACE, mine, 2, HOOP_INT32,
                                      HOOP_SUM, side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(values_are(mine, sums[side->rank], 2));
    SIDE_CHECK(finish(hoop_exscan_start(mine, HOOP_IN_PLACE, 2, HOOP_INT32,
                                        HOOP_SUM, side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(values_are(mine, sums[0], 2));
    return 0;
}

static void
each_rank_has_what_came_before_it(void **state)
{
    (void)state;
    couple_run(&couple, side_forms);
}

static void
average_is_invalid(void **state)
{
    int32_t values[2] = {0};

    (void)state;
    assert_invalid(
        hoop_scan(HOOP_IN_PLACE, values, 2, HOOP_INT32, HOOP_AVG, both()),
        "a scan has no avg: use HOOP_SUM and divide");
    assert_invalid(
        hoop_exscan(HOOP_IN_PLACE, values, 2, HOOP_INT32, HOOP_AVG, both()),
        "a scan has no avg");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(each_rank_has_what_came_before_it),
        COUPLE_TEST(average_is_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
