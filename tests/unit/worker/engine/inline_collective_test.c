/*
 * tests/unit/worker/engine/inline_collective_test.c - engine/inline.c
 *
 * Small collectives over sockets. One thread makes the calls of both ranks, so
 * that it is known what has come when a call looks for it.
 */

#include <stdlib.h>
#include <string.h>

#include "allocation.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/op_pool.h"
#include "engine/op_run.h"
#include "engine/progress.h"
#include "engine/state.h"
#include "engine_pair_fixture.h"
#include "transport/peer.h"

enum {
    N_BYTES_MAX = INLINE_PLAN_STEPS_MAX + 1,
    BYTES_PER_ROUND = 32,
};

/* Some plan was made under the lock of the engine that plans. */
static bool is_planned_under_lock;

static void
note_lock(const struct plan_shape *shape)
{
    pthread_mutex_t *lock = &engine_pair.sides[shape->rank].engine->lock;

    if (pthread_mutex_trylock(lock) == 0)
        pthread_mutex_unlock(lock);
    else
        is_planned_under_lock = true;
}

/* Rank 0 sends each of its bytes as a block. */
static uint32_t
byte_by_byte_n_rounds(const struct plan_shape *shape)
{
    return (uint32_t)(shape->count + BYTES_PER_ROUND - 1) / BYTES_PER_ROUND;
}

static void
byte_by_byte_round(struct plan *plan,
                   const struct plan_shape *shape,
                   uint32_t round)
{
    uint32_t i = round * BYTES_PER_ROUND;

    note_lock(shape);
    for (; i < (round + 1) * BYTES_PER_ROUND && i < shape->count; i++) {
        const struct plan_span byte = {PLAN_OUTPUT, i, 1};

        if (shape->rank == 0)
            plan_add_send(plan, 1, i, byte);
        else
            plan_add_store(plan, 0, i, byte);
    }
}

static const struct algorithm byte_by_byte = {
    .name = "byte_by_byte",
    .n_rounds = byte_by_byte_n_rounds,
    .plan_round = byte_by_byte_round,
};

/* Rank 1 receives byte 0 into its scratch memory, sends byte 1, receives it back
 * as byte 2, and puts byte 0 where it belongs. */
static uint32_t
there_and_back_n_rounds(const struct plan_shape *shape)
{
    return 4;
}

static void
there_and_back_round(struct plan *plan,
                     const struct plan_shape *shape,
                     uint32_t round)
{
    const uint32_t peer = 1 - shape->rank;
    const struct plan_span byte = {PLAN_OUTPUT, round, 1};
    const struct plan_span first = {PLAN_OUTPUT, 0, 1};
    const struct plan_span echoed = {PLAN_OUTPUT, 1, 1};
    const struct plan_span kept = {PLAN_SCRATCH, 0, 1};

    if (round < 3 && shape->rank == round % 2)
        plan_add_send(plan, peer, round, round == 2 ? echoed : byte);
    else if (round < 3)
        plan_add_store(plan, peer, round, round == 0 ? kept : byte);
    else if (shape->rank == 1)
        plan_add_copy(plan, kept, first);
}

static size_t
there_and_back_n_scratch(const struct plan_shape *shape)
{
    return 1;
}

static const struct algorithm there_and_back = {
    .name = "there_and_back",
    .n_rounds = there_and_back_n_rounds,
    .plan_round = there_and_back_round,
    .n_scratch = there_and_back_n_scratch,
};

static struct engine_collective
call_of(uint32_t rank,
        const struct algorithm *algorithm,
        uint8_t *bytes,
        size_t count)
{
    return (struct engine_collective){
        .call = {.name = CALL_BROADCAST, .dtype = HOOP_UINT8, .count = count},
        .algorithm = algorithm,
        .shape = {.rank = rank, .size = 2, .count = count, .granule = 1},
        .input = bytes,
        .output = bytes,
        .mode = ENGINE_START_AND_WAIT,
    };
}

static struct comm_context *
context_of(uint32_t rank)
{
    return engine_pair.sides[rank].comms[0].context;
}

static const struct inline_plan *
plan_of(uint32_t rank)
{
    return &context_of(rank)->cached_op->cache.inline_plan;
}

/* How many calls of rank were completed inline. */
static unsigned
n_inline(uint32_t rank)
{
    return context_of(rank)->n_rounds_since_socket_poll;
}

/* Rank 0 calls, then rank 1, which finds all there. */
static void
bytes_pass(uint8_t first, size_t count)
{
    uint8_t bytes[2][N_BYTES_MAX] = {{0}};

    for (size_t i = 0; i < count; i++)
        bytes[0][i] = (uint8_t)(first + i);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct engine_collective call =
            call_of(rank, &byte_by_byte, bytes[rank], count);

        assert_ok(engine_run_collective(context_of(rank), &call));
    }
    assert_memory_equal(bytes[1], bytes[0], N_BYTES_MAX);
}

static int
set_up(void **state)
{
    is_planned_under_lock = false;
    engine_pair_set_up(state);
    /* Each takes its connection. */
    progress_poll(engine_pair.sides[0].engine, 0);
    progress_poll(engine_pair.sides[1].engine, 0);
    return 0;
}

static void
plan_of_the_most_steps_is_done_inline(void **state)
{
    for (uint8_t i = 0; i < 4; i++)
        bytes_pass(i, INLINE_PLAN_STEPS_MAX);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_int_equal(plan_of(rank)->n_steps, INLINE_PLAN_STEPS_MAX);
        assert_int_equal(n_inline(rank), 3);
        assert_false(engine_pair.sides[rank].engine->is_progress_owned);
    }
    assert_false(is_planned_under_lock);
}

/* Nor does a longer one stay in memory. */
static void
plan_of_more_steps_is_not_done_inline(void **state)
{
    for (uint8_t i = 0; i < 4; i++)
        bytes_pass(i, INLINE_PLAN_STEPS_MAX + 1);
    for (uint32_t rank = 0; rank < 2; rank++) {
        assert_true(plan_of(rank)->is_made);
        assert_int_equal(plan_of(rank)->n_steps, 0);
        assert_int_equal(n_inline(rank), 0);
        assert_int_equal(context_of(rank)->cached_op->cache.tracker.serial, 0);
    }
    assert_false(is_planned_under_lock);
}

/* The call succeeds and says nothing; the next one plans again. */
static void
plan_without_memory_is_made_by_the_next_call(void **state)
{
    uint8_t sent = 2;
    uint8_t got = 0;
    const struct engine_collective send = call_of(0, &byte_by_byte, &sent, 1);
    const struct engine_collective receive = call_of(1, &byte_by_byte, &got, 1);

    bytes_pass(1, 1);
    error_clear();
    calloc_refuse_nth(1);
    assert_ok(engine_run_collective(context_of(0), &send));
    calloc_refuse_nth(0);
    assert_string_equal(error_text(), "");
    assert_false(plan_of(0)->is_made);
    assert_int_equal(n_inline(0), 0);
    assert_ok(engine_run_collective(context_of(1), &receive));
    assert_int_equal(got, 2);
    bytes_pass(3, 1);
    assert_true(plan_of(0)->is_made);
    assert_int_equal(n_inline(0), 1);
}

/* What rank 1 did while it waited for rank 0. */
static struct {
    struct op *of_rank_0; /* NULL: not called yet */
    uint8_t *bytes;       /* rank 0's */
    unsigned n_backoffs;
    bool is_late; /* rank 0 calls when rank 1 waits, and then does nothing */
    uint64_t late_ns;
    struct backoff second;
    struct op_run handed_over;
} wait;

enum {
    SPIN_UNTIL = 77,
};

static void
start_as_rank_0(void)
{
    struct engine_collective call = call_of(0, &there_and_back, wait.bytes, 3);

    call.mode = ENGINE_START;
    assert_ok(engine_start_collective(context_of(0), &call, &wait.of_rank_0));
}

enum wait_action
__real_backoff_next_action(struct backoff *backoff,
                           enum wait_policy rule,
                           uint64_t work_ns);
enum wait_action
__wrap_backoff_next_action(struct backoff *backoff,
                           enum wait_policy rule,
                           uint64_t work_ns);

/* Only rank 1 waits here. Nobody else makes progress for rank 0. */
enum wait_action
__wrap_backoff_next_action(struct backoff *backoff,
                           enum wait_policy rule,
                           uint64_t work_ns)
{
    if (!wait.bytes)
        return __real_backoff_next_action(backoff, rule, work_ns);
    wait.n_backoffs++;
    if (wait.is_late && wait.n_backoffs == 1) {
        wait.late_ns = clock_now_ns();
        backoff->spin_until_ns = SPIN_UNTIL;
        start_as_rank_0();
    } else if (wait.is_late && wait.n_backoffs == 2) {
        wait.second = *backoff;
        return WAIT_ACTION_SLEEP;
    } else {
        engine_progress_background(engine_pair.sides[0].engine);
    }
    return WAIT_ACTION_POLL;
}

void
__real_op_begin(struct op *op);
void
__wrap_op_begin(struct op *op);

void
__wrap_op_begin(struct op *op)
{
    if (op->engine == engine_pair.sides[1].engine)
        wait.handed_over = op->run;
    __real_op_begin(op);
}

static void
bytes_go_there_and_back(uint8_t first, bool is_late)
{
    uint8_t bytes[2][3] = {{first}, {0, (uint8_t)(first + 1)}};
    const struct engine_collective call =
        call_of(1, &there_and_back, bytes[1], 3);

    memset(&wait, 0, sizeof(wait));
    wait.bytes = bytes[0];
    wait.is_late = is_late;
    if (!is_late)
        start_as_rank_0();
    assert_ok(engine_run_collective(context_of(1), &call));
    wait.bytes = NULL;
    assert_ok(engine_wait(wait.of_rank_0, patience()));
    assert_int_equal(bytes[0][1], first + 1);
    assert_int_equal(bytes[1][0], first);
    assert_int_equal(bytes[1][2], first + 1);
}

/* One operation of rank 1 goes on where the call has come to, with what it has
 * received, and has waited since the call began to. */
static void
operation_continues_what_was_done_inline(void **state)
{
    bytes_go_there_and_back(1, false);
    assert_int_equal(n_inline(1), 0);
    bytes_go_there_and_back(11, false);
    assert_int_equal(plan_of(1)->n_steps, 4);
    assert_int_equal(n_inline(1), 1);
    bytes_go_there_and_back(21, true);
    assert_int_equal(n_inline(1), 1);
    /* Byte 0, then byte 1. */
    assert_int_equal(wait.handed_over.steps_done_inline, 3);
    /* The wait for byte 2 is the wait for byte 0. */
    assert_int_equal(wait.second.spin_until_ns, SPIN_UNTIL);
    assert_int_equal(wait.handed_over.wait.backoff.spin_until_ns, SPIN_UNTIL);
    assert_true(wait.handed_over.wait.started_ns <= wait.late_ns);
    assert_true(wait.handed_over.wait.deadline_ns -
                    wait.handed_over.wait.started_ns ==
                wait.handed_over.wait.time_limit_ns);
    /* Memory of the size that was given away is there again. */
    bytes_go_there_and_back(31, false);
    bytes_go_there_and_back(41, false);
    assert_int_equal(n_inline(1), 3);
}

static void
pool_empty(struct engine *engine)
{
    struct op *op = atomic_exchange(&engine->pool.kept, NULL);

    if (op)
        op_destroy(op);
    while ((op = TAILQ_FIRST(&engine->pool.ops))) {
        TAILQ_REMOVE(&engine->pool.ops, op, link);
        engine->pool.n_ops--;
        op_destroy(op);
    }
}

/* A message comes instead of the block, and there is no memory to go on: the
 * call fails on both, and the message, which is in no socket any more, is not
 * forgotten. */
static void
call_that_cannot_go_on_fails_on_all(void **state)
{
    struct side *sides = engine_pair.sides;
    uint8_t byte = 9;
    char text[4] = "";
    struct op *op = NULL;
    const struct engine_collective send = call_of(0, &byte_by_byte, &byte, 1);
    const struct engine_collective receive =
        call_of(1, &byte_by_byte, &byte, 1);

    bytes_pass(1, 1);
    bytes_pass(2, 1);
    assert_ok(send_start(context_of(0), "abc", 4, 1, &op));
    assert_ok(engine_wait(op, patience()));
    pool_empty(sides[1].engine);
    calloc_refuse_nth(1);
    assert_int_equal(engine_run_collective(context_of(1), &receive),
                     HOOP_E_EXHAUSTED);
    calloc_refuse_nth(0);
    assert_null(sides[1].engine->transport->frames_ahead);
    assert_false(sides[1].engine->is_progress_owned);
    progress_poll(sides[0].engine, 0);
    assert_int_equal(engine_run_collective(context_of(0), &send),
                     HOOP_E_EXHAUSTED);
    assert_non_null(strstr(error_text(), "no memory for an operation"));
    assert_ok(receive_start(context_of(1), text, 4, 1, &op));
    assert_ok(engine_wait(op, patience()));
    assert_string_equal(text, "abc");
    bytes_pass(3, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(plan_of_the_most_steps_is_done_inline,
                                        set_up, engine_pair_tear_down),
        cmocka_unit_test_setup_teardown(plan_of_more_steps_is_not_done_inline,
                                        set_up, engine_pair_tear_down),
        cmocka_unit_test_setup_teardown(
            plan_without_memory_is_made_by_the_next_call, set_up,
            engine_pair_tear_down),
        cmocka_unit_test_setup_teardown(
            operation_continues_what_was_done_inline, set_up,
            engine_pair_tear_down),
        cmocka_unit_test_setup_teardown(call_that_cannot_go_on_fails_on_all,
                                        set_up, engine_pair_tear_down),
    };

    setenv("HOOP_TRANSPORT", "tcp", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
