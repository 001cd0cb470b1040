/* tests/unit/worker/api/allgather_test.c - api/collectives.c */

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
    const int32_t mine[2] = {10 + (int32_t)side->rank,
                             20 + (int32_t)side->rank};
    const int32_t all[4] = {10, 20, 11, 21};
    int32_t result[4] = {0};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_allgather(mine, result, 2, HOOP_INT32, comm) == HOOP_OK);
    SIDE_CHECK(memcmp(result, all, sizeof(all)) == 0);
    memset(result, 0, sizeof(result));
    SIDE_CHECK(
        finish(hoop_allgather_start(mine, result, 2, HOOP_INT32, comm, &op),
               &op) == HOOP_OK);
    SIDE_CHECK(memcmp(result, all, sizeof(all)) == 0);
    return 0;
}

static void
blocks_stand_in_rank_order(void **state)
{
    (void)state;
    couple_run(&couple, side_forms);
}

static int
side_in_place(struct side *side)
{
    int32_t result[4] = {0};

    result[2 * side->rank] = 1 + (int32_t)side->rank;
    result[2 * side->rank + 1] = 5;
    SIDE_CHECK(hoop_allgather(HOOP_IN_PLACE, result, 2, HOOP_INT32,
                              &side->comms[0]) == HOOP_OK);
    SIDE_CHECK(result[0] == 1 && result[1] == 5);
    SIDE_CHECK(result[2] == 2 && result[3] == 5);
    return 0;
}

static void
in_place_takes_what_lies_at_its_rank(void **state)
{
    (void)state;
    couple_run(&couple, side_in_place);
}

static int
side_uneven(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const size_t counts[2] = {3, 1};
    const size_t lopsided[2] = {0, 2};
    const int32_t mine[3] = {1 + (int32_t)side->rank, 3, 4};
    int32_t result[4] = {0};
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_allgatherv(mine, result, counts, HOOP_INT32, comm) ==
               HOOP_OK);
    SIDE_CHECK(result[0] == 1 && result[1] == 3 && result[2] == 4);
    SIDE_CHECK(result[3] == 2);
    memset(result, 0, sizeof(result));
    SIDE_CHECK(finish(hoop_allgatherv_start(mine, result, lopsided, HOOP_INT32,
                                            comm, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(result[0] == 2 && result[1] == 3 && result[2] == 0);
    return 0;
}

static void
uneven_blocks_are_packed_and_may_be_empty(void **state)
{
    (void)state;
    couple_run(&couple, side_uneven);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(blocks_stand_in_rank_order),
        COUPLE_TEST(in_place_takes_what_lies_at_its_rank),
        COUPLE_TEST(uneven_blocks_are_packed_and_may_be_empty),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
