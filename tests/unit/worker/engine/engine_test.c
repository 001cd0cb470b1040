/* tests/unit/worker/engine/engine_test.c - engine/engine.c */

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "allocation.h"
#include "base/clock.h"
#include "base/error.h"
#include "default_config.h"
#include "engine/failure/failure_detector.h"
#include "engine/state.h"
#include "engine_pair_fixture.h"

/* The operation that the kernel refuses, and its error; 0: it refuses none. */
static int refused_operation;
static int refused_error;

int
epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
    int (*next)(int, int, int, struct epoll_event *);

    if (refused_operation == operation) {
        errno = refused_error;
        return -1;
    }
    *(void **)&next = dlsym(RTLD_NEXT, "epoll_ctl");
    return next(epoll_fd, operation, fd, event);
}

static struct comm_context *
context_at(uint32_t rank, unsigned i)
{
    return engine_pair.sides[rank].comms[i].context;
}

static void
connect_returns_when_the_connection_is_there(void **state)
{
    engine_pair_connect(&engine_pair);
    assert_ok(engine_connect(engine_pair.sides[0].engine, 1, patience()));
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_needed), 0);
}

static void
connect_in_vain_is_a_timeout_that_names_the_rank(void **state)
{
    assert_int_equal(
        engine_connect(engine_pair.sides[0].engine, 1, clock_deadline_ns(10)),
        HOOP_E_TIMEOUT);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_needed), 1);
    assert_non_null(strstr(error_text(), "rank 1 (host:41)"));
}

static void
connect_to_the_unreachable_says_why(void **state)
{
    engine_report_unreachable(engine_pair.sides[0].engine, 1,
                              "connection refused");
    assert_int_equal(engine_connect(engine_pair.sides[0].engine, 1, patience()),
                     HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "rank 1 (host:41) is lost"));
    assert_non_null(strstr(error_text(), "connection refused"));
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 1);
    assert_string_equal(engine_pair.sides[0].why,
                        "connection refused, reported by rank 0 (host:40)");
}

static void
rank_declared_dead_ends_what_needs_it_and_what_comes(void **state)
{
    struct engine *engine = engine_pair.sides[0].engine;
    int32_t value = 1;
    struct op *op = NULL;

    engine_pair_connect(&engine_pair);
    assert_ok(sum_start(context_at(0, 0), &value, 1, &op));
    engine_declare_dead(engine, 1, "its lease has expired");
    engine_declare_dead(engine, 1, "twice");
    assert_int_equal(engine_wait(op, patience()), HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "allreduce #1"));
    assert_non_null(strstr(error_text(), "its lease has expired"));
    assert_int_equal(sum_run(context_at(0, 1), &value, 1), HOOP_E_PEER_LOST);
    assert_non_null(strstr(error_text(), "rank 1 (host:41) is lost"));
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 1);
    /* Who is alone needs nobody. */
    assert_ok(sum_run(engine_pair.sides[0].alone.context, &value, 1));
    assert_int_equal(value, 1);
}

static void
leave_ends_what_runs_and_what_comes(void **state)
{
    char bytes[4];
    int32_t value = 1;
    struct op *op = NULL;

    engine_pair_connect(&engine_pair);
    assert_ok(receive_start(context_at(0, 0), bytes, 4, 1, &op));
    engine_shutdown(engine_pair.sides[0].engine, clock_deadline_ns(0));
    assert_int_equal(engine_wait(op, patience()), HOOP_E_CLOSED);
    assert_non_null(strstr(error_text(), "being left"));
    assert_int_equal(sum_run(context_at(0, 0), &value, 1), HOOP_E_CLOSED);
}

struct waiting {
    struct op *op;
    enum hoop_status status;
};

static void *
waiting_run(void *argument)
{
    struct waiting *waiting = argument;

    waiting->status = engine_wait(waiting->op, patience());
    return NULL;
}

/* It would own progress until its operation ends. */
static void
leave_ends_the_wait_of_a_thread_that_owns_progress(void **state)
{
    struct engine *engine = engine_pair.sides[0].engine;
    struct waiting waiting = {0};
    pthread_t thread;
    char bytes[4];

    engine_pair_connect(&engine_pair);
    assert_ok(receive_start(context_at(0, 0), bytes, 4, 1, &waiting.op));
    assert_int_equal(pthread_create(&thread, NULL, waiting_run, &waiting), 0);
    while (!atomic_load(&engine->progress.is_sleeping))
        sched_yield();
    engine_shutdown(engine, clock_deadline_ns(0));
    pthread_join(thread, NULL);
    assert_int_equal(waiting.status, HOOP_E_CLOSED);
}

static int
side_leave(struct side *side)
{
    const uint64_t begin_ns = clock_now_ns();

    engine_shutdown(side->engine, patience());
    /* Both goodbyes were answered; nobody waited for a deadline. */
    SIDE_CHECK(clock_now_ns() - begin_ns < 20 * CLOCK_NS_PER_S);
    SIDE_CHECK(atomic_load(&side->n_lost) == 0);
    return 0;
}

static int
side_sum_and_leave(struct side *side)
{
    int32_t value = 5;

    SIDE_CHECK(sum_run(side->comms[0].context, &value, 1) == HOOP_OK);
    SIDE_CHECK(value == 10);
    return side_leave(side);
}

static void
both_leave_in_good_order(void **state)
{
    engine_pair_connect(&engine_pair);
    engine_pair_run(&engine_pair, side_sum_and_leave);
}

/* The other's goodbye may come before this one has looked at the connection. */
static int
side_connect_late(struct side *side)
{
    char bytes[4];
    struct op *op = NULL;

    if (side->rank == 1)
        return side_leave(side);
    SIDE_CHECK(receive_start(side->comms[0].context, bytes, 4, 1, &op) ==
               HOOP_OK);
    SIDE_CHECK(engine_wait(op, patience()) == HOOP_E_PEER_LOST);
    SIDE_CHECK(engine_connect(side->engine, 1, patience()) == HOOP_OK);
    return side_leave(side);
}

static void
connect_to_one_that_has_left_is_no_failure(void **state)
{
    engine_pair_connect(&engine_pair);
    engine_pair_run(&engine_pair, side_connect_late);
}

static void
context_tells_what_it_was_opened_with(void **state)
{
    assert_int_equal(context_rank(context_at(1, 0)), 1);
    assert_int_equal(context_size(context_at(1, 0)), 2);
    assert_int_equal(context_size(engine_pair.sides[1].alone.context), 1);
}

static void
context_with_nothing_running_may_close(void **state)
{
    static const uint32_t ranks[] = {0, 1};
    const struct context_options options = {
        .id = 77, .rank = 0, .size = 2, .ranks = ranks, .timeout_ms = 1000};
    struct comm_context *context = NULL;

    assert_ok(context_open(engine_pair.sides[0].engine, &options, &context));
    context_close(context);
}

static void
engine_destroyed_early_closes_what_it_was_given(void **state)
{
    char byte;

    engine_pair_open(&engine_pair);
    engine_add_connection(engine_pair.sides[0].engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    engine_declare_dead(engine_pair.sides[0].engine, 1, "nobody reads this");
    engine_destroy(engine_pair.sides[0].engine);
    engine_pair.sides[0].engine = NULL;
    assert_int_equal(recv(engine_pair.fds[1], &byte, 1, 0), 0);
    engine_pair_close(&engine_pair);
    engine_destroy(NULL);
}

/* Nothing but its own is closed: descriptor 0 is somebody's. */
static void
engine_without_memory_leaves_all_as_it_was(void **state)
{
    struct roster *roster = NULL;
    struct engine *engine = NULL;
    enum hoop_status status = HOOP_E_EXHAUSTED;
    struct config config;

    assert_ok(roster_create(3, &roster));
    default_config_init(&config);
    for (unsigned n = 1; status != HOOP_OK; n++) {
        calloc_refuse_nth(n);
        status = engine_create(
            &(struct engine_options){.roster = roster, .config = &config},
            &engine);
        calloc_refuse_nth(0);
        assert_true(status == HOOP_OK || status == HOOP_E_EXHAUSTED);
        assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
    }
    engine_destroy(engine);
    roster_destroy(roster);
}

/* Start a sum of the ranks 0, 1 and 2 on either side, which rank 2 never
 * joins. */
static void
sums_of_three_start(struct op *ops[2])
{
    static const uint32_t ranks[] = {0, 1, 2};
    static int32_t values[2][100];

    for (uint32_t i = 0; i < 2; i++) {
        const struct context_options options = {
            .id = 5, .rank = i, .size = 3, .ranks = ranks, .timeout_ms = 30000};
        struct comm_context *context;

        assert_ok(
            context_open(engine_pair.sides[i].engine, &options, &context));
        assert_ok(sum_start(context, values[i], 100, &ops[i]));
    }
}

/* Rank 1 sends what rank 0 does not expect and has no memory for. The others
 * learn that rank 0 is lost, whatever they do with it. */
static void
memory_lack_is_laid_on_the_rank_that_has_it(void **state)
{
    struct side *sides = engine_pair.sides;
    char bytes[3][4] = {""};
    struct op *waiting, *sent, *received;
    struct op *sums[2];

    for (int is_of_its_bytes = 0; is_of_its_bytes < 2; is_of_its_bytes++) {
        engine_pair_open(&engine_pair);
        engine_pair_connect(&engine_pair);
        sums_of_three_start(sums);
        assert_ok(receive_start(context_at(0, 0), bytes[0], 4, 1, &waiting));
        engine_progress_background(sides[0].engine);
        assert_ok(send_start(context_at(1, 0), bytes[1], 4, 2, &sent));
        assert_ok(receive_start(context_at(1, 0), bytes[2], 4, 3, &received));
        assert_ok(engine_wait(sent, patience()));

        if (is_of_its_bytes)
            malloc_refuse();
        else
            calloc_refuse_nth(1);
        engine_progress_background(sides[0].engine);
        malloc_allow();
        calloc_refuse_nth(0);
        assert_int_equal(engine_wait(waiting, patience()), HOOP_E_EXHAUSTED);
        assert_int_equal(error_failure_details()->rank, 0);
        assert_non_null(strstr(error_text(), "rank 0 (host:40) gave up: it had "
                                             "no memory for unexpected "
                                             "messages"));
        assert_int_equal(atomic_load(&sides[0].n_lost), 1);
        assert_int_equal(sides[0].evidence, EVIDENCE_GIVEN_UP);
        assert_non_null(strstr(sides[0].why, "it had no memory"));

        /* Without any memory it cannot tell the others, who see only that
         * their connections to it end. */
        const enum hoop_status told =
            is_of_its_bytes ? HOOP_E_PEER_LOST : HOOP_E_RANK_FAILED;
        assert_int_equal(engine_wait(received, patience()), told);
        assert_int_equal(error_failure_details()->rank, 0);
        assert_non_null(
            strstr(error_text(), is_of_its_bytes
                                     ? "rank 0 (host:40) is lost: "
                                     : "rank 0 (host:40) gave up: it had no "
                                       "memory for unexpected messages"));
        assert_int_equal(engine_wait(sums[0], patience()), HOOP_E_EXHAUSTED);
        assert_int_equal(engine_wait(sums[1], patience()), told);
        assert_int_equal(error_failure_details()->rank, 0);
        engine_pair_close(&engine_pair);
    }
}

/* Nobody needs the connection: this rank goes on. */
static void
memory_lack_for_a_lost_rank_is_no_failure(void **state)
{
    struct engine *engine = engine_pair.sides[0].engine;

    engine_pair_connect(&engine_pair);
    engine_declare_dead(engine, 1, "its lease has expired");
    engine_progress_background(engine);
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 1);
    engine_fail_without_memory(engine, 1, "no memory for a frame");
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 1);
}

static void
rank_0_has_given_up(const char *why)
{
    assert_int_equal(error_failure_details()->rank, 0);
    assert_non_null(strstr(error_text(), "rank 0 (host:40) gave up: it had no "
                                         "epoll watch for a descriptor: "));
    assert_non_null(strstr(error_text(), why));
    assert_int_equal(atomic_load(&engine_pair.sides[0].n_lost), 1);
    assert_int_equal(engine_pair.sides[0].evidence, EVIDENCE_GIVEN_UP);
    assert_false(engine_pair.sides[0].engine->liveness.ranks[1].is_lost);
}

static void
connection_that_cannot_be_watched_is_no_loss_of_its_rank(void **state)
{
    struct engine *engine = engine_pair.sides[0].engine;
    int32_t value = 1;
    struct op *op = NULL;

    assert_ok(sum_start(context_at(0, 0), &value, 1, &op));
    engine_progress_background(engine);
    engine_add_connection(engine, 1, engine_pair.fds[0]);
    engine_pair.fds[0] = -1;
    refused_operation = EPOLL_CTL_ADD;
    refused_error = ENOSPC;
    engine_progress_background(engine);
    refused_operation = 0;
    assert_int_equal(engine_wait(op, patience()), HOOP_E_EXHAUSTED);
    rank_0_has_given_up("fs.epoll.max_user_watches");
}

/* More than the socket takes: what is left waits until it can be written. */
static void
full_connection_that_cannot_be_watched_is_no_loss_of_its_rank(void **state)
{
    static char bytes[LIMIT_EAGER_MESSAGE / 2];
    const int n_bytes_max = 16384;
    enum hoop_status status = HOOP_OK;
    struct op *received = NULL;

    assert_int_equal(setsockopt(engine_pair.fds[0], SOL_SOCKET, SO_SNDBUF,
                                &n_bytes_max, sizeof(n_bytes_max)),
                     0);
    for (unsigned i = 0; i < 2; i++) {
        engine_add_connection(engine_pair.sides[i].engine, 1 - i,
                              engine_pair.fds[i]);
        engine_pair.fds[i] = -1;
    }
    assert_ok(receive_start(context_at(1, 0), bytes, 4, 3, &received));
    engine_progress_background(engine_pair.sides[1].engine);
    refused_operation = EPOLL_CTL_MOD;
    refused_error = ENOMEM;
    for (unsigned i = 0; i < 8 && status == HOOP_OK; i++) {
        struct op *op = NULL;

        assert_ok(send_start(context_at(0, 0), bytes, sizeof(bytes), 9, &op));
        engine_progress_background(engine_pair.sides[0].engine);
        status = engine_wait(op, patience());
    }
    refused_operation = 0;
    assert_int_equal(status, HOOP_E_EXHAUSTED);
    rank_0_has_given_up("memory");
    /* The connection is full, so the other one sees only its end. */
    assert_int_equal(engine_wait(received, patience()), HOOP_E_PEER_LOST);
    assert_int_equal(error_failure_details()->rank, 0);
}

static void
forked_child_refuses_everything(void **state)
{
    char bytes[4];
    int32_t value = 1;
    struct op *op = NULL;

    engine_mark_forked_child(engine_pair.sides[0].engine);
    assert_int_equal(sum_start(context_at(0, 0), &value, 1, &op),
                     HOOP_E_CLOSED);
    assert_non_null(strstr(error_text(), "forked"));
    assert_int_equal(send_start(context_at(0, 0), bytes, 4, 1, &op),
                     HOOP_E_CLOSED);
    assert_int_equal(receive_start(context_at(0, 0), bytes, 4, 1, &op),
                     HOOP_E_CLOSED);
    assert_null(op);
}

static int
side_count(struct side *side)
{
    int32_t values[100] = {0};
    struct engine_stats stats;

    for (int i = 0; i < 5; i++)
        SIDE_CHECK(sum_run(side->comms[i % 2].context, values, 100) == HOOP_OK);
    engine_stats(side->engine, &stats);
    SIDE_CHECK(stats.operations == 5);
    SIDE_CHECK(stats.transport.bytes_sent >= 5 * 200);
    SIDE_CHECK(stats.transport.connections == 1);
    return 0;
}

static void
stats_count_what_ended_well(void **state)
{
    engine_pair_connect(&engine_pair);
    engine_pair_run(&engine_pair, side_count);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_UNCONNECTED_TEST(
            connect_returns_when_the_connection_is_there),
        ENGINE_PAIR_UNCONNECTED_TEST(
            connect_in_vain_is_a_timeout_that_names_the_rank),
        ENGINE_PAIR_UNCONNECTED_TEST(connect_to_the_unreachable_says_why),
        ENGINE_PAIR_UNCONNECTED_TEST(
            rank_declared_dead_ends_what_needs_it_and_what_comes),
        ENGINE_PAIR_UNCONNECTED_TEST(leave_ends_what_runs_and_what_comes),
        ENGINE_PAIR_UNCONNECTED_TEST(
            leave_ends_the_wait_of_a_thread_that_owns_progress),
        ENGINE_PAIR_UNCONNECTED_TEST(both_leave_in_good_order),
        ENGINE_PAIR_UNCONNECTED_TEST(
            connect_to_one_that_has_left_is_no_failure),
        ENGINE_PAIR_UNCONNECTED_TEST(context_tells_what_it_was_opened_with),
        ENGINE_PAIR_UNCONNECTED_TEST(context_with_nothing_running_may_close),
        cmocka_unit_test(engine_destroyed_early_closes_what_it_was_given),
        cmocka_unit_test(engine_without_memory_leaves_all_as_it_was),
        cmocka_unit_test(memory_lack_is_laid_on_the_rank_that_has_it),
        ENGINE_PAIR_UNCONNECTED_TEST(memory_lack_for_a_lost_rank_is_no_failure),
        ENGINE_PAIR_UNCONNECTED_TEST(
            connection_that_cannot_be_watched_is_no_loss_of_its_rank),
        ENGINE_PAIR_UNCONNECTED_TEST(
            full_connection_that_cannot_be_watched_is_no_loss_of_its_rank),
        ENGINE_PAIR_UNCONNECTED_TEST(forked_child_refuses_everything),
        ENGINE_PAIR_UNCONNECTED_TEST(stats_count_what_ended_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
