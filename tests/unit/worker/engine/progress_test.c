/* tests/unit/worker/engine/progress_test.c - engine/progress.c and wait.c,
 * with threads */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/op.h"
#include "engine/progress.h"
#include "engine/state.h"
#include "engine_pair_fixture.h"
#include "unbounded_sleep.h"

static struct comm_context *
context_at(uint32_t rank, unsigned i)
{
    return engine_pair.sides[rank].comms[i].context;
}

/* From rank to the other one; small enough to go at once. */
static void
send_small(uint32_t rank, uint64_t tag, const char *text)
{
    struct op *op = NULL;

    assert_ok(send_start(context_at(rank, 0), text, strlen(text), tag, &op));
    assert_ok(engine_wait(op, patience()));
}

static void
wait_that_is_too_short_is_pending_and_the_op_lives_on(void **state)
{
    char text[8] = "";
    struct op *op = NULL;

    assert_ok(receive_start(context_at(0, 0), text, 7, 1, &op));
    assert_int_equal(engine_wait(op, 0), HOOP_E_PENDING);
    assert_int_equal(engine_wait(op, clock_deadline_ns(5)), HOOP_E_PENDING);
    send_small(1, 1, "hello");
    assert_ok(engine_wait(op, patience()));
    assert_string_equal(text, "hello");
}

static void
wait_of_none_moves_what_can_move(void **state)
{
    const uint64_t until_ns = patience();
    char text[8] = "";
    struct op *op = NULL;
    enum hoop_status status = HOOP_E_PENDING;

    send_small(1, 1, "here");
    assert_ok(receive_start(context_at(0, 0), text, 7, 1, &op));
    while (status == HOOP_E_PENDING && !clock_is_past(until_ns))
        status = engine_wait(op, 0);
    assert_ok(status);
    assert_string_equal(text, "here");
}

static void
work_that_is_left_behind_is_told(void **state)
{
    char text[8] = "";
    struct op *op = NULL;

    assert_int_equal(engine_progress_background(engine_pair.sides[0].engine),
                     ENGINE_PROGRESS_NONE);
    atomic_store(&engine_pair.sides[0].n_abandoned, 0);
    assert_ok(receive_start(context_at(0, 0), text, 7, 1, &op));
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_abandoned), 1);
    assert_int_equal(engine_wait(op, 0), HOOP_E_PENDING);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_abandoned), 2);
    send_small(1, 1, "x");
    assert_ok(engine_wait(op, patience()));
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_abandoned), 2);
}

/* Fills the socket, which rank 1 does not read. */
static void
fill_socket(int fd)
{
    static const char bytes[4096];

    while (write(fd, bytes, sizeof(bytes)) > 0)
        ;
}

static unsigned
n_told_at_a_release(void)
{
    struct side *side = &engine_pair.sides[0];

    atomic_store(&side->n_abandoned, 0);
    assert_true(progress_try_acquire(side->engine));
    progress_release(side->engine);
    return atomic_load(&side->n_abandoned);
}

/* No operation waits for them: they may be a failure notice. */
static void
bytes_that_a_full_socket_has_not_taken_are_told(void **state)
{
    const struct frame frame = {.kind = FRAME_HEARTBEAT, .epoch = 7};
    struct engine *engine = engine_pair.sides[0].engine;
    const uint64_t until_ns = patience();
    char bytes[4096];

    fill_socket(engine_pair.fds[0]);
    engine_add_shm_connection(engine, 1, engine_pair.fds[0], NULL);
    engine_pair.fds[0] = -1;
    while (engine_progress_background(engine) == ENGINE_PROGRESS_MORE)
        ;
    assert_int_equal(n_told_at_a_release(), 0);
    transport_send_control(engine->transport, 1, &frame, NULL);
    assert_int_equal(n_told_at_a_release(), 1);
    assert_int_equal(n_told_at_a_release(), 1);
    while (n_told_at_a_release() > 0 && !clock_is_past(until_ns)) {
        while (read(engine_pair.fds[1], bytes, sizeof(bytes)) > 0)
            ;
        engine_progress_background(engine);
    }
    assert_int_equal(n_told_at_a_release(), 0);
}

struct waiting {
    struct op *op;
    uint64_t deadline_ns;
    enum hoop_status status;
    pthread_t thread;
};

static void *
waiting_run(void *owner)
{
    struct waiting *waiting = owner;

    waiting->status = engine_wait(waiting->op, waiting->deadline_ns);
    return NULL;
}

static void
waiting_start(struct waiting *waiting)
{
    assert_int_equal(
        pthread_create(&waiting->thread, NULL, waiting_run, waiting), 0);
}

/* No background here: if nobody were named, the others would sleep on. */
static void
driver_that_gives_up_names_a_successor(void **state)
{
    struct waiting waits[ENGINE_PAIR_CONTEXTS] = {0};
    char texts[ENGINE_PAIR_CONTEXTS][8] = {0};

    for (unsigned i = 0; i < ENGINE_PAIR_CONTEXTS; i++) {
        assert_ok(
            receive_start(context_at(0, 0), texts[i], 7, i, &waits[i].op));
        /* The first to wait drives, and is the first to go. */
        waits[i].deadline_ns =
            i == 0 ? clock_deadline_ns(30) : clock_deadline_ns(20000);
        waiting_start(&waits[i]);
    }
    pthread_join(waits[0].thread, NULL);
    assert_int_equal(waits[0].status, HOOP_E_PENDING);
    for (unsigned i = 1; i < ENGINE_PAIR_CONTEXTS; i++) {
        send_small(1, i, "late");
        pthread_join(waits[i].thread, NULL);
        assert_ok(waits[i].status);
        assert_string_equal(texts[i], "late");
    }
    send_small(1, 0, "last");
    assert_ok(engine_wait(waits[0].op, patience()));
    assert_string_equal(texts[0], "last");
}

/* The owner sleeps, since nothing comes for it. */
static void
owner_that_sleeps_begins_what_another_thread_hands_in(void **state)
{
    struct engine *engine = engine_pair.sides[0].engine;
    struct waiting waiting = {.deadline_ns = patience()};
    const uint64_t until_ns = patience();
    char text[8] = "";
    int32_t value = 1;
    struct op *op = NULL;

    assert_ok(receive_start(context_at(0, 0), text, 7, 1, &waiting.op));
    atomic_store(&unbounded_sleep_ignores_deadlines, true);
    waiting_start(&waiting);
    while (!atomic_load(&engine->progress.is_sleeping))
        assert_false(clock_is_past(until_ns));
    assert_ok(sum_start(engine_pair.sides[0].alone.context, &value, 1, &op));
    const uint64_t begun_by_ns = clock_deadline_ns(10000);
    while (!atomic_load(&op->run.is_done) && !clock_is_past(begun_by_ns))
        ;
    const bool is_begun = atomic_load(&op->run.is_done);
    atomic_store(&unbounded_sleep_ignores_deadlines, false);
    send_small(1, 1, "late");
    pthread_join(waiting.thread, NULL);
    assert_ok(waiting.status);
    assert_ok(engine_wait(op, patience()));
    assert_true(is_begun);
}

/* Four threads a side, each on a communicator of its own. */
enum {
    N_ROUNDS = 100,
    N_VALUES = 500,
};

struct worker {
    struct comm_context *context;
    pthread_t thread;
    int line;
};

static int
sum_rounds(struct comm_context *context)
{
    int32_t values[N_VALUES];
    const int32_t mine = 1 + (int32_t)context_rank(context);

    for (int32_t round = 0; round < N_ROUNDS; round++) {
        for (int32_t i = 0; i < N_VALUES; i++)
            values[i] = mine * (i + round);
        SIDE_CHECK(sum_run(context, values, N_VALUES) == HOOP_OK);
        for (int32_t i = 0; i < N_VALUES; i++)
            SIDE_CHECK(values[i] == 3 * (i + round));
    }
    return 0;
}

static void *
worker_run(void *owner)
{
    struct worker *worker = owner;

    worker->line = sum_rounds(worker->context);
    return NULL;
}

static void
run_workers(void)
{
    struct worker workers[2][ENGINE_PAIR_CONTEXTS];

    for (uint32_t rank = 0; rank < 2; rank++) {
        for (unsigned i = 0; i < ENGINE_PAIR_CONTEXTS; i++) {
            workers[rank][i].context = context_at(rank, i);
            assert_int_equal(pthread_create(&workers[rank][i].thread, NULL,
                                            worker_run, &workers[rank][i]),
                             0);
        }
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (unsigned i = 0; i < ENGINE_PAIR_CONTEXTS; i++)
            pthread_join(workers[rank][i].thread, NULL);
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        for (unsigned i = 0; i < ENGINE_PAIR_CONTEXTS; i++)
            assert_int_equal(workers[rank][i].line, 0);
    }
}

static void
four_waiting_threads_hand_the_right_to_each_other(void **state)
{
    struct engine_stats stats;

    run_workers();
    engine_stats(engine_pair.sides[0].engine, &stats);
    assert_int_equal(stats.operations, N_ROUNDS * ENGINE_PAIR_CONTEXTS);
}

static void
four_waiting_threads_get_on_with_a_background(void **state)
{
    engine_pair_start_backgrounds(&engine_pair);
    run_workers();
}

enum {
    N_MESSAGES = 300,
};

/* Hands in all of them before it waits for any. */
static int
post_messages(struct comm_context *context)
{
    static const char bytes[64] = "mail";
    struct op *ops[N_MESSAGES];

    for (unsigned i = 0; i < N_MESSAGES; i++)
        SIDE_CHECK(send_start(context, bytes, 64, 5, &ops[i]) == HOOP_OK);
    for (unsigned i = 0; i < N_MESSAGES; i++)
        SIDE_CHECK(engine_wait(ops[i], patience()) == HOOP_OK);
    return 0;
}

static void *
poster_run(void *owner)
{
    struct worker *worker = owner;

    worker->line = post_messages(worker->context);
    return NULL;
}

static void
submit_queue_takes_what_four_threads_hand_in(void **state)
{
    struct worker posters[4];
    char text[64];

    for (unsigned i = 0; i < 4; i++) {
        posters[i].context = context_at(0, i % 2);
        assert_int_equal(
            pthread_create(&posters[i].thread, NULL, poster_run, &posters[i]),
            0);
    }
    for (unsigned i = 0; i < 4 * N_MESSAGES; i++) {
        struct op *op = NULL;

        assert_ok(receive_start(context_at(1, i % 2), text, 64, 5, &op));
        assert_ok(engine_wait(op, patience()));
        assert_string_equal(text, "mail");
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(posters[i].thread, NULL);
        assert_int_equal(posters[i].line, 0);
    }
}

/* An idle turn that ends just as an operation is handed in must not leave it
 * lying: the starter counts on the progress owner. */
struct idler {
    struct engine *engine;
    atomic_bool is_wanted;
    atomic_bool is_over;
    pthread_t thread;
};

static void *
idler_run(void *owner)
{
    struct idler *idler = owner;

    while (!atomic_load(&idler->is_over)) {
        if (!atomic_exchange(&idler->is_wanted, false))
            continue;
        while (engine_progress_background(idler->engine) ==
               ENGINE_PROGRESS_MORE)
            ;
    }
    return NULL;
}

static void
op_handed_in_at_the_end_of_an_idle_turn_is_begun(void **state)
{
    struct idler idler = {.engine = engine_pair.sides[0].engine};
    struct comm_context *alone = engine_pair.sides[0].alone.context;
    bool is_begun = true;
    int32_t value = 1;

    assert_int_equal(pthread_create(&idler.thread, NULL, idler_run, &idler), 0);
    for (unsigned i = 0; i < 20000 && is_begun; i++) {
        const uint64_t until_ns = clock_deadline_ns(5000);
        struct op *op = NULL;

        atomic_store(&idler.is_wanted, true);
        for (volatile unsigned k = 0; k < i % 97; k++)
            ;
        assert_ok(sum_start(alone, &value, 1, &op));
        while (!atomic_load(&op->run.is_done) && !clock_is_past(until_ns))
            ;
        is_begun = atomic_load(&op->run.is_done);
        assert_ok(engine_wait(op, patience()));
    }
    atomic_store(&idler.is_over, true);
    pthread_join(idler.thread, NULL);
    assert_true(is_begun);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(wait_that_is_too_short_is_pending_and_the_op_lives_on),
        ENGINE_PAIR_TEST(wait_of_none_moves_what_can_move),
        ENGINE_PAIR_TEST(work_that_is_left_behind_is_told),
        ENGINE_PAIR_UNCONNECTED_TEST(
            bytes_that_a_full_socket_has_not_taken_are_told),
        ENGINE_PAIR_TEST(driver_that_gives_up_names_a_successor),
        ENGINE_PAIR_TEST(owner_that_sleeps_begins_what_another_thread_hands_in),
        ENGINE_PAIR_TEST(four_waiting_threads_hand_the_right_to_each_other),
        ENGINE_PAIR_TEST(four_waiting_threads_get_on_with_a_background),
        ENGINE_PAIR_TEST(submit_queue_takes_what_four_threads_hand_in),
        ENGINE_PAIR_TEST(op_handed_in_at_the_end_of_an_idle_turn_is_begun),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
