/* tests/unit/worker/engine/failure/activity_test.c - activity.c */

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "unit/worker/engine/engine_pair_fixture.h"

enum {
    DEADLINE_MS = 20000,
};

/* The last answer of each side. */
static struct engine_activity answers[2];
static uint64_t answered[2];
static uint64_t n_queries;

static void
on_activity(void *owner, uint64_t query, const struct engine_activity *activity)
{
    const struct side *side = owner;

    answers[side->rank] = *activity;
    answered[side->rank] = query;
}

static int
set_up(void **state)
{
    engine_pair_open_with(&engine_pair,
                          &(struct engine_options){.on_activity = on_activity});
    engine_pair_connect(&engine_pair);
    return 0;
}

static void
drive_both(void)
{
    for (unsigned i = 0; i < 2; i++)
        engine_progress_background(engine_pair.sides[i].engine);
}

/* Ask the side. */
static const struct engine_activity *
ask(uint32_t rank)
{
    const uint64_t deadline_ns = clock_deadline_ns(DEADLINE_MS);

    engine_query_activity(engine_pair.sides[rank].engine, ++n_queries);
    while (answered[rank] != n_queries && !clock_is_past(deadline_ns))
        drive_both();
    assert_int_equal(answered[rank], n_queries);
    return &answers[rank];
}

/* Ask the side until it says that the awaited rank does that. */
static const struct activity_details *
await_doing(uint32_t rank, enum awaited_doing doing)
{
    const uint64_t deadline_ns = clock_deadline_ns(DEADLINE_MS);
    const struct activity_details *details = &ask(rank)->details;

    while (details->awaited_doing != doing && !clock_is_past(deadline_ns))
        details = &ask(rank)->details;
    assert_int_equal(details->awaited_doing, doing);
    return details;
}

static void
op_give_up(struct op *op)
{
    engine_cancel_op(op);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_CANCELLED);
}

static void
rank_in_no_call_tells_its_process_first(void **state)
{
    const struct engine_activity *activity = ask(1);

    assert_int_equal(activity->line.n_calls, 0);
    assert_string_equal(activity->line.call, "");
    assert_int_equal(activity->details.awaited_rank, STATUS_RANK_NONE);
    assert_true(activity->details.awaited_silence_ms == STATUS_TIME_UNKNOWN);
    assert_string_equal(activity->details.finished, "");
    assert_int_equal(activity->details.failure_status, HOOP_OK);
    assert_true(activity->details.n_processes > 0);
    assert_int_equal(activity->process_ranks[0], 1);
}

static void
awaited_rank_in_no_call_is_told_as_such(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    int32_t value = 1;
    struct op *op = NULL;

    assert_ok(sum_start(context, &value, 1, &op));
    const struct activity_details *details = await_doing(0, AWAITED_IN_NO_CALL);

    assert_int_equal(details->awaited_rank, 1);
    assert_int_equal(details->communicator_id, 1);
    assert_int_equal(details->n_done_bytes, 0);
    assert_int_equal(details->n_bytes, 4);
    assert_string_equal(answers[0].line.call,
                        "allreduce #1 (int32, 1 elements, sum)");
    assert_int_equal(answers[0].line.number, 1);
    assert_int_equal(answers[0].line.missing_rank, STATUS_RANK_NONE);
    op_give_up(op);
}

static void
awaited_rank_in_another_call_is_told_with_it(void **state)
{
    int32_t values[2] = {1, 1};
    struct op *ops[2] = {NULL, NULL};

    for (unsigned i = 0; i < 2; i++)
        assert_ok(sum_start(engine_pair.sides[i].comms[i].context, &values[i],
                            1, &ops[i]));
    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct activity_details *details =
            await_doing(rank, AWAITED_IN_OTHER_CALL);

        assert_int_equal(details->awaited_rank, 1 - rank);
        assert_string_equal(details->awaited_call,
                            "allreduce #1 (int32, 1 elements, sum)");
        assert_int_equal(details->communicator_id, 1 + rank);
    }
    for (unsigned i = 0; i < 2; i++)
        op_give_up(ops[i]);
}

/* The question what it has called shows that the asker is heard. */
static void
rank_that_is_asked_tells_who_asked(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    int32_t value = 1;
    struct op *op = NULL;

    assert_int_equal(ask(1)->details.n_askers, 0);
    assert_ok(sum_start(context, &value, 1, &op));
    await_doing(0, AWAITED_IN_NO_CALL);
    assert_int_equal(ask(1)->details.n_askers, 1);
    assert_int_equal(answers[1].askers[0].rank, 0);
    assert_true(answers[1].askers[0].age_ms < DEADLINE_MS);
    op_give_up(op);
}

/* The question comes after 0.1 s, when the wait is noted. */
static void
wait_for_a_rank_that_has_not_called_adds_up(void **state)
{
    const uint64_t deadline_ns = clock_deadline_ns(DEADLINE_MS);
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    int32_t value = 1;
    struct op *op = NULL;

    assert_int_equal(ask(0)->details.n_waits, 0);
    assert_ok(sum_start(context, &value, 1, &op));
    while ((ask(0)->details.n_waits == 0 || answers[0].waits[0].wait_ms < 50) &&
           !clock_is_past(deadline_ns)) {
    }
    assert_int_equal(answers[0].details.n_waits, 1);
    assert_int_equal(answers[0].waits[0].rank, 1);
    assert_true(answers[0].waits[0].wait_ms >= 50);
    assert_true(answers[0].waits[0].wait_ms <= answers[0].line.age_ms);
    assert_int_equal(answers[0].details.n_recent_waits, 1);
    assert_int_equal(answers[0].recent_waits[0].rank, 1);
    assert_true(answers[0].recent_waits[0].wait_ms <=
                answers[0].waits[0].wait_ms);
    op_give_up(op);
}

static int
sums_of_both(struct side *side)
{
    int32_t value = 1;

    context_set_name(side->comms[0].context, "first");
    SIDE_CHECK(sum_run(side->comms[0].context, &value, 1) == HOOP_OK);
    SIDE_CHECK(sum_run(side->comms[0].context, &value, 1) == HOOP_OK);
    SIDE_CHECK(sum_run(side->comms[1].context, &value, 1) == HOOP_OK);
    return 0;
}

static void
last_finished_call_of_each_communicator_is_told(void **state)
{
    engine_pair_run(&engine_pair, sums_of_both);
    assert_string_equal(ask(0)->details.finished,
                        "allreduce #2 (int32, 1 elements, sum) of 'first'; "
                        "allreduce #1 (int32, 1 elements, sum) of a "
                        "communicator of 2 ranks");
}

static void
last_failure_is_told_and_no_call_that_was_given_up(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    struct engine *engine = engine_pair.sides[0].engine;
    struct activity_details end;
    char bytes[4];
    struct op *op = NULL;

    assert_ok(receive_start(context, bytes, 4, 1, &op));
    op_give_up(op);
    assert_int_equal(ask(0)->details.failure_status, HOOP_OK);
    context_set_timeout(context, 60);
    assert_ok(receive_start(context, bytes, 4, 1, &op));
    assert_int_equal(engine_wait(op, patience()), HOOP_E_TIMEOUT);
    assert_int_equal(ask(0)->details.failure_status, HOOP_E_TIMEOUT);
    assert_string_equal(answers[0].details.failure, error_text());
    engine_describe_end(engine, &end);
    assert_int_equal(end.failure_status, HOOP_E_TIMEOUT);
    assert_string_equal(end.failure, answers[0].details.failure);
    assert_int_equal(end.awaited_rank, STATUS_RANK_NONE);
    engine_pair_run(&engine_pair, sums_of_both);
    assert_int_equal(ask(0)->details.failure_status, HOOP_OK);
    engine_describe_end(engine, &end);
    assert_int_equal(end.failure_status, HOOP_OK);
    assert_string_equal(end.finished, answers[0].details.finished);
}

/* Tags are told by one more than they are; one alone says nothing. */
static void
message_of_another_tag_is_told_to_who_waits(void **state)
{
    const uint64_t deadline_ns = clock_deadline_ns(DEADLINE_MS);
    struct comm_context *contexts[] = {engine_pair.sides[0].comms[0].context,
                                       engine_pair.sides[1].comms[0].context};
    char bytes[4] = "";
    struct op *receive = NULL;
    struct op *send = NULL;

    assert_ok(receive_start(contexts[0], bytes, 4, 7, &receive));
    assert_int_equal(ask(0)->details.receive_tag, 0);
    assert_int_equal(answers[0].details.sent_tag, 0);
    assert_ok(send_start(contexts[1], "abc", 4, 0, &send));
    while (ask(0)->details.sent_tag == 0 && !clock_is_past(deadline_ns)) {
    }
    assert_int_equal(answers[0].details.receive_tag, 7 + 1);
    assert_int_equal(answers[0].details.sent_tag, 0 + 1);
    assert_non_null(strstr(answers[0].line.waits_for,
                           "tag 7; it has sent tag 0, which is not received"));
    assert_ok(engine_wait(send, patience()));
    op_give_up(receive);
}

#define ACTIVITY_TEST(name)                                                    \
    cmocka_unit_test_setup_teardown(name, set_up, engine_pair_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ACTIVITY_TEST(rank_in_no_call_tells_its_process_first),
        ACTIVITY_TEST(awaited_rank_in_no_call_is_told_as_such),
        ACTIVITY_TEST(awaited_rank_in_another_call_is_told_with_it),
        ACTIVITY_TEST(rank_that_is_asked_tells_who_asked),
        ACTIVITY_TEST(wait_for_a_rank_that_has_not_called_adds_up),
        ACTIVITY_TEST(last_finished_call_of_each_communicator_is_told),
        ACTIVITY_TEST(last_failure_is_told_and_no_call_that_was_given_up),
        ACTIVITY_TEST(message_of_another_tag_is_told_to_who_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
