/* tests/unit/worker/engine/pulse_test.c - engine/pulse.c */

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "check.h"
#include "couple.h"

enum {
    FAILURE_MS = 100,
    OP_MS = 400,
};

static struct couple couple;

static void
open_with(uint32_t failure_timeout_ms)
{
    couple_open_with(&couple, &(struct engine_options){.failure_timeout_ms =
                                                           failure_timeout_ms});
    channel_set_timeout(couple.sides[0].comms[0].channel, OP_MS);
}

/* The other end is open, and nobody is there. */
static enum hoop_status
wait_for_nobody(void)
{
    struct side *side = &couple.sides[0];
    int32_t value = 1;

    engine_connected(side->engine, 1, couple.fds[0]);
    couple.fds[0] = -1;
    return sum_run(side->comms[0].channel, &value, 1);
}

static void
silent_rank_is_lost_after_the_failure_timeout(void **state)
{
    const uint64_t begin_ns = clock_now_ns();

    (void)state;
    open_with(FAILURE_MS);
    assert_int_equal(wait_for_nobody(), HOOP_E_PEER_LOST);
    assert_true(clock_now_ns() - begin_ns >= FAILURE_MS * CLOCK_NS_PER_MS);
    assert_non_null(strstr(error_text(),
                           "rank 1 (host:41) is lost: frozen or unreachable "
                           "(nothing has come from it for 0.1 s), reported by "
                           "rank 0 (host:40)"));
    couple_close(&couple);
}

static void
without_a_failure_timeout_silence_is_no_loss(void **state)
{
    (void)state;
    open_with(0);
    assert_int_equal(wait_for_nobody(), HOOP_E_TIMEOUT);
    couple_close(&couple);
}

/* Whoever drives there answers, though its program calls nothing. */
static void
rank_that_is_late_answers_and_lives(void **state)
{
    int32_t value = 1;

    (void)state;
    open_with(FAILURE_MS);
    couple_connect(&couple);
    couple_start_backgrounds(&couple);
    assert_int_equal(sum_run(couple.sides[0].comms[0].channel, &value, 1),
                     HOOP_E_TIMEOUT);
    assert_int_equal(atomic_load(&couple.sides[0].n_lost), 0);
    couple_close(&couple);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_rank_is_lost_after_the_failure_timeout),
        cmocka_unit_test(without_a_failure_timeout_silence_is_no_loss),
        cmocka_unit_test(rank_that_is_late_answers_and_lives),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
