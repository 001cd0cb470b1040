/* tests/unit/worker/engine/command_queue_test.c - engine/command_queue.c,
 * where no memory is left */

#include <string.h>
#include <sys/socket.h>

#include "allocation.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/state.h"
#include "engine_pair_fixture.h"

static unsigned n_complaints;

static void
on_suspected(void *owner,
             uint32_t rank,
             const struct engine_suspicion *suspicion)
{
    n_complaints++;
}

/* A call of rank 0 that waits for rank 1. */
static struct op *
call_begun(void)
{
    static int32_t value;
    struct op *op = NULL;

    assert_ok(sum_start(engine_pair.sides[0].comms[0].context, &value, 1, &op));
    engine_progress_background(engine_pair.sides[0].engine);
    assert_int_equal(engine_wait(op, 0), HOOP_E_PENDING);
    return op;
}

/* It ends by what was handed in, and needs no further event. */
static void
call_ends(struct op *op, enum hoop_status status, const char *why)
{
    engine_progress_background(engine_pair.sides[0].engine);
    assert_int_equal(engine_wait(op, 0), status);
    assert_non_null(strstr(error_text(), why));
}

static void
verdict_arrives_without_memory(void **state)
{
    struct op *op = call_begun();

    malloc_refuse();
    engine_declare_dead(engine_pair.sides[0].engine, 1,
                        "its lease has expired");
    malloc_allow();
    call_ends(op, HOOP_E_PEER_LOST, "its lease has expired");
}

static void
unreachable_rank_is_known_without_memory(void **state)
{
    struct op *op = call_begun();

    malloc_refuse();
    engine_report_unreachable(engine_pair.sides[0].engine, 1,
                              "connection refused");
    malloc_allow();
    call_ends(op, HOOP_E_PEER_LOST, "connection refused");
}

static void
shortage_is_known_without_memory(void **state)
{
    struct op *op = call_begun();

    malloc_refuse();
    engine_report_shortage(engine_pair.sides[0].engine,
                           &(struct connector_shortage){
                               .rank = 1,
                               .of = 1,
                               .status = HOOP_E_EXHAUSTED,
                               .why = "its process may open 17 files",
                           });
    malloc_allow();
    call_ends(op, HOOP_E_EXHAUSTED,
              "rank 1 (host:41) cannot connect to rank 0 (host:40): its "
              "process may open 17 files");
}

/* The coordinator is asked, and is away. */
static void
absence_of_a_decision_is_known_without_memory(void **state)
{
    n_complaints = 0;
    engine_pair_open_with(
        &engine_pair, &(struct engine_options){.on_suspected = on_suspected});
    struct op *op = call_begun();
    /* Rank 1 is the higher one: its accuser does not wait for it. */
    engine_report_unreachable(engine_pair.sides[0].engine, 1,
                              "connection reset");
    engine_progress_background(engine_pair.sides[0].engine);
    assert_int_equal(n_complaints, 1);
    const uint64_t decide_by_rule_ns =
        engine_pair.sides[0].engine->liveness.ranks[1].decide_by_rule_ns;
    malloc_refuse();
    engine_report_undecided(engine_pair.sides[0].engine, 1);
    malloc_allow();
    engine_progress_background(engine_pair.sides[0].engine);
    assert_true(
        engine_pair.sides[0].engine->liveness.ranks[1].decide_by_rule_ns <
        decide_by_rule_ns);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    engine_pair_close(&engine_pair);
}

static void
connection_without_memory_ends_this_rank(void **state)
{
    struct op *op = call_begun();
    char byte;

    malloc_refuse();
    engine_add_connection(engine_pair.sides[0].engine, 1, engine_pair.fds[0]);
    malloc_allow();
    engine_pair.fds[0] = -1;
    assert_int_equal(recv(engine_pair.fds[1], &byte, 1, 0), 0);
    call_ends(op, HOOP_E_EXHAUSTED,
              "rank 0 (host:40) gave up: it had no memory for a connection");
    assert_int_equal(error_failure_details()->rank, 0);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 1);
    assert_int_equal(engine_pair.sides[0].evidence, EVIDENCE_GIVEN_UP);
    assert_string_equal(engine_pair.sides[0].why,
                        "gave up: it had no memory for a connection");
    assert_false(engine_pair.sides[0].engine->liveness.ranks[1].is_lost);
    assert_int_equal(engine_check_not_expelled(engine_pair.sides[0].engine),
                     HOOP_E_RANK_FAILED);
    assert_string_equal(error_text(),
                        "this rank gave up: it had no memory for a connection");
}

static struct comm_context *
context_new(uint32_t side)
{
    static const uint32_t ranks[] = {0, 1};
    const struct context_options options = {
        .id = 50, .rank = side, .size = 2, .ranks = ranks, .timeout_ms = 30000};
    struct comm_context *context = NULL;

    assert_ok(context_open(engine_pair.sides[side].engine, &options, &context));
    return context;
}

/* What had come for one that was expected, and is not: a later one of the
 * same id does not find it. */
static void
communicator_that_is_given_up_is_swept_without_memory(void **state)
{
    struct engine *engine = engine_pair.sides[1].engine;
    struct op *op = NULL;
    char bytes[4];

    engine_pair_connect(&engine_pair);
    struct comm_context *sender = context_new(0);
    engine_expect_context(engine);
    assert_ok(send_start(sender, "late", 4, 9, &op));
    assert_ok(engine_wait(op, patience()));
    const uint64_t deadline_ns = patience();
    while (!atomic_load(&engine->contexts.has_early_frames) &&
           !clock_is_past(deadline_ns))
        engine_progress_background(engine);
    assert_true(atomic_load(&engine->contexts.has_early_frames));
    malloc_refuse();
    engine_unexpect_context(engine);
    malloc_allow();
    engine_progress_background(engine);
    struct comm_context *receiver = context_new(1);
    assert_ok(receive_start(receiver, bytes, 4, 9, &op));
    assert_int_equal(engine_wait(op, 0), HOOP_E_PENDING);
    context_close(receiver);
    assert_int_equal(engine_wait(op, patience()), HOOP_E_CLOSED);
    context_close(sender);
}

static void
connection_is_asked_for_without_memory(void **state)
{
    malloc_refuse();
    const enum hoop_status status =
        engine_connect(engine_pair.sides[0].engine, 1, clock_now_ns());
    malloc_allow();
    assert_int_equal(status, HOOP_E_TIMEOUT);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_needed), 1);
}

/* All of one rank, before the progress owner looks: the order is of no
 * matter. */
static void
gravest_of_several_notices_is_told(void **state)
{
    struct engine *engine = engine_pair.sides[0].engine;

    for (unsigned is_first = 0; is_first < 2; is_first++) {
        struct op *op = call_begun();

        if (is_first)
            engine_declare_dead(engine, 1, "its lease has expired");
        engine_report_shortage(engine,
                               &(struct connector_shortage){
                                   .rank = 1,
                                   .of = 1,
                                   .status = HOOP_E_EXHAUSTED,
                                   .why = "its process may open 17 files",
                               });
        engine_report_undecided(engine, 1);
        engine_report_unreachable(engine, 1, "connection refused");
        if (!is_first)
            engine_declare_dead(engine, 1, "its lease has expired");
        engine_declare_dead(engine, 1, "twice");
        call_ends(op, HOOP_E_PEER_LOST, "its lease has expired");
        assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 1);
        engine_pair_tear_down(state);
        engine_pair_set_up_unconnected(state);
        engine = engine_pair.sides[0].engine;
    }
}

static void
notices_of_several_ranks_are_all_told(void **state)
{
    const struct engine *engine = engine_pair.sides[0].engine;

    engine_declare_dead(engine_pair.sides[0].engine, 2, "of 2");
    engine_declare_dead(engine_pair.sides[0].engine, 1, "of 1");
    engine_progress_background(engine_pair.sides[0].engine);
    for (uint32_t rank = 1; rank <= 2; rank++) {
        assert_true(engine->liveness.ranks[rank].is_lost);
        assert_int_equal(engine->liveness.ranks[rank].why[3], '0' + (int)rank);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_UNCONNECTED_TEST(verdict_arrives_without_memory),
        ENGINE_PAIR_UNCONNECTED_TEST(unreachable_rank_is_known_without_memory),
        ENGINE_PAIR_UNCONNECTED_TEST(shortage_is_known_without_memory),
        cmocka_unit_test(absence_of_a_decision_is_known_without_memory),
        ENGINE_PAIR_UNCONNECTED_TEST(connection_without_memory_ends_this_rank),
        ENGINE_PAIR_UNCONNECTED_TEST(
            communicator_that_is_given_up_is_swept_without_memory),
        ENGINE_PAIR_UNCONNECTED_TEST(connection_is_asked_for_without_memory),
        ENGINE_PAIR_UNCONNECTED_TEST(gravest_of_several_notices_is_told),
        ENGINE_PAIR_UNCONNECTED_TEST(notices_of_several_ranks_are_all_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
