/* tests/unit/worker/api/reduce_scatter_test.c - api/collectives.c */

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
    const int32_t mine[4] = {1, 2, 3, 4 * (int32_t)side->rank};
    int32_t result[3] = {0, 0, -1};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_reduce_scatter(mine, result, 2, HOOP_INT32, HOOP_SUM,
                                   comm) == HOOP_OK);
    SIDE_CHECK(result[0] == (side->rank ? 6 : 2));
    SIDE_CHECK(result[1] == 4);
    SIDE_CHECK(result[2] == -1);
    SIDE_CHECK(finish(hoop_reduce_scatter_start(mine, result, 2, HOOP_INT32,
                                                HOOP_MAX, comm, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(result[0] == (side->rank ? 3 : 1));
    SIDE_CHECK(result[1] == (side->rank ? 4 : 2));
    return 0;
}

static void
each_rank_has_its_own_block(void **state)
{
    (void)state;
    couple_run(&couple, side_forms);
}

static int
side_in_place(struct side *side)
{
    int32_t values[4] = {1, 2, 3, 4};

    SIDE_CHECK(hoop_reduce_scatter(HOOP_IN_PLACE, values, 2, HOOP_INT32,
                                   HOOP_SUM, &side->comms[0]) == HOOP_OK);
    SIDE_CHECK(values[0] == (side->rank ? 6 : 2));
    SIDE_CHECK(values[1] == (side->rank ? 8 : 4));
    /* The rest stays as it was. */
    SIDE_CHECK(values[2] == 3 && values[3] == 4);
    return 0;
}

static void
in_place_has_the_result_at_its_beginning(void **state)
{
    (void)state;
    couple_run(&couple, side_in_place);
}

static int
side_uneven(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const size_t counts[2] = {1, 3};
    const size_t lopsided[2] = {4, 0};
    const int32_t mine[4] = {1, 2, 3, 4};
    int32_t result[4] = {0};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_reduce_scatterv(mine, result, counts, HOOP_INT32, HOOP_SUM,
                                    comm) == HOOP_OK);
    SIDE_CHECK(result[0] == (side->rank ? 4 : 2));
    SIDE_CHECK(result[2] == (side->rank ? 8 : 0));
    memset(result, 0, sizeof(result));
    SIDE_CHECK(
        finish(hoop_reduce_scatterv_start(mine, result, lopsided, HOOP_INT32,
                                          HOOP_AVG, comm, &op),
               &op) == HOOP_OK);
    SIDE_CHECK(result[3] == (side->rank ? 0 : 4));
    return 0;
}

static void
uneven_blocks_may_be_empty(void **state)
{
    (void)state;
    couple_run(&couple, side_uneven);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(each_rank_has_its_own_block),
        COUPLE_TEST(in_place_has_the_result_at_its_beginning),
        COUPLE_TEST(uneven_blocks_may_be_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
