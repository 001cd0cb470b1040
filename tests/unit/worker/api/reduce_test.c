/* tests/unit/worker/api/reduce_test.c - api/collectives.c */

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
    const int32_t mine[2] = {1, 5 * (int32_t)side->rank};
    hoop_op_t *op = NULL;

    for (uint32_t root = 0; root < 2; root++) {
        int32_t result[2] = {-1, -1};

        SIDE_CHECK(hoop_reduce(mine, result, 2, HOOP_INT32, HOOP_SUM, root,
                               comm) == HOOP_OK);
        SIDE_CHECK(result[0] == (side->rank == root ? 2 : -1));
        SIDE_CHECK(result[1] == (side->rank == root ? 5 : -1));
        SIDE_CHECK(finish(hoop_reduce_start(mine, result, 2, HOOP_INT32,
                                            HOOP_MIN, root, comm, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(result[0] == (side->rank == root ? 1 : -1));
    }
    return 0;
}

static void
result_is_on_the_root_alone(void **state)
{
    (void)state;
    couple_run(&couple, side_forms);
}

static int
side_null(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    const int32_t mine = 3;
    int32_t result = 0;
    int32_t *recv = side->rank == 1 ? &result : NULL;

    SIDE_CHECK(hoop_reduce(&mine, recv, 1, HOOP_INT32, HOOP_PRODUCT, 1, comm) ==
               HOOP_OK);
    SIDE_CHECK(result == (side->rank == 1 ? 9 : 0));
    return 0;
}

static void
recv_may_be_null_elsewhere(void **state)
{
    (void)state;
    couple_run(&couple, side_null);
}

static int
side_in_place(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    int32_t value = 3 + (int32_t)side->rank;

    SIDE_CHECK(hoop_reduce(HOOP_IN_PLACE, &value, 1, HOOP_INT32, HOOP_SUM, 0,
                           comm) == HOOP_OK);
    /* Elsewhere the buffer keeps its input. */
    SIDE_CHECK(value == (side->rank == 0 ? 7 : 4));
    SIDE_CHECK(hoop_reduce(&value, HOOP_IN_PLACE, 1, HOOP_INT32, HOOP_SUM, 1,
                           comm) == HOOP_OK);
    SIDE_CHECK(value == (side->rank == 0 ? 7 : 11));
    return 0;
}

static void
in_place_keeps_the_input_elsewhere(void **state)
{
    (void)state;
    couple_run(&couple, side_in_place);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(result_is_on_the_root_alone),
        COUPLE_TEST(recv_may_be_null_elsewhere),
        COUPLE_TEST(in_place_keeps_the_input_elsewhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
