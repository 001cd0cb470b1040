/* tests/unit/worker/api/gather_test.c - api/collectives.c */

#include "couple_case.h"

static int
side_forms(struct side *side)
{
    const int32_t base = 10 * (int32_t)side->rank;
    const int32_t mine[2] = {base + 1, base + 2};
    const int32_t all[4] = {1, 2, 11, 12};
    const int32_t untouched[4] = {-1, -1, -1, -1};
    hoop_op_t *op = NULL;

    for (uint32_t root = 0; root < 2; root++) {
        const bool is_root = side->rank == root;
        int32_t came[4] = {-1, -1, -1, -1};
        int32_t later[4] = {-1, -1, -1, -1};

        SIDE_CHECK(hoop_gather(mine, came, 2, HOOP_INT32, root, side->comms) ==
                   HOOP_OK);
        SIDE_CHECK(values_are(came, is_root ? all : untouched, 4));
        SIDE_CHECK(finish(hoop_gather_start(mine, is_root ? later : NULL, 2,
                                            HOOP_INT32, root, side->comms, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(values_are(later, is_root ? all : untouched, 4));
    }
    return 0;
}

static void
root_has_every_block(void **state)
{
    (void)state;
    couple_run(&couple, side_forms);
}

static int
side_uneven(struct side *side)
{
    const size_t counts[2] = {0, 3};
    const int32_t mine[3] = {5, 6, 7};
    const int32_t *send = side->rank == 0 ? NULL : mine;
    int32_t came[4] = {-1, -1, -1, -1};
    int32_t *recv = side->rank == 0 ? came : NULL;
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_gatherv(send, recv, counts, HOOP_INT32, 0, side->comms) ==
               HOOP_OK);
    SIDE_CHECK(side->rank == 1 ||
               values_are(came, (int32_t[]){5, 6, 7, -1}, 4));
    memset(came, 0, sizeof(came));
    SIDE_CHECK(finish(hoop_gatherv_start(send, recv, counts, HOOP_INT32, 0,
                                         side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(side->rank == 1 || values_are(came, (int32_t[]){5, 6, 7, 0}, 4));
    return 0;
}

static void
uneven_blocks_are_packed(void **state)
{
    (void)state;
    couple_run(&couple, side_uneven);
}

static int
side_in_place(struct side *side)
{
    int32_t values[4] = {-1, -1, 11, 12};
    const int32_t other[4] = {1, 2, -5, -5};

    if (side->rank == 0)
        memcpy(values, other, sizeof(values));
    SIDE_CHECK(hoop_gather(HOOP_IN_PLACE, values, 2, HOOP_INT32, 1,
                           side->comms) == HOOP_OK);
    SIDE_CHECK(values_are(
        values, side->rank == 1 ? (int32_t[]){1, 2, 11, 12} : other, 4));
    return 0;
}

static void
in_place_finds_the_roots_block_at_its_place(void **state)
{
    (void)state;
    couple_run(&couple, side_in_place);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(root_has_every_block),
        COUPLE_TEST(uneven_blocks_are_packed),
        COUPLE_TEST(in_place_finds_the_roots_block_at_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
