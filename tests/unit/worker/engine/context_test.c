/* tests/unit/worker/engine/context_test.c - expected, open, closed */

#include "check.h"
/* after cmocka */
#include <stdatomic.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/progress.h"
#include "engine/state.h"
#include "engine_pair_fixture.h"

static atomic_uint_fast64_t ids = 1000; /* of open_and_close() */

static struct comm_context *
context_new(int side, uint64_t id)
{
    static const uint32_t ranks[] = {0, 1};
    const struct context_options options = {.id = id,
                                            .rank = (uint32_t)side,
                                            .size = 2,
                                            .ranks = ranks,
                                            .timeout_ms = 5000};
    struct comm_context *context = NULL;

    assert_ok(context_open(engine_pair.sides[side].engine, &options, &context));
    return context;
}

static void
turn(int side, int n_turns)
{
    struct engine *engine = engine_pair.sides[side].engine;

    while (n_turns-- > 0) {
        assert_true(progress_try_acquire(engine));
        progress_poll(engine, 1);
        progress_release(engine);
    }
}

/* Sends a message on a context of side 0 that nobody receives. */
static void
send_unasked(struct comm_context *context)
{
    struct op *op = NULL;

    assert_ok(send_start(context, "late", 4, 9, &op));
    assert_ok(engine_wait(op, patience()));
    turn(1, 3);
}

/* Whether the message is there; closes the context. */
static enum hoop_status
receive_now(struct comm_context *context, char bytes[4])
{
    struct op *op = NULL;

    assert_ok(receive_start(context, bytes, 4, 9, &op));
    const enum hoop_status status = engine_wait(op, clock_deadline_ns(50));
    if (status == HOOP_E_PENDING) {
        context_close(context);
        assert_int_equal(engine_wait(op, patience()), HOOP_E_CLOSED);
    } else {
        context_close(context);
    }
    return status;
}

static void
what_comes_for_an_expected_context_is_kept(void **state)
{
    struct comm_context *sender = context_new(0, 50);
    char bytes[4] = "";

    engine_expect_context(engine_pair.sides[1].engine);
    send_unasked(sender);
    assert_ok(receive_now(context_new(1, 50), bytes));
    assert_memory_equal(bytes, "late", 4);
    context_close(sender);
}

static void
what_comes_for_an_unknown_context_is_dropped(void **state)
{
    struct comm_context *sender = context_new(0, 51);
    char bytes[4] = "";

    send_unasked(sender);
    assert_int_equal(receive_now(context_new(1, 51), bytes), HOOP_E_PENDING);
    context_close(sender);
}

static void
what_was_kept_goes_when_none_is_expected_any_more(void **state)
{
    struct comm_context *sender = context_new(0, 52);
    char bytes[4] = "";

    engine_expect_context(engine_pair.sides[1].engine);
    engine_expect_context(engine_pair.sides[1].engine);
    send_unasked(sender);
    engine_unexpect_context(engine_pair.sides[1].engine);
    turn(1, 1);
    engine_unexpect_context(engine_pair.sides[1].engine);
    turn(1, 1);
    assert_int_equal(receive_now(context_new(1, 52), bytes), HOOP_E_PENDING);
    context_close(sender);
}

static void
what_comes_after_the_close_is_dropped_while_others_are_expected(void **state)
{
    struct comm_context *sender = context_new(0, 53);
    char bytes[4] = "";

    engine_expect_context(engine_pair.sides[1].engine);
    context_close(context_new(1, 53));
    engine_expect_context(engine_pair.sides[1].engine);
    send_unasked(sender);
    assert_int_equal(receive_now(context_new(1, 53), bytes), HOOP_E_PENDING);
    context_close(sender);
}

static void
what_was_not_received_goes_with_the_context(void **state)
{
    struct comm_context *sender = context_new(0, 54);
    struct comm_context *receiver = context_new(1, 54);

    send_unasked(sender);
    context_close(receiver);
    /* An id is never used twice, unless by who looks for what is left. */
    char bytes[4] = "";
    assert_int_equal(receive_now(context_new(1, 54), bytes), HOOP_E_PENDING);
    context_close(sender);
}

static void
close_ends_what_runs_for_its_waiter(void **state)
{
    struct comm_context *context = context_new(0, 55);
    struct op *ops[2] = {NULL};
    int32_t value = 1;
    char bytes[4];

    assert_ok(sum_start(context, &value, 1, &ops[0]));
    assert_ok(receive_start(context, bytes, 4, 1, &ops[1]));
    context_close(context);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(engine_wait(ops[i], patience()), HOOP_E_CLOSED);
        assert_non_null(strstr(error_text(), "has been freed"));
    }
    /* The others go on. */
    value = 3;
    assert_ok(sum_run(engine_pair.sides[0].alone.context, &value, 1));
}

static void *
wait_long(void *owner)
{
    struct op *op = owner;

    (void)engine_wait(op, patience());
    return NULL;
}

/* The one who drives is somebody else, and stays. */
static void
close_while_another_thread_drives_is_done_by_it(void **state)
{
    struct engine *engine = engine_pair.sides[0].engine;
    struct comm_context *context = context_new(0, 56);
    struct op *op = NULL;
    pthread_t thread;
    char bytes[4];
    bool is_progress_owned = false;

    assert_ok(
        receive_start(engine_pair.sides[0].comms[0].context, bytes, 4, 1, &op));
    assert_int_equal(pthread_create(&thread, NULL, wait_long, op), 0);
    while (!is_progress_owned) {
        pthread_mutex_lock(&engine->lock);
        is_progress_owned = engine->is_progress_owned;
        pthread_mutex_unlock(&engine->lock);
    }
    context_close(context);
    assert_ok(
        send_start(engine_pair.sides[1].comms[0].context, "done", 4, 1, &op));
    assert_ok(engine_wait(op, patience()));
    pthread_join(thread, NULL);
}

static void *
open_and_close(void *owner)
{
    static const uint32_t ranks[] = {0};
    struct engine *engine = owner;
    /* No two threads have the same ids. */
    const uint64_t first = atomic_fetch_add(&ids, 200);

    for (uint64_t i = 0; i < 200; i++) {
        const struct context_options options = {
            .id = first + i, .size = 1, .ranks = ranks, .timeout_ms = 5000};
        struct comm_context *context = NULL;
        int32_t value = 1;

        engine_expect_context(engine);
        if (context_open(engine, &options, &context) != HOOP_OK)
            return owner;
        if (sum_run(context, &value, 1) != HOOP_OK)
            return owner;
        context_close(context);
    }
    return NULL;
}

/* Else frames of the one would be taken for the other's. */
static void
id_that_is_in_use_is_refused(void **state)
{
    static const uint32_t ranks[] = {0, 1};
    const struct context_options options = {
        .id = 77, .size = 2, .ranks = ranks, .timeout_ms = 5000};
    struct comm_context *former = context_new(0, 77);
    struct comm_context *context = NULL;

    engine_expect_context(engine_pair.sides[0].engine);
    assert_int_equal(
        context_open(engine_pair.sides[0].engine, &options, &context),
        HOOP_E_DATA_LOSS);
    assert_non_null(strstr(error_text(), "the id 77"));
    assert_null(context);
    assert_int_equal(engine_pair.sides[0].engine->contexts.n_expected, 0);
    context_close(former);
    context_close(context_new(0, 77));
}

static void
contexts_of_several_threads_come_and_go(void **state)
{
    pthread_t threads[4];

    for (size_t i = 0; i < COUNT_OF(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_close,
                                        engine_pair.sides[0].engine),
                         0);
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        void *failed = NULL;

        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(engine_pair.sides[0].engine->contexts.n_expected, 0);
    assert_true(
        TAILQ_EMPTY(&engine_pair.sides[0].engine->inbox.context_commands));
}

/* Rank 1 has not called yet: it need not wait for its deadline. */
static void
close_in_a_collective_is_told(void **state)
{
    struct comm_context *contexts[] = {context_new(0, 60), context_new(1, 60)};
    int32_t value = 1;
    struct op *op = NULL;

    assert_ok(sum_start(contexts[0], &value, 1, &op));
    context_close(contexts[0]);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_CLOSED);
    turn(1, 3);
    assert_int_equal(sum_run(contexts[1], &value, 1), HOOP_E_PEER_LOST);
    assert_non_null(
        strstr(error_text(), "rank 0 (host:40) has freed the communicator"));
    context_close(contexts[1]);
}

/* Rank 0 has no memory for what rank 1 is in, or calls then. */
static void
call_that_a_rank_declines_fails_on_all(void **state)
{
    struct comm_context *contexts[] = {context_new(0, 61), context_new(1, 61)};
    struct op *ops[2] = {NULL, NULL};
    int32_t values[] = {1, 2};

    for (int i = 0; i < 2; i++) {
        const bool is_early = i == 0;

        if (is_early)
            assert_ok(sum_start(contexts[1], &values[1], 1, &ops[1]));
        context_fail_next_call(contexts[0], HOOP_E_EXHAUSTED, "no memory");
        if (!is_early)
            assert_ok(sum_start(contexts[1], &values[1], 1, &ops[1]));
        assert_int_equal(engine_wait(ops[1], patience()), HOOP_E_EXHAUSTED);
        assert_non_null(strstr(error_text(), "rank 0 (host:40) cannot take "
                                             "part: no memory"));
    }
    for (int side = 0; side < 2; side++)
        assert_ok(sum_start(contexts[side], &values[side], 1, &ops[side]));
    turn(0, 2);
    turn(1, 2);
    for (int side = 0; side < 2; side++) {
        assert_ok(engine_wait(ops[side], patience()));
        assert_int_equal(values[side], 3);
        context_close(contexts[side]);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(what_comes_for_an_expected_context_is_kept),
        ENGINE_PAIR_TEST(what_comes_for_an_unknown_context_is_dropped),
        ENGINE_PAIR_TEST(what_was_kept_goes_when_none_is_expected_any_more),
        ENGINE_PAIR_TEST(
            what_comes_after_the_close_is_dropped_while_others_are_expected),
        ENGINE_PAIR_TEST(what_was_not_received_goes_with_the_context),
        ENGINE_PAIR_TEST(close_ends_what_runs_for_its_waiter),
        ENGINE_PAIR_TEST(close_in_a_collective_is_told),
        ENGINE_PAIR_TEST(call_that_a_rank_declines_fails_on_all),
        ENGINE_PAIR_TEST(close_while_another_thread_drives_is_done_by_it),
        ENGINE_PAIR_TEST(id_that_is_in_use_is_refused),
        ENGINE_PAIR_TEST(contexts_of_several_threads_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
