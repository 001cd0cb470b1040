/*
 * tests/fault/ranks/failures_test.c - ranks that die, differ, are late or leave
 *
 * The call of every survivor returns in time, and its error names the culprit.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "ranks.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const size_t LARGE = 2 << 20; /* elements; sanitizers are slow */
#else
static const size_t LARGE = 16 << 20;
#endif
/* This is far below a deadline. The fault matrix tests the promised times. */
static const uint64_t SOON_NS = 10000000000;

/* Waits until all ranks are here. It uses no operation of hoop, so that none is
 * in progress. */
static void
meet(struct rank *rank)
{
    room_add(rank, 10);
    room_await(rank, 10, rank->size);
}

/* The last rank kills itself while all are in the middle of an allreduce. */
static int
killed_rank_is_named_by_all_at_once(struct rank *rank)
{
    const uint32_t culprit = rank->size - 1;
    float *data = calloc(LARGE, sizeof(*data));
    _Atomic uint64_t *killed_ns = (_Atomic uint64_t *)(rank->room + 2);
    enum hoop_status status = HOOP_OK;
    hoop_op_t *op;

    /* Compressible data would be so few bytes that the allreduce would end
     * before the kill. */
    for (size_t i = 0; i < LARGE; i++)
        data[i] = (float)((uint32_t)i * 2654435761U);
    /* The first allreduce warms up, so that the next one is in full progress
     * when the rank dies. */
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, data, LARGE, HOOP_FLOAT32,
                              HOOP_SUM, rank->comm) == HOOP_OK);
    meet(rank);
    /* On a busy machine an allreduce may end before the wait does; then the
     * next one is used. */
    while (rank->rank == culprit && status == HOOP_OK) {
        RANK_CHECK(hoop_allreduce_start(HOOP_IN_PLACE, data, LARGE,
                                        HOOP_FLOAT32, HOOP_SUM, rank->comm,
                                        &op) == HOOP_OK);
        status = hoop_wait(op, 2);
        *killed_ns = clock_now_ns();
    }
    if (status == HOOP_E_PENDING)
        kill(getpid(), SIGKILL);
    while (status == HOOP_OK)
        status = hoop_allreduce(HOOP_IN_PLACE, data, LARGE, HOOP_FLOAT32,
                                HOOP_SUM, rank->comm);
    RANK_CHECK(status == HOOP_E_PEER_LOST);
    RANK_CHECK(clock_now_ns() - *killed_ns < SOON_NS);
    RANK_CHECK(error_names(rank, culprit));
    RANK_CHECK(error_says("allreduce #"));
    RANK_CHECK(error_says("(float32, ") && error_says(" elements, sum)"));

    /* Every later call fails at once, too. */
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_E_PEER_LOST);
    RANK_CHECK(error_names(rank, culprit));
    free(data);
    return 0;
}

/* Between two operations no rank waits, so the background thread must notice
 * the death and report it. */
static int
rank_killed_between_operations_is_named(struct rank *rank)
{
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    meet(rank);
    if (rank->rank == 1)
        kill(getpid(), SIGKILL);
    if (rank->rank == 0) {
        RANK_CHECK(hoop_barrier(rank->comm) == HOOP_E_PEER_LOST);
        RANK_CHECK(error_names(rank, 1));
        room_add(rank, 0);
    }
    room_await(rank, 0, 1);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_E_PEER_LOST);
    RANK_CHECK(error_names(rank, 1));
    return 0;
}

static int
receive_fails_when_its_sender_dies(struct rank *rank)
{
    float x;

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    meet(rank);
    if (rank->rank == 1)
        kill(getpid(), SIGKILL);
    RANK_CHECK(hoop_recv(&x, 1, HOOP_FLOAT32,
                         rank->rank == 0 ? 1 : HOOP_ANY_SOURCE, 1, rank->comm,
                         NULL) == HOOP_E_PEER_LOST);
    RANK_CHECK(error_names(rank, 1));
    return 0;
}

/* One rank's call differs from the others, and the errors on both sides name
 * both. */
enum difference {
    DIFFERENT_NAME,
    DIFFERENT_COUNT,
    DIFFERENT_DTYPE,
    DIFFERENT_OP,
    DIFFERENT_ROOT,
    DIFFERENCES,
};

static enum hoop_status
call_differently(struct rank *rank, enum difference difference, float *data)
{
    const bool is_odd_one = rank->rank == rank->size - 1;

    switch (is_odd_one ? difference : DIFFERENCES) {
    case DIFFERENT_NAME:
        return hoop_broadcast(HOOP_IN_PLACE, data, 100, HOOP_FLOAT32, 0,
                              rank->comm);
    case DIFFERENT_COUNT:
        return hoop_allreduce(HOOP_IN_PLACE, data, 101, HOOP_FLOAT32, HOOP_SUM,
                              rank->comm);
    case DIFFERENT_DTYPE:
        return hoop_allreduce(HOOP_IN_PLACE, data, 100, HOOP_INT32, HOOP_SUM,
                              rank->comm);
    case DIFFERENT_OP:
        return hoop_allreduce(HOOP_IN_PLACE, data, 100, HOOP_FLOAT32, HOOP_MAX,
                              rank->comm);
    case DIFFERENT_ROOT:
        return hoop_reduce(HOOP_IN_PLACE, data, 100, HOOP_FLOAT32, HOOP_SUM, 1,
                           rank->comm);
    case DIFFERENCES:
        break;
    }
    if (difference == DIFFERENT_ROOT)
        return hoop_reduce(HOOP_IN_PLACE, data, 100, HOOP_FLOAT32, HOOP_SUM, 0,
                           rank->comm);
    return hoop_allreduce(HOOP_IN_PLACE, data, 100, HOOP_FLOAT32, HOOP_SUM,
                          rank->comm);
}

static const char *const phrases[] = {
    [DIFFERENT_NAME] = "called broadcast", [DIFFERENT_COUNT] = "101 elements",
    [DIFFERENT_DTYPE] = "int32",           [DIFFERENT_OP] = "max",
    [DIFFERENT_ROOT] = "root 1",
};

static int
mismatch_body(struct rank *rank)
{
    const enum difference difference = *(const enum difference *)rank->input;
    float data[101];

    for (size_t i = 0; i < 101; i++)
        data[i] = 3;
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    enum hoop_status status = call_differently(rank, difference, data);
    /* A rank that only sends may have returned. Its next call then fails. */
    if (status == HOOP_OK)
        status = hoop_barrier(rank->comm);
    RANK_CHECK(status == HOOP_E_MISMATCH);
    RANK_CHECK(error_says(phrases[difference]));
    RANK_CHECK(error_names(rank, rank->size - 1));
    if (rank->size == 2) {
        for (size_t i = 0; i < 101; i++)
            RANK_CHECK(data[i] == 3);
    }
    return 0;
}

static void
different_calls_are_named_on_all_ranks(void **state)
{
    for (int difference = 0; difference < DIFFERENCES; difference++) {
        for (uint32_t size = 2; size <= 4; size++)
            assert_int_equal(
                ranks_run(&(struct ranks_options){
                    .size = size, .body = mismatch_body, .input = &difference}),
                0);
    }
}

/* Rank 1 never calls, and the others learn that they wait for it. */
static int
late_body(struct rank *rank)
{
    float data[8] = {0};

    /* No other rank is late because it still sets itself up. */
    meet(rank);
    /* Some of these ranks wait for ranks that only wait themselves. */
    if (rank->rank != 1) {
        RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, data, 8, HOOP_FLOAT32,
                                  HOOP_SUM, rank->comm) == HOOP_E_TIMEOUT);
        RANK_CHECK(error_says("timed out after"));
        RANK_CHECK(error_names(rank, 1));
        RANK_CHECK(error_says("it has not called this"));
        room_add(rank, 0);
        return 0;
    }
    room_await(rank, 0, rank->size - 1);
    const enum hoop_status status = hoop_allreduce(
        HOOP_IN_PLACE, data, 8, HOOP_FLOAT32, HOOP_SUM, rank->comm);
    /* The call is too late and fails as well. With two ranks it may succeed, if
     * all that it needs has arrived. */
    RANK_CHECK(status != HOOP_OK || rank->size == 2);
    return 0;
}

static void
late_rank_ends_the_wait_at_the_deadline(void **state)
{
    /* This is long enough for the other ranks to call, also on a busy
     * machine. */
    for (uint32_t size = 2; size <= 5; size++)
        assert_int_equal(ranks_run(&(struct ranks_options){.size = size,
                                                           .body = late_body,
                                                           .timeout_ms = 1000}),
                         0);
}

static int
left_body(struct rank *rank)
{
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == 1)
        return 0;
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_E_PEER_LOST);
    RANK_CHECK(error_names(rank, 1) && error_says("has left the job"));
    return 0;
}

static void
rank_that_left_is_named(void **state)
{
    assert_int_equal(ranks_run_all(2, left_body), 0);
    assert_int_equal(ranks_run_all(3, left_body), 0);
}

/* Data sent before the leave arrive, even if the receiver is much later. */
static int
what_was_sent_before_leaving_arrives(struct rank *rank)
{
    float x = (float)rank->rank;

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == 0) {
        x = 42;
        RANK_CHECK(hoop_send(&x, 1, HOOP_FLOAT32, 1, 1, rank->comm) == HOOP_OK);
        RANK_CHECK(hoop_broadcast(&x, &x, 1, HOOP_FLOAT32, 0, rank->comm) ==
                   HOOP_OK);
        return 0;
    }
    /* Wait until rank 0 has really ended. */
    rank_await_end(rank, 0);
    RANK_CHECK(hoop_recv(&x, 1, HOOP_FLOAT32, 0, 1, rank->comm, NULL) ==
               HOOP_OK);
    RANK_CHECK(x == 42);
    x = 0;
    RANK_CHECK(hoop_broadcast(NULL, &x, 1, HOOP_FLOAT32, 0, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(x == 42);
    return 0;
}

/* Two ranks give up operations that the third has not called. It learns of each
 * one, and the messages about them end. */
static int
abandoned_body(struct rank *rank)
{
    enum {
        N_OPS = 24
    };
    hoop_op_t *ops[N_OPS];
    struct timespec used = {0};
    float x[N_OPS] = {0};

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    meet(rank);
    for (unsigned i = 0; rank->rank < 2 && i < N_OPS; i++)
        RANK_CHECK(hoop_allreduce_start(HOOP_IN_PLACE, &x[i], 1, HOOP_FLOAT32,
                                        HOOP_SUM, rank->comm,
                                        &ops[i]) == HOOP_OK);
    for (unsigned i = 0; rank->rank < 2 && i < N_OPS; i++)
        RANK_CHECK(hoop_wait(ops[i], -1) == HOOP_E_TIMEOUT);
    if (rank->rank < 2)
        room_add(rank, 0);
    room_await(rank, 0, 2);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    const uint64_t before_ns =
        (uint64_t)used.tv_sec * CLOCK_NS_PER_S + (uint64_t)used.tv_nsec;
    /* The test is that the process does nothing during this time. */
    usleep(300000);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    RANK_CHECK((uint64_t)used.tv_sec * CLOCK_NS_PER_S + (uint64_t)used.tv_nsec -
                   before_ns <
               50 * CLOCK_NS_PER_MS);
    const uint64_t start_ns = clock_now_ns();
    for (unsigned i = 0; rank->rank == 2 && i < N_OPS; i++)
        RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, &x[i], 1, HOOP_FLOAT32,
                                  HOOP_SUM, rank->comm) == HOOP_E_TIMEOUT);
    RANK_CHECK(clock_now_ns() - start_ns < SOON_NS);
    hoop_comm_set_timeout(rank->comm, 20000);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return 0;
}

static void
operations_that_fail_together_are_told_once(void **state)
{
    assert_int_equal(ranks_run(&(struct ranks_options){.size = 3,
                                                       .body = abandoned_body,
                                                       .timeout_ms = 1000,
                                                       .deadline_s = 60}),
                     0);
}

/* Rank 1 is late, is asked for its calls, and leaves while the data of rank 2
 * are still in transit. The pause must exceed the time after which the others
 * ask. */
static int
late_rank_may_leave_after_its_part(struct rank *rank)
{
    CLEANUP(free) uint8_t *object = calloc(LARGE, 4);
    struct hoop_objects objects = {0};

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == 1)
        usleep(250000);
    RANK_CHECK(hoop_gather_object(object, rank->rank == 2 ? 4ul * LARGE : 5,
                                  &objects, 0, rank->comm) == HOOP_OK);
    if (rank->rank == 0)
        RANK_CHECK(objects.objects[2].n_bytes == 4ul * LARGE);
    hoop_objects_free(&objects);
    return 0;
}

/* A receive must not match a send that was given up before the one that
 * follows. */
static int
send_that_was_given_up_is_not_received(struct rank *rank)
{
    enum {
        N = 1 << 20
    };
    float *data = calloc(N, sizeof(*data));

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == 0) {
        hoop_comm_set_timeout(rank->comm, 200);
        RANK_CHECK(hoop_send(data, N, HOOP_FLOAT32, 1, 7, rank->comm) ==
                   HOOP_E_TIMEOUT);
        hoop_comm_set_timeout(rank->comm, 20000);
        data[0] = 42;
        RANK_CHECK(hoop_send(data, 1, HOOP_FLOAT32, 1, 8, rank->comm) ==
                   HOOP_OK);
        RANK_CHECK(hoop_send(data, N, HOOP_FLOAT32, 1, 7, rank->comm) ==
                   HOOP_OK);
    } else {
        /* This message was sent after the failed send, so all of that has
         * arrived. */
        RANK_CHECK(hoop_recv(data, 1, HOOP_FLOAT32, 0, 8, rank->comm, NULL) ==
                   HOOP_OK);
        data[0] = 0;
        RANK_CHECK(hoop_recv(data, N, HOOP_FLOAT32, 0, 7, rank->comm, NULL) ==
                   HOOP_OK);
        RANK_CHECK(data[0] == 42);
    }
    free(data);
    return 0;
}

/* A rank's sends to itself behave in the same way. The last one does not fit
 * its receive. */
static int
send_to_itself_that_fails_leaves_nothing(struct rank *rank)
{
    enum {
        N = 1 << 20
    };
    const uint32_t self = rank->rank;
    float *data = calloc(N, sizeof(*data));
    float x = 0;
    hoop_op_t *op;

    hoop_comm_set_timeout(rank->comm, 200);
    RANK_CHECK(hoop_send(data, N, HOOP_FLOAT32, self, 7, rank->comm) ==
               HOOP_E_TIMEOUT);
    hoop_comm_set_timeout(rank->comm, 3000);
    data[0] = 42;
    RANK_CHECK(hoop_send(data, 1, HOOP_FLOAT32, self, 7, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(hoop_recv(&x, 1, HOOP_FLOAT32, self, 7, rank->comm, NULL) ==
               HOOP_OK);
    RANK_CHECK(x == 42);

    RANK_CHECK(hoop_recv_start(&x, 1, HOOP_FLOAT32, self, 8, rank->comm, NULL,
                               &op) == HOOP_OK);
    RANK_CHECK(hoop_send(data, N, HOOP_FLOAT32, self, 8, rank->comm) ==
               HOOP_E_MISMATCH);
    RANK_CHECK(hoop_wait(op, -1) == HOOP_E_MISMATCH);
    free(data);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(killed_rank_is_named_by_all_at_once, 2, 5),
        RANKS_TEST(rank_killed_between_operations_is_named, 4, 4),
        RANKS_TEST(receive_fails_when_its_sender_dies, 3, 3),
        cmocka_unit_test(different_calls_are_named_on_all_ranks),
        cmocka_unit_test(operations_that_fail_together_are_told_once),
        cmocka_unit_test(late_rank_ends_the_wait_at_the_deadline),
        RANKS_TEST(late_rank_may_leave_after_its_part, 3, 3),
        RANKS_TEST(send_that_was_given_up_is_not_received, 2, 2),
        RANKS_TEST(send_to_itself_that_fails_leaves_nothing, 1, 1),
        cmocka_unit_test(rank_that_left_is_named),
        RANKS_TEST(what_was_sent_before_leaving_arrives, 2, 2),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
