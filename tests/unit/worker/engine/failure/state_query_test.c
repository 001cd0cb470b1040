/* tests/unit/worker/engine/failure/state_query_test.c - engine/failure/state_query.c */

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "base/error.h"
#include "unit/worker/engine/engine_pair_fixture.h"

/* What an inquiry may take, and far less than an operation's deadline. */
static const uint64_t SOON_NS = 10000000000;

enum {
    /* Of what ends at its deadline: the other one must have answered before,
     * also on a busy machine. */
    ASKED_MS = 1000,
};

static bool
says(const char *phrase)
{
    return strstr(error_text(), phrase) != NULL;
}

static enum hoop_status
reduce_run(struct side *side, int32_t *value, uint32_t root)
{
    const struct engine_collective collective = {
        .call = {.name = CALL_REDUCE,
                 .dtype = HOOP_INT32,
                 .root = root,
                 .count = 1},
        .algorithm = &algorithm_reduce_chain,
        .shape = {.rank = side->rank,
                  .size = 2,
                  .root = root,
                  .is_in_place = true,
                  .count = 1,
                  .granule = 1},
        .input = value,
        .output = value,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;

    const enum hoop_status status =
        engine_start_collective(side->comms[0].context, &collective, &op);
    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER) : status;
}

/* Both only receive. */
static int
ranks_that_both_wait_find_out(struct side *side)
{
    const uint64_t begin_ns = clock_now_ns();
    int32_t value = 1;

    SIDE_CHECK(reduce_run(side, &value, side->rank) == HOOP_E_MISMATCH);
    SIDE_CHECK(says("root 0") && says("root 1"));
    SIDE_CHECK(clock_now_ns() - begin_ns < SOON_NS);
    SIDE_CHECK(value == 1);
    return 0;
}

/* Rank 1 has nothing to send: its call ends at once, its next one tells. */
static int
rank_that_had_nothing_to_send_is_found_out(struct side *side)
{
    const uint64_t begin_ns = clock_now_ns();
    struct comm_context *context = side->comms[0].context;
    int32_t values[4] = {1, 2, 3, 4};

    if (side->rank == 0) {
        SIDE_CHECK(sum_run(context, values, 4) == HOOP_E_MISMATCH);
        SIDE_CHECK(says("4 elements") && says("0 elements"));
        SIDE_CHECK(values[0] == 1);
        SIDE_CHECK(sum_run(context, values, 4) == HOOP_OK);
    } else {
        SIDE_CHECK(sum_run(context, values, 0) == HOOP_OK);
        /* It is done all the same: rank 0 does not wait in vain. */
        SIDE_CHECK(sum_run(context, values, 4) == HOOP_E_MISMATCH);
        SIDE_CHECK(says("allreduce #2 (int32, 4 elements, sum) is done, but"));
        SIDE_CHECK(says("4 elements") && says("0 elements"));
    }
    SIDE_CHECK(values[3] == 8);
    SIDE_CHECK(clock_now_ns() - begin_ns < SOON_NS);
    SIDE_CHECK(sum_run(context, values, 4) == HOOP_OK);
    return 0;
}

/* Before rank 0 has called, rank 1 has returned and left. */
static void
rank_that_has_left_is_found_out(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    int32_t values[4] = {1, 2, 3, 4};

    assert_ok(sum_run(engine_pair.sides[1].comms[0].context, values, 0));
    engine_shutdown(engine_pair.sides[1].engine, clock_deadline_ns(100));
    assert_int_equal(sum_run(context, values, 4), HOOP_E_MISMATCH);
    assert_true(says("4 elements") && says("0 elements"));
    /* What it never called is another matter. */
    assert_int_equal(sum_run(context, values, 4), HOOP_E_PEER_LOST);
    assert_true(says("rank 1 (host:41) has left the job"));
}

/* ... or leaves while rank 0 waits for it. */
static void
rank_that_leaves_meanwhile_is_found_out(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    int32_t values[4] = {1, 2, 3, 4};
    struct op *op = NULL;

    assert_ok(sum_start(context, values, 4, &op));
    assert_ok(sum_run(engine_pair.sides[1].comms[0].context, values, 0));
    engine_shutdown(engine_pair.sides[1].engine, clock_deadline_ns(100));
    assert_int_equal(engine_wait(op, patience()), HOOP_E_MISMATCH);
    assert_true(says("4 elements") && says("0 elements"));
}

/* A message and a collective may cross: only the deadline ends them. */
static void
deadline_tells_what_the_other_is_in(void **state)
{
    struct comm_context *first = engine_pair.sides[0].comms[0].context;
    struct comm_context *second = engine_pair.sides[1].comms[0].context;
    int32_t value = 1;
    char bytes[4];
    struct op *sum = NULL;
    struct op *message = NULL;

    context_set_timeout(first, ASKED_MS);
    context_set_timeout(second, ASKED_MS);
    assert_ok(receive_start(first, bytes, 4, 9, &message));
    assert_ok(sum_start(second, &value, 1, &sum));
    assert_int_equal(engine_wait(message, patience()), HOOP_E_TIMEOUT);
    assert_true(says("waiting for rank 1 (host:41) to send (0 of 4 bytes, "
                     "tag 9; it is in allreduce #1 (int32, 1 elements, sum)"));
    assert_int_equal(engine_wait(sum, patience()), HOOP_E_TIMEOUT);
    assert_true(says("it has not called this"));
}

static void
deadline_tells_of_a_rank_that_is_in_no_call(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    char bytes[4];
    struct op *op = NULL;

    context_set_timeout(context, ASKED_MS);
    assert_ok(receive_start(context, bytes, 4, 9, &op));
    assert_int_equal(engine_wait(op, patience()), HOOP_E_TIMEOUT);
    assert_true(says("tag 9; it is in no call"));
}

/* Two connections: what one end of the pair writes comes to the other when
 * the test hands it on. */
struct relay {
    int ends[2];
};

static void
relay_open(struct relay *relay)
{
    for (uint32_t i = 0; i < 2; i++) {
        int fds[2];

        assert_int_equal(
            socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
        engine_add_connection(engine_pair.sides[i].engine, 1 - i, fds[0]);
        relay->ends[i] = fds[1];
    }
}

static void
relay_close(const struct relay *relay)
{
    close(relay->ends[0]);
    close(relay->ends[1]);
}

static void
relay_from(const struct relay *relay, uint32_t rank)
{
    uint8_t bytes[4096];
    ssize_t n_bytes;

    while ((n_bytes = read(relay->ends[rank], bytes, sizeof(bytes))) > 0)
        assert_int_equal(write(relay->ends[1 - rank], bytes, (size_t)n_bytes),
                         n_bytes);
    engine_progress_background(engine_pair.sides[1 - rank].engine);
}

/* Turns of rank, until it has written something. */
static void
await_bytes_of(const struct relay *relay, uint32_t rank)
{
    struct pollfd fd = {.fd = relay->ends[rank], .events = POLLIN};
    const uint64_t deadline_ns = patience();

    while (poll(&fd, 1, 1) == 0) {
        assert_false(clock_is_past(deadline_ns));
        engine_progress_background(engine_pair.sides[rank].engine);
    }
}

static void
exchange_start(struct side *side,
               const int32_t sent[2],
               int32_t received[2],
               struct op **out_op)
{
    static const size_t counts[] = {1, 1};
    const struct engine_collective collective = {
        .call = {.name = CALL_ALLTOALLV, .dtype = HOOP_INT32, .count = 2},
        .algorithm = &algorithm_alltoall_pairwise,
        .shape = {.rank = side->rank,
                  .size = 2,
                  .counts = counts,
                  .recv_counts = counts,
                  .granule = 1},
        .input = sent,
        .output = received,
    };

    assert_ok(
        engine_start_collective(side->comms[0].context, &collective, out_op));
}

/* Rank 0 waits for the check's byte, which is on its way; rank 1 is through
 * with the check, and knows of 4 bytes for rank 0. */
static void
rank_that_is_still_checking_is_no_mismatch(void **state)
{
    const int32_t sent[2][2] = {{1, 2}, {3, 4}};
    int32_t received[2][2] = {{0}};
    struct op *ops[2];
    struct relay relay;

    engine_pair_open_checking(&engine_pair, ENGINE_CHECK_BEFORE_DATA);
    relay_open(&relay);
    exchange_start(&engine_pair.sides[0], sent[0], received[0], &ops[0]);
    await_bytes_of(&relay, 0);
    relay_from(&relay, 0);
    exchange_start(&engine_pair.sides[1], sent[1], received[1], &ops[1]);
    await_bytes_of(&relay, 1);

    /* It asks. If this takes long, rank 1 asks, too. */
    await_bytes_of(&relay, 0);
    const uint64_t deadline_ns = patience();
    while (!engine_is_op_done(ops[0]) || !engine_is_op_done(ops[1])) {
        assert_false(clock_is_past(deadline_ns));
        relay_from(&relay, 0);
        relay_from(&relay, 1);
    }
    assert_ok(engine_wait(ops[0], 0));
    assert_ok(engine_wait(ops[1], 0));
    assert_int_equal(received[0][1], 3);
    assert_int_equal(received[1][0], 2);
    relay_close(&relay);
    engine_pair_close(&engine_pair);
}

static struct comm_context *
late_context_open(struct side *side)
{
    static const uint32_t ranks[] = {0, 1};
    const struct context_options options = {.id = 20,
                                            .rank = side->rank,
                                            .size = 2,
                                            .ranks = ranks,
                                            .timeout_ms = 30000};
    struct comm_context *context = NULL;

    assert_ok(context_open(side->engine, &options, &context));
    return context;
}

static int
side_sum(struct side *side)
{
    int32_t value = 1;

    SIDE_CHECK(sum_run(side->comms[0].context, &value, 1) == HOOP_OK);
    return 0;
}

/* What it was told it could not understand yet. */
static void
rank_that_opens_what_is_revoked_finds_out(void **state)
{
    struct comm_context *contexts[2];
    struct op *op = NULL;
    int32_t value = 1;
    char byte;

    contexts[0] = late_context_open(&engine_pair.sides[0]);
    context_revoke(contexts[0], "enough of it");
    /* Behind it on the same way. */
    engine_pair_run(&engine_pair, side_sum);
    contexts[1] = late_context_open(&engine_pair.sides[1]);
    assert_int_equal(sum_run(contexts[1], &value, 1), HOOP_E_ABORTED);
    assert_true(says("rank 0 (host:40)") && says("enough of it"));
    assert_ok(receive_start(contexts[1], &byte, 1, 1, &op));
    assert_int_equal(engine_wait(op, patience()), HOOP_E_ABORTED);
    for (int i = 0; i < 2; i++)
        context_close(contexts[i]);
}

/* It never will be there, or is no more: who opens it cannot have been told. */
static void
rank_that_has_no_such_communicator_is_found_out(void **state)
{
    for (unsigned i = 0; i < 2; i++) {
        const bool was_open = i == 1;
        const uint64_t begin_ns = clock_now_ns();
        int32_t value = 1;

        if (was_open)
            context_close(late_context_open(&engine_pair.sides[0]));
        struct comm_context *context = late_context_open(&engine_pair.sides[1]);
        assert_int_equal(sum_run(context, &value, 1), HOOP_E_PEER_LOST);
        assert_true(says("rank 0 (host:40) has freed the communicator, or "
                         "given it up"));
        assert_true(clock_now_ns() - begin_ns < SOON_NS);
        context_close(context);
    }
}

/* It is asked after what it may open yet, and then does. */
static void
rank_that_still_forms_a_communicator_is_waited_for(void **state)
{
    struct comm_context *contexts[2];
    int32_t values[] = {1, 2};
    struct op *op = NULL;

    engine_expect_context(engine_pair.sides[0].engine);
    contexts[1] = late_context_open(&engine_pair.sides[1]);
    assert_ok(sum_start(contexts[1], &values[1], 1, &op));
    assert_int_equal(engine_wait(op, clock_deadline_ns(400)), HOOP_E_PENDING);
    contexts[0] = late_context_open(&engine_pair.sides[0]);
    assert_ok(sum_run(contexts[0], &values[0], 1));
    assert_ok(engine_wait(op, patience()));
    assert_int_equal(values[1], 3);
    for (int i = 0; i < 2; i++)
        context_close(contexts[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_BACKGROUND_TEST(ranks_that_both_wait_find_out),
        SIDES_BACKGROUND_TEST(rank_that_had_nothing_to_send_is_found_out),
        ENGINE_PAIR_BACKGROUND_TEST(rank_that_has_left_is_found_out),
        ENGINE_PAIR_BACKGROUND_TEST(rank_that_leaves_meanwhile_is_found_out),
        ENGINE_PAIR_BACKGROUND_TEST(deadline_tells_what_the_other_is_in),
        ENGINE_PAIR_BACKGROUND_TEST(
            deadline_tells_of_a_rank_that_is_in_no_call),
        ENGINE_PAIR_BACKGROUND_TEST(rank_that_opens_what_is_revoked_finds_out),
        ENGINE_PAIR_BACKGROUND_TEST(
            rank_that_has_no_such_communicator_is_found_out),
        ENGINE_PAIR_BACKGROUND_TEST(
            rank_that_still_forms_a_communicator_is_waited_for),
        cmocka_unit_test(rank_that_is_still_checking_is_no_mismatch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
