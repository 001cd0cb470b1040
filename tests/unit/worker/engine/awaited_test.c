/* tests/unit/worker/engine/awaited_test.c - engine/awaited.c */

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "couple_scene.h"

static int
couple_set_up_timed(void **state)
{
    (void)state;
    couple_open_with(&couple, &(struct engine_options){.timeout_ms = 30000});
    return 0;
}

/* By who knows that rank 1 is lost. */
static void
failure_tells_who_waited_for_whom_and_how_long(void **state)
{
    struct side *side = &couple.sides[0];
    int32_t value = 1;
    struct op *op = NULL;

    (void)state;
    engine_connected(side->engine, 1, couple.fds[0]);
    couple.fds[0] = -1;
    assert_int_equal(sum_start(side->comms[0].channel, &value, 1, &op),
                     HOOP_OK);
    close(couple.fds[1]);
    couple.fds[1] = -1;
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "allreduce #1 (int32, 1 elements"));
    assert_non_null(strstr(
        error_text(), "; rank 0 (host:40) waited for rank 1 (host:41) to "));
    assert_non_null(strstr(error_text(), "(0 of 4 bytes); after "));
    assert_non_null(
        strstr(error_text(), " s of the 30 s that HOOP_TIMEOUT allows"));
}

static void
deadline_of_a_communicator_is_named_as_its(void **state)
{
    struct channel *channel = couple.sides[0].comms[0].channel;
    char bytes[4];
    struct op *op = NULL;

    (void)state;
    channel_set_timeout(channel, 60);
    assert_int_equal(receive_start(channel, bytes, 4, 1, &op), HOOP_OK);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_TIMEOUT);
    assert_non_null(
        strstr(error_text(), " s of the 0.06 s that its communicator allows"));
    /* It tells of its wait itself. */
    assert_null(strstr(error_text(), "waited for"));
}

static void
operation_that_was_given_up_has_no_deadline_to_tell(void **state)
{
    char bytes[4];
    struct op *op = NULL;

    (void)state;
    assert_int_equal(
        receive_start(couple.sides[0].comms[0].channel, bytes, 4, 1, &op),
        HOOP_OK);
    engine_cancel(op);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_CANCELLED);
    assert_null(strstr(error_text(), "allows"));
}

#define TIMED_TEST(name)                                                       \
    cmocka_unit_test_setup_teardown(name, couple_set_up_timed, couple_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TIMED_TEST(failure_tells_who_waited_for_whom_and_how_long),
        TIMED_TEST(deadline_of_a_communicator_is_named_as_its),
        TIMED_TEST(operation_that_was_given_up_has_no_deadline_to_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
