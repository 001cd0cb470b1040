/* tests/unit/worker/engine/failure/failure_record_test.c - what is told of a later
 * call, where there is no memory or room for it */

#include <string.h>

#include "allocation.h"
#include "base/error.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/state_query.h"
#include "engine/shortage.h"
#include "engine/state.h"
#include "engine_pair_fixture.h"

static struct comm_context *
context_of_rank_0(void)
{
    return engine_pair.sides[0].comms[0].context;
}

/* Rank 1 tells that a collective has failed. */
static void
early_failure_comes(uint64_t number)
{
    const struct frame frame = {
        .kind = FRAME_FAILURE_NOTICE,
        .comm = context_of_rank_0()->id,
        .op = number,
        .tag = HOOP_E_ABORTED,
    };

    failure_notice_on_op(context_of_rank_0(), &frame, "it was cancelled");
}

/* The call ends at once, and says who lacks what. */
static void
next_call_is_short_of(const char *lack, const char *what)
{
    int32_t value = 1;

    assert_true(context_of_rank_0()->failure.is_revoked);
    assert_int_equal(sum_run(context_of_rank_0(), &value, 1), HOOP_E_EXHAUSTED);
    assert_int_equal(error_failure_details()->rank, 0);
    assert_non_null(strstr(error_text(), lack));
    assert_non_null(strstr(error_text(), what));
    /* Other communicators go on. */
    assert_false(engine_pair.sides[0].comms[1].context->failure.is_revoked);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 0);
}

static void
failure_of_a_later_call_is_not_dropped_without_memory(void **state)
{
    malloc_refuse();
    early_failure_comes(1);
    malloc_allow();
    next_call_is_short_of("rank 0 (host:40) has no memory to remember",
                          "it was cancelled");
}

static void
failures_of_more_calls_than_are_kept_are_not_dropped(void **state)
{
    for (uint64_t number = 1; number <= LIMIT_EARLY_FAILURES; number++)
        early_failure_comes(number);
    assert_false(context_of_rank_0()->failure.is_revoked);
    early_failure_comes(LIMIT_EARLY_FAILURES + 1);
    next_call_is_short_of("rank 0 (host:40) has no room to remember",
                          "it was cancelled");
}

/* Neither the record of the report nor that of the receive finds memory. */
static void
failed_send_is_not_dropped_without_memory(void **state)
{
    const struct frame frame = {
        .kind = FRAME_FAILURE_NOTICE,
        .flags = FRAME_POINT_TO_POINT | FRAME_WITHDRAWN,
        .comm = context_of_rank_0()->id,
        .op = 9,
        .tag = HOOP_E_EXHAUSTED,
        .step = 1,
        .offset = 1,
    };

    for (int is_of_the_record = 0; is_of_the_record < 2; is_of_the_record++) {
        if (is_of_the_record)
            malloc_refuse();
        else
            calloc_refuse_nth(1);
        failed_send_report_receive(engine_pair.sides[0].engine, 1, &frame,
                                   "no more files");
        malloc_allow();
        calloc_refuse_nth(0);
        next_call_is_short_of("rank 0 (host:40) has no memory to remember",
                              "no more files");
        engine_pair_tear_down(state);
        engine_pair_set_up_unconnected(state);
    }
}

static void
last_answer_of_a_rank_that_leaves_is_not_dropped_without_memory(void **state)
{
    const struct frame frame = {
        .kind = FRAME_HEARTBEAT,
        .flags = FRAME_ENDED,
        .comm = context_of_rank_0()->id,
        .op = 1,
        .signature = 77,
    };

    malloc_refuse();
    state_query_apply_answer(context_of_rank_0(), 1, &frame);
    malloc_allow();
    next_call_is_short_of("rank 0 (host:40) has no memory to remember",
                          "rank 1 (host:41)");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_UNCONNECTED_TEST(
            failure_of_a_later_call_is_not_dropped_without_memory),
        ENGINE_PAIR_UNCONNECTED_TEST(
            failures_of_more_calls_than_are_kept_are_not_dropped),
        ENGINE_PAIR_UNCONNECTED_TEST(failed_send_is_not_dropped_without_memory),
        ENGINE_PAIR_UNCONNECTED_TEST(
            last_answer_of_a_rank_that_leaves_is_not_dropped_without_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
