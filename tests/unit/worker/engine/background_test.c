/* tests/unit/worker/engine/background_test.c - engine/background.c */

#include <sched.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "couple_scene.h"
#include "engine/op.h"

/* Without a call that would move anything. */
static void
await_done(const struct op *op)
{
    const uint64_t until_ns = patience();

    while (!atomic_load(&op->is_done) && !clock_is_past(until_ns))
        sched_yield();
    assert_true(atomic_load(&op->is_done));
}

static void
operations_end_while_nobody_waits(void **state)
{
    enum {
        COUNT = 300000
    };
    static int32_t values[2][COUNT];
    struct op *ops[2] = {NULL, NULL};

    (void)state;
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (int32_t i = 0; i < COUNT; i++)
            values[rank][i] = i;
        assert_int_equal(sum_start(couple.sides[rank].comms[0].context,
                                   values[rank], COUNT, &ops[rank]),
                         HOOP_OK);
    }
    await_done(ops[0]);
    await_done(ops[1]);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(engine_wait(ops[rank], 0), HOOP_OK);
        for (int32_t i = 0; i < COUNT; i++)
            assert_int_equal(values[rank][i], 2 * i);
    }
}

static void
deadline_passes_while_nobody_waits(void **state)
{
    struct comm_context *context = couple.sides[0].comms[0].context;
    char bytes[4];
    struct op *op = NULL;

    (void)state;
    context_set_timeout(context, 30);
    assert_int_equal(receive_start(context, bytes, 4, 1, &op), HOOP_OK);
    await_done(op);
    assert_int_equal(engine_wait(op, 0), HOOP_E_TIMEOUT);
}

static void
dead_peer_is_noticed_between_operations(void **state)
{
    const uint64_t until_ns = patience();

    (void)state;
    assert_int_equal(engine_connect(couple.sides[0].engine, 1, patience()),
                     HOOP_OK);
    engine_report_unreachable(couple.sides[1].engine, 0, "not asked for");
    engine_declare_dead(couple.sides[1].engine, 0, "for the test");
    while (atomic_load(&couple.sides[1].n_lost) == 0 &&
           !clock_is_past(until_ns))
        sched_yield();
    assert_int_equal(atomic_load(&couple.sides[1].n_lost), 1);
}

static int
side_alternate(struct side *side)
{
    int32_t value;

    /* A caller, then the background, then a caller. */
    for (unsigned i = 0; i < 50; i++) {
        struct op *op = NULL;

        value = 1;
        SIDE_CHECK(sum_run(side->comms[1].context, &value, 1) == HOOP_OK);
        SIDE_CHECK(value == 2);
        SIDE_CHECK(sum_start(side->comms[1].context, &value, 1, &op) ==
                   HOOP_OK);
        const uint64_t until_ns = patience();
        while (!atomic_load(&op->is_done) && !clock_is_past(until_ns))
            sched_yield();
        SIDE_CHECK(engine_wait(op, 0) == HOOP_OK);
        SIDE_CHECK(value == 4);
    }
    return 0;
}

static void
callers_and_background_take_turns(void **state)
{
    (void)state;
    couple_run(&couple, side_alternate);
}

static void
destroy_of_none_is_fine(void **state)
{
    (void)state;
    background_progress_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_DRIVEN_TEST(operations_end_while_nobody_waits),
        COUPLE_DRIVEN_TEST(deadline_passes_while_nobody_waits),
        COUPLE_DRIVEN_TEST(dead_peer_is_noticed_between_operations),
        COUPLE_DRIVEN_TEST(callers_and_background_take_turns),
        cmocka_unit_test(destroy_of_none_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
