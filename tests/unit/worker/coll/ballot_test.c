/* tests/unit/worker/coll/ballot_test.c - what has become of a call */

#include "base/cleanup.h"
#include "check.h"
#include "coll/ballot.h"

enum {
    CALLS = 7, /* more than are told apart */
};

/* What both decide. */
static void
require_verdict(const struct ballot *mine,
                const struct ballot *other,
                enum ballot_verdict verdict,
                enum hoop_status outcome)
{
    const uint64_t flags = ballot_flags(mine) & ballot_flags(other);
    enum hoop_status said = HOOP_OK;

    assert_int_equal(ballot_decide(mine, flags, &said), verdict);
    if (verdict != BALLOT_AGAIN)
        assert_int_equal(said, outcome);
}

static void
call_that_all_have_finished_is_over(void **state)
{
    (void)state;
    for (uint64_t call = 0; call < CALLS; call++) {
        const struct ballot done = {call, HOOP_E_MISMATCH, BALLOT_FINISHED,
                                    false};

        require_verdict(&done, &done, BALLOT_OVER, HOOP_OK);
    }
}

static void
call_that_one_has_not_finished_is_made_again_by_all(void **state)
{
    (void)state;
    for (uint64_t call = 0; call < CALLS; call++) {
        const struct ballot done = {call, HOOP_OK, BALLOT_FINISHED, false};
        const struct ballot not_done = {call, HOOP_OK, BALLOT_UNFINISHED,
                                        false};

        require_verdict(&done, &not_done, BALLOT_AGAIN, HOOP_OK);
        require_verdict(&not_done, &done, BALLOT_AGAIN, HOOP_OK);
    }
}

/* Who is in the next call knows how this one has ended; itself begins again. */
static void
call_ends_as_whoever_is_ahead_says(void **state)
{
    static const enum hoop_status outcomes[] = {HOOP_OK, HOOP_E_MISMATCH,
                                                HOOP_E_CLOSED};
    static const enum hoop_status before[] = {HOOP_OK, HOOP_E_TIMEOUT};

    (void)state;
    for (uint64_t call = 0; call < CALLS * COUNT_OF(outcomes); call++) {
        const enum hoop_status outcome = outcomes[call % COUNT_OF(outcomes)];
        const struct ballot behind = {call, before[call % 2], BALLOT_FINISHED,
                                      false};
        const struct ballot ahead = {call + 1, outcome, BALLOT_UNFINISHED,
                                     false};

        require_verdict(&behind, &ahead, BALLOT_OVER, outcome);
        require_verdict(&ahead, &behind, BALLOT_AGAIN, HOOP_OK);
    }
}

/* Only those who are ahead know which root they have called. */
static void
call_whose_root_is_lost_ends_for_who_is_behind_too(void **state)
{
    (void)state;
    for (uint64_t call = 0; call < CALLS; call++) {
        const struct ballot behind = {call, HOOP_OK, BALLOT_FINISHED, true};
        const struct ballot ahead = {call + 1, HOOP_OK, BALLOT_UNFINISHED,
                                     false};
        const struct ballot rootless = {call + 1, HOOP_OK, BALLOT_UNFINISHED,
                                        true};

        require_verdict(&behind, &rootless, BALLOT_OVER_NEXT, HOOP_OK);
        require_verdict(&rootless, &behind, BALLOT_AGAIN, HOOP_OK);
        /* That of a call which is over does not matter. */
        require_verdict(&behind, &ahead, BALLOT_OVER, HOOP_OK);
        require_verdict(&ahead, &behind, BALLOT_AGAIN, HOOP_OK);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(call_that_all_have_finished_is_over),
        cmocka_unit_test(call_that_one_has_not_finished_is_made_again_by_all),
        cmocka_unit_test(call_ends_as_whoever_is_ahead_says),
        cmocka_unit_test(call_whose_root_is_lost_ends_for_who_is_behind_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
