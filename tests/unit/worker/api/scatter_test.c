/* tests/unit/worker/api/scatter_test.c - api/collectives.c */

#include "couple_case.h"

static int
side_forms(struct side *side)
{
    const int32_t all[4] = {1, 2, 11, 12};
    const int32_t *mine = all + 2 * side->rank;
    hoop_op_t *op = NULL;

    for (uint32_t root = 0; root < 2; root++) {
        const int32_t *send = side->rank == root ? all : NULL;
        int32_t came[3] = {-1, -1, -1};
        int32_t later[3] = {-1, -1, -1};

        SIDE_CHECK(hoop_scatter(send, came, 2, HOOP_INT32, root, side->comms) ==
                   HOOP_OK);
        SIDE_CHECK(values_are(came, mine, 2) && came[2] == -1);
        SIDE_CHECK(finish(hoop_scatter_start(send, later, 2, HOOP_INT32, root,
                                             side->comms, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(values_are(later, mine, 2) && later[2] == -1);
    }
    return 0;
}

static void
each_rank_has_its_block(void **state)
{
    (void)state;
    couple_run(&couple, side_forms);
}

static int
side_uneven(struct side *side)
{
    const size_t counts[2] = {3, 0};
    const int32_t all[3] = {5, 6, 7};
    const int32_t *send = side->rank == 1 ? all : NULL;
    int32_t came[3] = {-1, -1, -1};
    int32_t *recv = side->rank == 0 ? came : NULL;
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_scatterv(send, recv, counts, HOOP_INT32, 1, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(side->rank == 1 || values_are(came, all, 3));
    memset(came, 0, sizeof(came));
    SIDE_CHECK(finish(hoop_scatterv_start(send, recv, counts, HOOP_INT32, 1,
                                          side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(side->rank == 1 || values_are(came, all, 3));
    return 0;
}

static void
uneven_blocks_are_taken_from_their_places(void **state)
{
    (void)state;
    couple_run(&couple, side_uneven);
}

static int
side_in_place(struct side *side)
{
    const int32_t all[4] = {1, 2, 11, 12};
    int32_t values[4] = {-1, -1, -1, -1};

    if (side->rank == 1)
        memcpy(values, all, sizeof(values));
    SIDE_CHECK(hoop_scatter(values, HOOP_IN_PLACE, 2, HOOP_INT32, 1,
                            side->comms) == HOOP_OK);
    SIDE_CHECK(values_are(
        values, side->rank == 1 ? all : (int32_t[]){1, 2, -1, -1}, 4));
    return 0;
}

static void
in_place_leaves_the_root_as_it_was(void **state)
{
    (void)state;
    couple_run(&couple, side_in_place);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(each_rank_has_its_block),
        COUPLE_TEST(uneven_blocks_are_taken_from_their_places),
        COUPLE_TEST(in_place_leaves_the_root_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
