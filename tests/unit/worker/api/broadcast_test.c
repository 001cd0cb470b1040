/* tests/unit/worker/api/broadcast_test.c - api/collectives.c */

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
    hoop_op_t *op = NULL;

    for (uint32_t root = 0; root < 2; root++) {
        const int32_t mine = 10 + (int32_t)side->rank;
        const int32_t *send = side->rank == root ? &mine : NULL;
        int32_t result = 0;

        SIDE_CHECK(hoop_broadcast(send, &result, 1, HOOP_INT32, root, comm) ==
                   HOOP_OK);
        SIDE_CHECK(result == 10 + (int32_t)root);
        result = 0;
        SIDE_CHECK(finish(hoop_broadcast_start(send, &result, 1, HOOP_INT32,
                                               root, comm, &op),
                          &op) == HOOP_OK);
        SIDE_CHECK(result == 10 + (int32_t)root);
    }
    return 0;
}

static void
everybody_has_what_the_root_had(void **state)
{
    (void)state;
    couple_run(&couple, side_forms);
}

static int
side_in_place(struct side *side)
{
    hoop_comm_t *comm = &side->comms[0];
    int32_t value = 20 + (int32_t)side->rank;

    SIDE_CHECK(hoop_broadcast(HOOP_IN_PLACE, &value, 1, HOOP_INT32, 1, comm) ==
               HOOP_OK);
    SIDE_CHECK(value == 21);
    value += (int32_t)side->rank;
    SIDE_CHECK(hoop_broadcast(&value, HOOP_IN_PLACE, 1, HOOP_INT32, 0, comm) ==
               HOOP_OK);
    SIDE_CHECK(value == 21);
    value += (int32_t)side->rank;
    SIDE_CHECK(hoop_broadcast(&value, &value, 1, HOOP_INT32, 1, comm) ==
               HOOP_OK);
    SIDE_CHECK(value == 22);
    return 0;
}

static void
in_place_uses_one_buffer_for_both(void **state)
{
    (void)state;
    couple_run(&couple, side_in_place);
}

static void
root_without_a_buffer_is_invalid(void **state)
{
    int32_t result = 0;

    (void)state;
    assert_int_equal(hoop_broadcast(NULL, &result, 1, HOOP_INT32, 0,
                                    &couple.sides[0].comms[0]),
                     HOOP_E_INVALID);
    assert_string_equal(hoop_error_text(), "send is NULL on rank 0");
    assert_int_equal(
        hoop_broadcast(NULL, NULL, 1, HOOP_INT32, 0, &couple.sides[1].comms[0]),
        HOOP_E_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(everybody_has_what_the_root_had),
        COUPLE_TEST(in_place_uses_one_buffer_for_both),
        COUPLE_TEST(root_without_a_buffer_is_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
