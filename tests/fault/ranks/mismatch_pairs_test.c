/*
 * tests/fault/ranks/mismatch_pairs_test.c - mismatches between two ranks
 *
 * They concern the lengths of an alltoallv, a message and its receive, a
 * message where the other rank calls a collective, and ranks that leave as soon
 * as their call has returned. Both sides get an error that names both, and
 * everything else goes on.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "fault/ranks/mismatch_calls.h"
#include "path.h"
#include "ranks.h"

enum {
    LARGE = 1 << 18, /* elements */
    BARRIERS = 2,
    /* This is the deadline of calls that nothing else ends. By then the other
     * rank must have said which call it is in, also on a busy machine. */
    DEADLINE_MS = 1500,
    /* Of the pairs of collectives, one in EVERY is tested; sanitizers are
     * slow. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    EVERY = 6,
#else
    EVERY = 2,
#endif
};

/* This is far below an operation's deadline of 20 s, but leaves sanitizers
 * enough time. */
static const uint64_t TOLD_AFTER_NS = 10000000000;

/* Rank 0 sends n_sent elements to rank 1, which expects n_expected. Rank 1
 * sends back as many as it gets. */
struct lengths {
    size_t n_sent;
    size_t n_expected;
    bool is_mutual; /* each rank expects what the other does not send */
};

static const struct lengths lengths[] = {
    {2, 3, false},
    {3, 2, false},
    {0, 2, false},
    {2, 0, false},
    {0, 2, true},
    {0, LARGE, false},
    {LARGE, 0, false},
    {LARGE, LARGE + 1, false},
    {LARGE + 1, LARGE, true},
};

static void
lengths_fill(const struct rank *rank,
             const struct lengths *at,
             size_t *send_counts,
             size_t *recv_counts)
{
    for (uint32_t i = 0; i < rank->size; i++)
        send_counts[i] = recv_counts[i] = 1;
    if (rank->rank == 0) {
        send_counts[1] = at->n_sent;
        recv_counts[1] = at->is_mutual ? at->n_expected : 1;
    }
    if (rank->rank == 1) {
        recv_counts[0] = at->n_expected;
        send_counts[0] = at->is_mutual ? at->n_sent : 1;
    }
}

static bool
says_both_lengths(const struct lengths *at)
{
    char expected[64];
    char sent[64];

    snprintf(expected, sizeof(expected), "expects %zu bytes of rank ",
             at->n_expected * sizeof(int32_t));
    snprintf(sent, sizeof(sent), "which sends %zu",
             at->n_sent * sizeof(int32_t));
    return error_says("in alltoallv #") && error_says(expected) &&
           error_says(sent);
}

static int
play_lengths(struct rank *rank, const struct lengths *at, int32_t *buffers)
{
    const uint64_t begin_ns = clock_now_ns();
    size_t send_counts[MATRIX_RANKS];
    size_t recv_counts[MATRIX_RANKS];
    unsigned n_told = 0;

    lengths_fill(rank, at, send_counts, recv_counts);
    enum hoop_status status =
        hoop_alltoallv(buffers, send_counts, buffers + 2 * LARGE, recv_counts,
                       HOOP_INT32, rank->comm);
    for (unsigned i = 0; i <= BARRIERS; i++) {
        RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        if (status == HOOP_E_MISMATCH) {
            n_told++;
            RANK_CHECK(error_names(rank, 0) && error_names(rank, 1));
            RANK_CHECK(says_both_lengths(at));
        }
        if (i < BARRIERS)
            status = hoop_barrier(rank->comm);
    }
    RANK_CHECK(n_told == 1);
    RANK_CHECK(clock_now_ns() - begin_ns < TOLD_AFTER_NS);
    return 0;
}

static int
lengths_body(struct rank *rank)
{
    int32_t *buffers = calloc(4 * LARGE, sizeof(*buffers));

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
        if (play_lengths(rank, &lengths[i], buffers) != 0) {
            fprintf(stderr, "lengths %zu\n", i);
            return 1;
        }
    }
    free(buffers);
    return 0;
}

static void
alltoallv_of_other_lengths_names_both(void **state)
{
    for (uint32_t size = 2; size <= MATRIX_RANKS; size++) {
        assert_int_equal(ranks_run_all(size, lengths_body), 0);
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = size,
                             .body = lengths_body,
                             .is_checked = true,
                         }),
                         0);
    }
}

/* Rank 0 sends a message that does not fit the receive of rank 1. */
struct misfit_message {
    size_t n_sent;
    size_t n_wanted;
    enum hoop_dtype dtype; /* of the receive; the message is of int32 */
    uint32_t source;
    bool is_late; /* the message arrives before the receive starts */
};

static const struct misfit_message misfits[] = {
    {2, 1, HOOP_INT32, 0, false},
    {2, 0, HOOP_INT32, 0, true},
    {2, 2, HOOP_FLOAT32, 0, false},
    {2, 2, HOOP_FLOAT32, 0, true},
    {2, 1, HOOP_INT32, HOOP_ANY_SOURCE, false},
    {LARGE, 1, HOOP_INT32, 0, false},
    {LARGE, 1, HOOP_INT32, 0, true},
    {LARGE, LARGE, HOOP_UINT32, HOOP_ANY_SOURCE, true},
};

static int
receive_misfit(struct rank *rank,
               const struct misfit_message *at,
               int32_t *buffer)
{
    const uint64_t begin_ns = clock_now_ns();

    /* This message follows the other one, which has arrived by then, too. */
    if (at->is_late)
        RANK_CHECK(hoop_recv(buffer, 1, HOOP_INT32, 0, 4, rank->comm, NULL) ==
                   HOOP_OK);
    buffer[0] = -5;
    RANK_CHECK(hoop_recv(buffer, at->n_wanted, at->dtype, at->source, 3,
                         rank->comm, NULL) == HOOP_E_MISMATCH);
    RANK_CHECK(buffer[0] == -5);
    RANK_CHECK(clock_now_ns() - begin_ns < TOLD_AFTER_NS);
    return 0;
}

/* The receive fails, and so does a send that has not returned. A send that has
 * returned reports no error, and no other call does. */
static int
play_misfit(struct rank *rank, const struct misfit_message *at, int32_t *buffer)
{
    enum hoop_status status = HOOP_OK;

    if (rank->rank == 0) {
        hoop_op_t *op = NULL;

        RANK_CHECK(hoop_send_start(buffer, at->n_sent, HOOP_INT32, 1, 3,
                                   rank->comm, &op) == HOOP_OK);
        if (at->is_late)
            RANK_CHECK(hoop_send(buffer, 1, HOOP_INT32, 1, 4, rank->comm) ==
                       HOOP_OK);
        status = hoop_wait(op, HOOP_FOREVER);
        RANK_CHECK(status == HOOP_E_MISMATCH ||
                   (status == HOOP_OK && at->n_sent < LARGE));
    }
    if (rank->rank == 1) {
        if (receive_misfit(rank, at, buffer) != 0)
            return 1;
        status = HOOP_E_MISMATCH;
    }
    if (status == HOOP_E_MISMATCH) {
        RANK_CHECK(error_says("called send") && error_says("called recv"));
        RANK_CHECK(error_names(rank, 0) && error_names(rank, 1));
    }
    for (unsigned i = 0; i < BARRIERS; i++)
        RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return 0;
}

static int
message_that_does_not_fit_is_told_to_who_waits(struct rank *rank)
{
    int32_t *buffer = calloc(LARGE, sizeof(*buffer));

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    for (size_t i = 0; i < sizeof(misfits) / sizeof(*misfits); i++) {
        if (play_misfit(rank, &misfits[i], buffer) != 0) {
            fprintf(stderr, "misfit %zu\n", i);
            return 1;
        }
    }
    free(buffer);
    return 0;
}

/* A send that has returned is complete. Later messages in either direction
 * arrive, and no later call fails because of it. */
static int
send_that_has_returned_fails_no_other_call(struct rank *rank)
{
    int32_t values[2] = {1, 2};

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == 1) {
        /* Wait until the send has returned. */
        room_await(rank, 0, 1);
        RANK_CHECK(hoop_recv(values, 1, HOOP_INT32, 0, 1, rank->comm, NULL) ==
                   HOOP_E_MISMATCH);
        /* This message follows the mismatch report. */
        RANK_CHECK(hoop_send(values, 1, HOOP_INT32, 0, 2, rank->comm) ==
                   HOOP_OK);
        RANK_CHECK(hoop_recv(values, 1, HOOP_INT32, 0, 3, rank->comm, NULL) ==
                   HOOP_OK);
        RANK_CHECK(values[0] == 9);
        return 0;
    }
    RANK_CHECK(hoop_send(values, 2, HOOP_INT32, 1, 1, rank->comm) == HOOP_OK);
    room_add(rank, 0);
    values[0] = 0;
    RANK_CHECK(hoop_recv(values, 1, HOOP_INT32, 1, 2, rank->comm, NULL) ==
               HOOP_OK);
    RANK_CHECK(values[0] == 1);
    values[0] = 9;
    RANK_CHECK(hoop_send(values, 1, HOOP_INT32, 1, 3, rank->comm) == HOOP_OK);
    return 0;
}

/* For all that the ranks know, the message and the collective may cross, so
 * only the deadline ends them. */
static int
message_and_collective_end_at_the_deadline(struct rank *rank)
{
    int32_t value = 1;

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    hoop_comm_set_timeout(rank->comm, DEADLINE_MS);
    if (rank->rank == 0) {
        RANK_CHECK(hoop_recv(&value, 1, HOOP_INT32, 1, 7, rank->comm, NULL) ==
                   HOOP_E_TIMEOUT);
        RANK_CHECK(error_says("tag 7; it is in allreduce #"));
        RANK_CHECK(error_says("(int32, 1 elements"));
        RANK_CHECK(error_names(rank, 1));
        /* Wait, because an early leave would give another error. */
        room_await(rank, 0, 1);
        return 0;
    }
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT32, HOOP_SUM,
                              rank->comm) == HOOP_E_TIMEOUT);
    RANK_CHECK(error_says("it has not called this") && error_names(rank, 0));
    room_add(rank, 0);
    return 0;
}

/* Who waits for a tag is told which other one has come. */
static int
message_of_another_tag_is_told(struct rank *rank)
{
    int32_t value = rank->rank == 1 ? 5 : 0;

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    hoop_comm_set_timeout(rank->comm, DEADLINE_MS);
    if (rank->rank == 0) {
        RANK_CHECK(hoop_recv(&value, 1, HOOP_INT32, 1, 7, rank->comm, NULL) ==
                   HOOP_E_TIMEOUT);
        RANK_CHECK(error_says("tag 7; it has sent tag 8, which is not "
                              "received"));
        RANK_CHECK(error_names(rank, 1));
        RANK_CHECK(hoop_recv(&value, 1, HOOP_INT32, 1, 8, rank->comm, NULL) ==
                   HOOP_OK);
        RANK_CHECK(value == 5);
        room_add(rank, 0);
        return 0;
    }
    RANK_CHECK(hoop_send(&value, 1, HOOP_INT32, 0, 8, rank->comm) == HOOP_OK);
    /* Wait, because an early leave would give another error. */
    room_await(rank, 0, 1);
    return 0;
}

/* Both ranks only send, and are far ahead when the first frame of the other
 * comes. */
static int
ranks_that_run_ahead_are_told(struct rank *rank)
{
    unsigned n_told = 0;

    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    for (int i = 0; i < 500; i++) {
        int32_t value = i;
        const enum hoop_status status = hoop_broadcast(
            &value, &value, 1, HOOP_INT32, rank->rank, rank->comm);

        RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        RANK_CHECK(value == i);
        n_told += status == HOOP_E_MISMATCH;
    }
    for (unsigned i = 0; i < BARRIERS; i++)
        n_told += hoop_barrier(rank->comm) == HOOP_E_MISMATCH;
    RANK_CHECK(n_told > 0);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return 0;
}

/* Two calls in which nobody waits: the block of a scatter is there when its
 * receiver, as the root of a broadcast, only has to publish. */
static int
block_that_came_before_a_one_way_call_is_told(struct rank *rank)
{
    int32_t values[2] = {1, 2};
    unsigned n_told = 0;
    struct path path;

    path_read(&path);
    /* Otherwise the scatter waits for the broadcast. */
    if (path.checking != ENGINE_CHECK_FRAMES)
        return 0;
    /* The second broadcast repeats the first one, so it is inline. */
    for (int i = 0; i < 2; i++)
        RANK_CHECK(hoop_broadcast(HOOP_IN_PLACE, values, 1, HOOP_INT32, 0,
                                  rank->comm) == HOOP_OK);
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    if (rank->rank == 1) {
        const enum hoop_status status =
            hoop_scatter(values, HOOP_IN_PLACE, 1, HOOP_INT32, 1, rank->comm);

        RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
        n_told += status == HOOP_E_MISMATCH;
        /* This message follows the block. */
        RANK_CHECK(hoop_send(values, 1, HOOP_INT32, 0, 2, rank->comm) ==
                   HOOP_OK);
    } else {
        RANK_CHECK(hoop_recv(values, 1, HOOP_INT32, 1, 2, rank->comm, NULL) ==
                   HOOP_OK);
        RANK_CHECK(hoop_broadcast(HOOP_IN_PLACE, values, 1, HOOP_INT32, 0,
                                  rank->comm) == HOOP_E_MISMATCH);
        RANK_CHECK(error_says("broadcast #") && error_says("scatter #"));
        RANK_CHECK(error_names(rank, 0) && error_names(rank, 1));
    }
    for (unsigned i = 0; i < BARRIERS; i++)
        n_told += hoop_barrier(rank->comm) == HOOP_E_MISMATCH;
    RANK_CHECK(n_told == (rank->rank == 1));
    return 0;
}

/* Each rank leaves as soon as its call has returned, and none takes it for
 * lost. */
static int
leaving_body(struct rank *rank)
{
    const struct matrix_call *const *calls = rank->input;
    const struct matrix_call *call = calls[rank->rank == rank->size - 1];
    const size_t counts[MATRIX_RANKS] = {1, 1, 1, 1};
    int32_t send[MATRIX_RANKS] = {0};
    int32_t recv[MATRIX_RANKS] = {0};
    const uint64_t begin_ns = clock_now_ns();

    /* The barrier connects neighbours, as a session does when it joins. */
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    const enum hoop_status status = call->run(&(struct matrix_args){
        .send = send,
        .recv = recv,
        .count = 1,
        .counts = counts,
        .dtype = HOOP_INT32,
        .op = HOOP_SUM,
        .comm = rank->comm,
    });
    RANK_CHECK(status == HOOP_OK || status == HOOP_E_MISMATCH);
    RANK_CHECK(clock_now_ns() - begin_ns < TOLD_AFTER_NS);
    return 0;
}

static void
ranks_that_leave_at_once_are_told_apart_from_lost_ones(void **state)
{
    for (size_t i = 0; i < n_matrix_calls; i++) {
        const size_t first = (i + 1) % 2 + 2 * (i % (EVERY / 2));

        for (size_t j = first; j < n_matrix_calls; j += EVERY) {
            const struct matrix_call *const calls[] = {&matrix_calls[i],
                                                       &matrix_calls[j]};
            const uint32_t size = 2 + (uint32_t)(i + j / 2) % 3;

            if (ranks_run(&(struct ranks_options){
                    .size = size, .body = leaving_body, .input = calls}) != 0)
                fail_msg("%s and %s on %u ranks", calls[0]->name,
                         calls[1]->name, size);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alltoallv_of_other_lengths_names_both),
        RANKS_TEST(message_that_does_not_fit_is_told_to_who_waits, 2, 3),
        RANKS_TEST(send_that_has_returned_fails_no_other_call, 2, 2),
        RANKS_TEST(message_and_collective_end_at_the_deadline, 2, 2),
        RANKS_TEST(message_of_another_tag_is_told, 2, 2),
        RANKS_TEST(ranks_that_run_ahead_are_told, 2, 2),
        RANKS_TEST(block_that_came_before_a_one_way_call_is_told, 2, 2),
        cmocka_unit_test(
            ranks_that_leave_at_once_are_told_apart_from_lost_ones),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
