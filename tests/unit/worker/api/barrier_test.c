/* tests/unit/worker/api/barrier_test.c - api/collectives.c */

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

    SIDE_CHECK(hoop_barrier(comm) == HOOP_OK);
    SIDE_CHECK(finish(hoop_barrier_start(comm, &op), &op) == HOOP_OK);
    return 0;
}

static void
both_forms_return(void **state)
{
    (void)state;
    couple_run(&couple, side_forms);
}

static atomic_uint n_arrived;

static int
side_order(struct side *side)
{
    for (unsigned i = 1; i <= 200; i++) {
        atomic_fetch_add(&n_arrived, 1);
        SIDE_CHECK(hoop_barrier(&side->comms[1]) == HOOP_OK);
        SIDE_CHECK(atomic_load(&n_arrived) >= 2 * i);
    }
    return 0;
}

static void
nobody_returns_before_everybody_has_called(void **state)
{
    (void)state;
    couple_run(&couple, side_order);
}

static void
one_rank_alone_waits_for_nobody(void **state)
{
    (void)state;
    assert_int_equal(hoop_barrier(&couple.sides[0].alone), HOOP_OK);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(both_forms_return),
        COUPLE_TEST(nobody_returns_before_everybody_has_called),
        COUPLE_TEST(one_rank_alone_waits_for_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
