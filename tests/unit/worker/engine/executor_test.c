/* tests/unit/worker/engine/executor_test.c - engine/executor.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithms/algorithms.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/context.h"
#include "engine/op.h"
#include "engine/progress.h"
#include "engine/state.h"
#include "engine_pair_fixture.h"

static int
sum_of(struct side *side, size_t count)
{
    int32_t *values = malloc((count + 1) * sizeof(*values));
    int wrong = 0;

    for (size_t i = 0; i < count; i++)
        values[i] = (int32_t)i * (int32_t)(side->rank + 1);
    values[count] = -1;
    SIDE_CHECK(sum_run(side->comms[0].context, values, count) == HOOP_OK);
    for (size_t i = 0; i < count; i++)
        wrong |= values[i] != 3 * (int32_t)i;
    wrong |= values[count] != -1;
    free(values);
    return wrong ? __LINE__ : 0;
}

static int
sums_of_every_size_are_right(struct side *side)
{
    static const size_t counts[] = {0,  1,   2,    15,    16,    17,
                                    31, 255, 4097, 20000, 500001};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        const int line = sum_of(side, counts[i]);
        SIDE_CHECK(line == 0);
    }
    return 0;
}

static int
average_out_of_place_divides_once_and_keeps_the_input(struct side *side)
{
    float input[1000];
    float output[1000];
    struct comm_context *context = side->comms[1].context;
    struct op *op = NULL;
    const struct engine_collective average = {
        .call = {.name = CALL_ALLREDUCE,
                 .dtype = HOOP_FLOAT32,
                 .reduce_op = HOOP_AVG,
                 .count = 1000},
        .algorithm = &algorithm_allreduce_ring,
        .shape = {.rank = side->rank, .size = 2, .count = 1000, .granule = 16},
        .input = input,
        .output = output,
        .mode = ENGINE_START_AND_WAIT,
    };

    for (unsigned i = 0; i < 1000; i++)
        input[i] = (float)(i * (2 * side->rank + 1));
    SIDE_CHECK(engine_start_collective(context, &average, &op) == HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
    for (unsigned i = 0; i < 1000; i++) {
        SIDE_CHECK(output[i] == (float)(2 * i));
        SIDE_CHECK(input[i] == (float)(i * (2 * side->rank + 1)));
    }
    return 0;
}

enum {
    N_OPS = 20,
    N_VALUES = 3000,
};

static int
many_operations_on_one_context_run_at_once(struct side *side)
{
    static int32_t values[2][N_OPS][N_VALUES];
    struct op *ops[N_OPS];

    for (unsigned k = 0; k < N_OPS; k++) {
        for (int32_t i = 0; i < N_VALUES; i++)
            values[side->rank][k][i] = i + (int32_t)k;
        SIDE_CHECK(sum_start(side->comms[0].context, values[side->rank][k],
                             N_VALUES, &ops[k]) == HOOP_OK);
    }
    /* In any order; here the last is waited for first. */
    for (unsigned k = N_OPS; k-- > 0;)
        SIDE_CHECK(engine_wait(ops[k], patience()) == HOOP_OK);
    for (unsigned k = 0; k < N_OPS; k++) {
        for (int32_t i = 0; i < N_VALUES; i++)
            SIDE_CHECK(values[side->rank][k][i] == 2 * (i + (int32_t)k));
    }
    return 0;
}

/* The sanitizer watches what is freed, and that nobody writes later. */
static void
operation_cut_off_in_the_middle_frees_everything(void **state)
{
    enum {
        COUNT = 1 << 20
    };
    int32_t *values = calloc(COUNT, sizeof(*values));
    int32_t *other = calloc(COUNT, sizeof(*other));
    struct op *op = NULL;
    struct op *other_op = NULL;

    assert_ok(
        sum_start(engine_pair.sides[0].comms[0].context, values, COUNT, &op));
    assert_ok(sum_start(engine_pair.sides[1].comms[0].context, other, COUNT,
                        &other_op));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(engine_wait(op, 0), HOOP_E_PENDING);
        assert_int_equal(engine_wait(other_op, 0), HOOP_E_PENDING);
    }
    engine_declare_dead(engine_pair.sides[0].engine, 1, "shot");
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    free(values);
    /* Rank 1 hears of it from rank 0, or sees its stream end. */
    engine_shutdown(engine_pair.sides[0].engine, 0);
    engine_declare_dead(engine_pair.sides[1].engine, 0, "it has gone");
    assert_int_equal(engine_wait(other_op, patience()), HOOP_E_PEER_LOST);
    free(other);
}

static void
rank_alone_copies_or_does_nothing(void **state)
{
    struct comm_context *alone = engine_pair.sides[1].alone.context;
    int32_t values[] = {4, 5, 6};

    assert_ok(sum_run(alone, values, 3));
    assert_int_equal(values[0], 4);
    assert_int_equal(values[2], 6);
    assert_ok(sum_run(alone, NULL, 0));
}

/* Rank 1 gives a block of count elements, and gets two back: one of rank 0's
 * own, and that. */
static uint32_t
there_and_back_n_rounds(const struct plan_shape *shape)
{
    return 2;
}

static void
there_and_back_round(struct plan *plan,
                     const struct plan_shape *shape,
                     uint32_t round)
{
    const size_t count = shape->count;
    const struct plan_span given = {PLAN_OUTPUT, count, count};
    const struct plan_span both = {PLAN_OUTPUT, 0, 2 * count};
    const bool is_sender = (round == 0) == (shape->rank == 1);
    const struct plan_span span = round == 0 ? given : both;

    if (is_sender)
        plan_add_send(plan, 1 - shape->rank, round, span);
    else
        plan_add_store(plan, 1 - shape->rank, round, span);
}

static const struct algorithm there_and_back = {
    .name = "there_and_back",
    .n_rounds = there_and_back_n_rounds,
    .plan_round = there_and_back_round,
};

static struct op *
plan_start(struct side *side,
           const struct algorithm *algorithm,
           uint8_t *bytes,
           size_t count)
{
    struct op *op = NULL;
    const struct engine_collective collective = {
        .call = {.name = CALL_ALLGATHER, .dtype = HOOP_UINT8, .count = count},
        .algorithm = algorithm,
        .shape = {.rank = side->rank, .size = 2, .count = count, .granule = 1},
        .input = bytes,
        .output = bytes,
        .mode = ENGINE_START,
    };

    assert_ok(
        engine_start_collective(side->comms[0].context, &collective, &op));
    return op;
}

/* What rank 0 sends before rank 1 has given anything, and what of it is not
 * right in the end. */
static uint64_t
bytes_sent_ahead(size_t count)
{
    uint8_t *bytes[2] = {calloc(2, count), calloc(2, count)};
    struct engine_stats stats;

    bytes[0][count - 1] = 5;
    bytes[1][2 * count - 1] = 6;
    struct op *op =
        plan_start(&engine_pair.sides[0], &there_and_back, bytes[0], count);
    engine_stats(engine_pair.sides[0].engine, &stats);
    struct op *other =
        plan_start(&engine_pair.sides[1], &there_and_back, bytes[1], count);
    while (engine_wait(op, 0) == HOOP_E_PENDING)
        (void)engine_wait(other, 0);
    assert_ok(engine_wait(other, patience()));
    assert_int_equal(bytes[1][count - 1], 5);
    assert_memory_equal(bytes[0], bytes[1], 2 * count);
    free(bytes[0]);
    free(bytes[1]);
    return stats.transport.bytes_sent;
}

/* Rank 1 gives a block, and gets it back. */
static void
echo_round(struct plan *plan, const struct plan_shape *shape, uint32_t round)
{
    const struct plan_span block = {PLAN_OUTPUT, 0, shape->count};

    if ((round == 0) == (shape->rank == 1))
        plan_add_send(plan, 1 - shape->rank, round, block);
    else
        plan_add_store(plan, 1 - shape->rank, round, block);
}

static const struct algorithm echo = {
    .name = "echo",
    .n_rounds = there_and_back_n_rounds,
    .plan_round = echo_round,
};

/* Also where one byte alone becomes ready at the end. */
static void
every_byte_that_arrived_is_passed_on(void **state)
{
    static const size_t counts[] = {1, 2, LIMIT_FRAME_PAYLOAD + 1};
    const uint64_t until_ns = patience();

    for (unsigned i = 0; i < 3; i++) {
        uint8_t *bytes[2] = {calloc(1, counts[i]), calloc(1, counts[i])};

        bytes[1][counts[i] - 1] = 7;
        struct op *op =
            plan_start(&engine_pair.sides[0], &echo, bytes[0], counts[i]);
        struct op *other =
            plan_start(&engine_pair.sides[1], &echo, bytes[1], counts[i]);
        while (engine_wait(other, 0) == HOOP_E_PENDING) {
            (void)engine_progress_background(engine_pair.sides[0].engine);
            assert_false(clock_is_past(until_ns));
        }
        assert_ok(engine_wait(op, until_ns));
        assert_int_equal(bytes[0][counts[i] - 1], 7);
        assert_memory_equal(bytes[0], bytes[1], counts[i]);
        free(bytes[0]);
        free(bytes[1]);
    }
}

static void
little_message_leaves_when_it_is_complete(void **state)
{
    assert_int_equal(bytes_sent_ahead(4096), 0);
}

static void
large_message_leaves_as_far_as_it_is_ready(void **state)
{
    assert_true(bytes_sent_ahead(100000) > 0);
}

static void
receive_from_any_tells_source_and_count(void **state)
{
    int32_t values[10] = {0};
    const int32_t sent[3] = {5, 6, 7};
    struct hoop_received received = {.source = 99, .count = 99};
    struct op *op = NULL;
    const struct engine_message in = {
        .call = {.name = CALL_RECV, .dtype = HOOP_INT32, .count = 10},
        .tag = 4,
        .peer = HOOP_ANY_SOURCE,
        .bytes = values,
        .received = &received,
    };
    const struct engine_message out = {
        .call = {.name = CALL_SEND, .dtype = HOOP_INT32, .count = 3},
        .tag = 4,
        .peer = 0,
        .bytes = (void *)(uintptr_t)sent,
    };

    assert_ok(engine_start_messages(engine_pair.sides[1].comms[0].context, &out,
                                    1, &op));
    assert_ok(engine_wait(op, patience()));
    assert_ok(engine_start_messages(engine_pair.sides[0].comms[0].context, &in,
                                    1, &op));
    assert_ok(engine_wait(op, patience()));
    assert_int_equal(received.source, 1);
    assert_int_equal(received.count, 3);
    assert_memory_equal(values, sent, sizeof(sent));
    assert_int_equal(values[3], 0);
}

/* Rank 1 has a communicator of both by the id that rank 0 alone has here. */
static void
message_of_no_member_has_no_rank(void **state)
{
    static const uint32_t ranks[] = {0, 1};
    struct hoop_received received = {.source = 99};
    struct comm_context *contexts[2];
    char bytes[4] = "";
    struct op *op = NULL;

    for (uint32_t i = 0; i < 2; i++) {
        const struct context_options options = {.id = 77,
                                                .rank = i,
                                                .size = 1 + i,
                                                .ranks = ranks,
                                                .timeout_ms = 30000};

        assert_ok(
            context_open(engine_pair.sides[i].engine, &options, &contexts[i]));
    }
    const struct engine_message in = {
        .call = {.name = CALL_RECV, .dtype = HOOP_UINT8, .count = 3},
        .tag = 4,
        .peer = HOOP_ANY_SOURCE,
        .bytes = bytes,
        .received = &received,
    };
    assert_ok(send_start(contexts[1], "abc", 3, 4, &op));
    assert_ok(engine_wait(op, patience()));
    assert_ok(engine_start_messages(contexts[0], &in, 1, &op));
    assert_ok(engine_wait(op, patience()));
    assert_string_equal(bytes, "abc");
    assert_int_equal(received.source, HOOP_NO_RANK);
}

static void
message_of_nothing_arrives_with_and_without_a_buffer(void **state)
{
    char bytes[4] = "abc";
    struct op *op = NULL;
    struct op *sent = NULL;

    for (unsigned i = 0; i < 4; i++) {
        char *place = i % 2 ? bytes : NULL;
        struct comm_context *from = engine_pair.sides[1].comms[0].context;
        struct comm_context *to = engine_pair.sides[0].comms[0].context;
        const size_t n_room = i % 2 ? 4 : 0;

        /* Asked for before it comes, then after. */
        if (i < 2)
            assert_ok(receive_start(to, place, n_room, 1, &op));
        assert_ok(send_start(from, NULL, 0, 1, &sent));
        assert_ok(engine_wait(sent, patience()));
        if (i >= 2)
            assert_ok(receive_start(to, place, n_room, 1, &op));
        assert_ok(engine_wait(op, clock_deadline_ns(5000)));
    }
    assert_string_equal(bytes, "abc");
}

/* What comes for a call that has not been made here yet is kept. */
static void
collective_that_the_other_began_earlier_is_joined(void **state)
{
    int32_t first = 1;
    int32_t second = 2;
    struct op *op = NULL;
    struct op *other = NULL;

    assert_ok(sum_start(engine_pair.sides[1].comms[0].context, &first, 1, &op));
    for (unsigned i = 0; i < 3; i++)
        engine_progress_background(engine_pair.sides[0].engine);
    assert_ok(
        sum_start(engine_pair.sides[0].comms[0].context, &second, 1, &other));
    while (engine_wait(op, 0) == HOOP_E_PENDING)
        engine_progress_background(engine_pair.sides[0].engine);
    assert_ok(engine_wait(other, patience()));
    assert_int_equal(first, 3);
    assert_int_equal(second, 3);
}

static int
messages_and_collectives_share_a_context(struct side *side)
{
    static const char text[100000] = "a long one";
    static char bytes[2][100000];
    struct comm_context *context = side->comms[0].context;
    int32_t values[100] = {1};
    struct op *in = NULL;
    struct op *out = NULL;

    /* Messages and collectives of one context do not meet. */
    for (unsigned i = 0; i < 20; i++) {
        SIDE_CHECK(receive_start(context, bytes[side->rank], sizeof(text), 1,
                                 &in) == HOOP_OK);
        values[0] = 1;
        SIDE_CHECK(sum_run(context, values, 100) == HOOP_OK);
        SIDE_CHECK(values[0] == 2);
        SIDE_CHECK(send_start(context, text, sizeof(text), 1, &out) == HOOP_OK);
        SIDE_CHECK(engine_wait(in, patience()) == HOOP_OK);
        SIDE_CHECK(engine_wait(out, patience()) == HOOP_OK);
        SIDE_CHECK(memcmp(bytes[side->rank], text, sizeof(text)) == 0);
    }
    return 0;
}

static void
operations_are_numbered_in_the_order_of_their_start(void **state)
{
    struct comm_context *alone = engine_pair.sides[0].alone.context;
    struct op *ops[5];
    int32_t value = 1;

    for (uint64_t i = 0; i < 5; i++) {
        assert_ok(sum_start(alone, &value, 1, &ops[i]));
        assert_int_equal(ops[i]->run.number, i + 1);
    }
    for (unsigned i = 0; i < 5; i++)
        assert_ok(engine_wait(ops[i], patience()));
}

static void
messages_are_numbered_apart_from_collectives(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    struct op *first = NULL;
    struct op *second = NULL;
    struct op *receive = NULL;
    char bytes[4];

    assert_ok(send_start(context, "a", 1, 1, &first));
    assert_ok(send_start(context, "b", 1, 2, &second));
    assert_int_equal(message_user_number(first->run.number), 1);
    assert_int_equal(message_user_number(second->run.number), 2);
    assert_ok(engine_wait(first, patience()));
    assert_ok(engine_wait(second, patience()));

    context = engine_pair.sides[1].comms[0].context;
    assert_ok(receive_start(context, bytes, 4, 2, &receive));
    assert_ok(engine_wait(receive, patience()));
    assert_int_equal(bytes[0], 'b');
    assert_ok(receive_start(context, bytes, 4, 1, &receive));
    assert_ok(engine_wait(receive, patience()));
    assert_int_equal(bytes[0], 'a');
}

static void
operation_that_needs_nobody_is_done_when_its_start_returns(void **state)
{
    struct comm_context *alone = engine_pair.sides[0].alone.context;
    struct op *op = NULL;
    int32_t value = 3;

    assert_ok(sum_start(alone, &value, 1, &op));
    assert_true(atomic_load(&op->run.is_done));
    assert_ok(engine_wait(op, 0));
    assert_int_equal(value, 3);
}

static void
counts_are_copied_when_an_operation_starts(void **state)
{
    size_t counts[] = {2};
    int32_t input[] = {7, 8};
    int32_t output[] = {0, 0};
    struct op *op = NULL;
    const struct engine_collective gather = {
        .call = {.name = CALL_ALLGATHERV,
                 .dtype = HOOP_INT32,
                 .count = 2,
                 .counts = counts,
                 .n_counts = 1},
        .algorithm = &algorithm_allgather_ring,
        .shape = {.size = 1, .counts = counts, .granule = 16},
        .input = input,
        .output = output,
        /* Not begun before somebody waits. */
        .mode = ENGINE_START_AND_WAIT,
    };

    assert_ok(engine_start_collective(engine_pair.sides[0].alone.context,
                                      &gather, &op));
    assert_false(atomic_load(&op->run.is_done));
    counts[0] = SIZE_MAX;
    assert_ok(engine_wait(op, patience()));
    assert_int_equal(output[0], 7);
    assert_int_equal(output[1], 8);
}

/* A spare keeps nothing of what it did before. */
static void
spare_operation_begins_anew(void **state)
{
    struct comm_context *context = engine_pair.sides[0].comms[0].context;
    struct op *op = NULL;
    int32_t value = 3;

    context_set_timeout(context, 20);
    assert_int_equal(sum_run(context, &value, 1), HOOP_E_TIMEOUT);
    for (unsigned i = 0; i < 3; i++) {
        assert_ok(
            sum_start(engine_pair.sides[0].alone.context, &value, 1, &op));
        assert_ok(engine_wait(op, patience()));
        assert_ok(send_start(context, "x", 1, 1, &op));
        assert_ok(engine_wait(op, patience()));
    }
    assert_int_equal(value, 3);
}

static int
messages_cross_in_both_directions(struct side *side)
{
    struct comm_context *context = side->comms[2].context;

    for (unsigned i = 0; i < 200; i++) {
        char bytes[32] = "";
        char expected[32];
        struct op *in = NULL;
        struct op *out = NULL;

        snprintf(expected, sizeof(expected), "ball %u", i);
        SIDE_CHECK(receive_start(context, bytes, 32, 9, &in) == HOOP_OK);
        SIDE_CHECK(send_start(context, expected, 32, 9, &out) == HOOP_OK);
        SIDE_CHECK(engine_wait(out, patience()) == HOOP_OK);
        SIDE_CHECK(engine_wait(in, patience()) == HOOP_OK);
        SIDE_CHECK(strcmp(bytes, expected) == 0);
    }
    return 0;
}

static int
repeated_sums_are_right(struct side *side)
{
    struct comm_context *context = side->comms[0].context;
    int32_t values[2];
    const struct engine_collective sum = {
        .call = {.name = CALL_ALLREDUCE,
                 .dtype = HOOP_INT32,
                 .reduce_op = HOOP_SUM,
                 .count = 2},
        .algorithm = &algorithm_allreduce_ring,
        .shape = {.rank = side->rank,
                  .size = 2,
                  .is_in_place = true,
                  .count = 2,
                  .granule = 4},
        .input = values,
        .output = values,
    };

    for (int32_t i = 0; i < 50; i++) {
        values[0] = i + (int32_t)side->rank;
        values[1] = -values[0];
        SIDE_CHECK(engine_run_collective(context, &sum) == HOOP_OK);
        SIDE_CHECK(values[0] == 2 * i + 1 && values[1] == -values[0]);
    }
    return 0;
}

/* Returns how many steps of its last call rank did inline. */
static unsigned
n_last_inline_steps(uint32_t rank)
{
    const struct side *side = &engine_pair.sides[rank];

    return side->comms[0].context->cached_op->run.n_inline_steps;
}

/* Over a socket. Frames with checksums are left to operations. */
static void
call_whose_receives_need_an_operation_sends_nothing_before(void **state)
{
    struct config config = engine_pair_config();

    for (unsigned i = 0; i < 2; i++) {
        config.has_frame_checksums = i > 0;
        engine_pair_open_with(&engine_pair,
                              &(struct engine_options){.config = &config});
        for (uint32_t rank = 0; rank < 2; rank++) {
            engine_add_shm_connection(engine_pair.sides[rank].engine, 1 - rank,
                                      engine_pair.fds[rank], NULL);
            engine_pair.fds[rank] = -1;
        }
        engine_pair_run(&engine_pair, repeated_sums_are_right);
        assert_int_equal(n_last_inline_steps(0) + n_last_inline_steps(1) > 0,
                         i == 0);
        engine_pair_close(&engine_pair);
    }
}

/* The ranks are connected only when the calls have begun. HOOP_TRANSPORT says
 * how. */
static void
first_call_is_recorded_with_the_path_of_its_bytes(void **state)
{
    struct side *sides = engine_pair.sides;
    int32_t values[2] = {1, 2};
    struct op *ops[2] = {NULL, NULL};

    for (uint32_t i = 0; i < 2; i++) {
        assert_ok(recorder_create(
            &(struct recorder_options){
                .folder = "", .job = "job", .host = "host", .size = 2},
            &sides[i].engine->recorder));
        assert_ok(sum_start(sides[i].comms[0].context, &values[i], 1, &ops[i]));
    }
    engine_pair_connect(&engine_pair);
    while (!engine_is_op_done(ops[0]) || !engine_is_op_done(ops[1])) {
        progress_poll(sides[0].engine, 0);
        progress_poll(sides[1].engine, 0);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(ops[i]->run.recorded_path,
                         transport_has_ring(sides[i].engine->transport, 1 - i)
                             ? RECORDER_PATH_RING
                             : RECORDER_PATH_SOCKET);
        assert_ok(engine_wait(ops[i], patience()));
        assert_int_equal(values[i], 3);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_TEST(sums_of_every_size_are_right),
        SIDES_TEST(average_out_of_place_divides_once_and_keeps_the_input),
        SIDES_TEST(many_operations_on_one_context_run_at_once),
        cmocka_unit_test(
            call_whose_receives_need_an_operation_sends_nothing_before),
        ENGINE_PAIR_TEST(operation_cut_off_in_the_middle_frees_everything),
        ENGINE_PAIR_TEST(every_byte_that_arrived_is_passed_on),
        ENGINE_PAIR_TEST(little_message_leaves_when_it_is_complete),
        ENGINE_PAIR_TEST(large_message_leaves_as_far_as_it_is_ready),
        ENGINE_PAIR_TEST(rank_alone_copies_or_does_nothing),
        ENGINE_PAIR_TEST(receive_from_any_tells_source_and_count),
        ENGINE_PAIR_TEST(message_of_no_member_has_no_rank),
        ENGINE_PAIR_TEST(message_of_nothing_arrives_with_and_without_a_buffer),
        ENGINE_PAIR_TEST(collective_that_the_other_began_earlier_is_joined),
        SIDES_TEST(messages_and_collectives_share_a_context),
        ENGINE_PAIR_TEST(operations_are_numbered_in_the_order_of_their_start),
        ENGINE_PAIR_TEST(messages_are_numbered_apart_from_collectives),
        ENGINE_PAIR_TEST(
            operation_that_needs_nobody_is_done_when_its_start_returns),
        ENGINE_PAIR_TEST(counts_are_copied_when_an_operation_starts),
        ENGINE_PAIR_TEST(spare_operation_begins_anew),
        ENGINE_PAIR_UNCONNECTED_TEST(
            first_call_is_recorded_with_the_path_of_its_bytes),
        SIDES_TEST(messages_cross_in_both_directions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
