/* tests/unit/worker/engine/shortage_test.c - engine/shortage.c */

#include <string.h>

#include "base/error.h"
#include "check.h"
#include "couple.h"

static struct couple couple;

/* This rank, or the other, has no descriptor for a connection to the other. */
static void
fall_short(struct side *side, uint32_t of)
{
    engine_shortage(side->engine, &(struct connector_shortage){
                                      .rank = 1 - side->rank,
                                      .of = of,
                                      .status = HOOP_E_EXHAUSTED,
                                      .why = "its process may open 17 files",
                                  });
    engine_turn_idle(side->engine);
}

static int
couple_set_up(void **state)
{
    (void)state;
    couple_open(&couple);
    return 0;
}

static int
couple_tear_down(void **state)
{
    (void)state;
    couple_close(&couple);
    return 0;
}

static void
collective_fails_and_names_who_is_short_of_what(void **state)
{
    struct side *side = &couple.sides[0];
    int32_t value = 1;
    struct op *op = NULL;

    (void)state;
    assert_int_equal(sum_start(side->comms[0].channel, &value, 1, &op),
                     HOOP_OK);
    fall_short(side, 1);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_EXHAUSTED);
    assert_non_null(strstr(error_text(),
                           "rank 1 (host:41) cannot connect to rank 0 "
                           "(host:40): its process may open 17 files"));
    assert_int_equal(atomic_load(&side->n_lost), 0);
}

static void
connection_is_asked_for_again_by_the_next_call(void **state)
{
    struct side *side = &couple.sides[0];
    int32_t value = 1;
    struct op *op = NULL;

    (void)state;
    assert_int_equal(sum_start(side->comms[0].channel, &value, 1, &op),
                     HOOP_OK);
    assert_int_equal(atomic_load(&side->n_needed), 1);
    fall_short(side, 0);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_EXHAUSTED);
    assert_int_equal(sum_start(side->comms[1].channel, &value, 1, &op),
                     HOOP_OK);
    assert_int_equal(atomic_load(&side->n_needed), 2);
    fall_short(side, 0);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_EXHAUSTED);
}

static void
send_and_receive_fail_alike(void **state)
{
    struct side *side = &couple.sides[0];
    char byte = 0;
    struct op *ops[2] = {NULL};

    (void)state;
    assert_int_equal(send_start(side->comms[0].channel, &byte, 1, 9, &ops[0]),
                     HOOP_OK);
    assert_int_equal(
        receive_start(side->comms[0].channel, &byte, 1, 9, &ops[1]), HOOP_OK);
    fall_short(side, 0);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(engine_wait(ops[i], patience()), HOOP_E_EXHAUSTED);
        assert_non_null(strstr(error_text(), "cannot connect to rank 1"));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            collective_fails_and_names_who_is_short_of_what, couple_set_up,
            couple_tear_down),
        cmocka_unit_test_setup_teardown(
            connection_is_asked_for_again_by_the_next_call, couple_set_up,
            couple_tear_down),
        cmocka_unit_test_setup_teardown(send_and_receive_fail_alike,
                                        couple_set_up, couple_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
