/* tests/unit/worker/api/allreduce_test.c - api/collectives.c */

#include <string.h>

#include "hoop/hoop.h"

#include "couple_scene.h"

/* The _start form, and that it may be waited for. */
static enum hoop_status
finish(enum hoop_status status, hoop_op_t *const *op)
{
    return status == HOOP_OK ? hoop_wait(*op, 20000) : status;
}

static int
side_forms(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const int32_t mine[3] = {1, 2, 10 * (int32_t)side->rank};
    int32_t result[4] = {0, 0, 0, -1};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_allreduce(mine, result, 3, HOOP_INT32, HOOP_SUM, comm) ==
               HOOP_OK);
    SIDE_CHECK(result[0] == 2 && result[1] == 4 && result[2] == 10);
    SIDE_CHECK(result[3] == -1);
    SIDE_CHECK(mine[2] == 10 * (int32_t)side->rank);
    memset(result, 0, sizeof(result));
    SIDE_CHECK(finish(hoop_allreduce_start(mine, result, 3, HOOP_INT32,
                                           HOOP_MAX, comm, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(result[0] == 1 && result[1] == 2 && result[2] == 10);
    return 0;
}

static void
both_forms_reduce_out_of_place(void **state)
{
    (void)state;
    couple_run(&couple, side_forms);
}

static int
side_in_place(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    double value = 1 + side->rank;

    SIDE_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_FLOAT64, HOOP_SUM,
                              comm) == HOOP_OK);
    SIDE_CHECK(value == 3);
    SIDE_CHECK(hoop_allreduce(&value, HOOP_IN_PLACE, 1, HOOP_FLOAT64, HOOP_SUM,
                              comm) == HOOP_OK);
    SIDE_CHECK(value == 6);
    SIDE_CHECK(hoop_allreduce(&value, &value, 1, HOOP_FLOAT64, HOOP_AVG,
                              comm) == HOOP_OK);
    SIDE_CHECK(value == 6);
    return 0;
}

static void
in_place_may_be_said_in_three_ways(void **state)
{
    (void)state;
    couple_run(&couple, side_in_place);
}

static void
one_rank_alone_has_its_input(void **state)
{
    const int16_t mine[2] = {7, -7};
    int16_t result[2] = {0, 0};

    (void)state;
    assert_int_equal(hoop_allreduce(mine, result, 2, HOOP_INT16, HOOP_AVG,
                                    &couple.sides[0].alone),
                     HOOP_OK);
    assert_memory_equal(mine, result, sizeof(mine));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(both_forms_reduce_out_of_place),
        COUPLE_TEST(in_place_may_be_said_in_three_ways),
        COUPLE_TEST(one_rank_alone_has_its_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
